#include <tessera/detail/replace_file.h>
#include <tessera/message.h>
#include <tessera/safetensors.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tessera::inline v0 {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint64_t kMaxHeader = 100u << 20;

// The line that the library was called from, while it was.
struct Caller {
  static thread_local SourceLoc line;
  explicit Caller(const SourceLoc& loc) { line = loc; }
  ~Caller() { line = {}; }
};
thread_local SourceLoc Caller::line;

[[noreturn]] void fail(const char* function, const std::string& path, const std::string& problem,
                       const std::string& advice) {
  Message(function)
      .problem(path + ": " + problem)
      .from(Caller::line)
      .advice(advice)
      .raise<IoError>();
}

const char* code_of(DType d) {
  switch (d) {
    case DType::boolean: return "BOOL";
    case DType::int8: return "I8";
    case DType::int16: return "I16";
    case DType::int32: return "I32";
    case DType::int64: return "I64";
    case DType::uint8: return "U8";
    case DType::uint16: return "U16";
    case DType::uint32: return "U32";
    case DType::uint64: return "U64";
    case DType::float16: return "F16";
    case DType::bfloat16: return "BF16";
    case DType::float32: return "F32";
    default: return "F64";
  }
}

bool dtype_of_code(const std::string& code, DType& out) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (code == code_of(static_cast<DType>(i))) {
      out = static_cast<DType>(i);
      return true;
    }
  return false;
}

}  // namespace

void save_safetensors(const std::string& path, const SafeTensors& contents,
                      std::source_location loc) {
  const Caller caller(loc);
  Json header = Json::object();
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  std::uint64_t offset = 0;
  std::vector<std::string_view> parts;
  std::vector<Array> hold;
  for (const auto& [name, x] : contents.tensors) {
    std::uint64_t bytes = static_cast<std::uint64_t>(x.nbytes());
    header[name] = {{"dtype", code_of(x.dtype())},
                    {"shape", x.shape().to_vector()},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
    hold.push_back(x);
    parts.push_back(dispatch(x.dtype(), [&](auto tag) {
      const auto values = x.host<decltype(tag)>(loc);
      return std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    }));
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    fail("save", path, "a tensor's name or a metadata entry is not UTF-8",
         "use plain text for keys and metadata");
  }
  while (text.size() % 8) text += ' ';  // tensors begin aligned

  char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  parts.insert(parts.begin(), {std::string_view(length, 8), text});
  const std::string why = detail::replace_file(path, parts);
  if (!why.empty())
    Message("save")
        .problem(path + ": it cannot be written: " + why)
        .rule(
            "a file is written beside its place and then put there; what was there before is kept")
        .from(loc)
        .advice(fs::is_directory(path) ? "name a file in it"
                                       : "check that its folder is writable, and the space that is "
                                         "left on the disk")
        .raise<IoError>();
}

SafeTensors load_safetensors(const std::string& path, std::source_location loc) {
  const Caller caller(loc);
  const std::string again = "save the model again, or check that this is a safetensors file";
  std::error_code ec;
  if (!fs::exists(path, ec)) fail("load", path, "there is no such file", "check the path");
  if (!fs::is_regular_file(path, ec))
    fail("load", path, "it is not a file", "name the file itself");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("load", path, "it cannot be opened", "check its permissions");
  std::string all((std::istreambuf_iterator<char>(in)), {});
  if (all.size() < 8)
    fail("load", path,
         "it has " + std::to_string(all.size()) + " bytes, fewer than the 8 of its length", again);
  std::uint64_t n = 0;
  for (int i = 8; i-- > 0;)
    n = n << 8 | static_cast<unsigned char>(all[static_cast<std::size_t>(i)]);
  if (n > kMaxHeader || n > all.size() - 8)
    fail("load", path,
         "it claims a header of " + std::to_string(n) + " bytes, but " +
             std::to_string(all.size() - 8) + " follow",
         again);
  Json header = Json::parse(all.begin() + 8, all.begin() + 8 + static_cast<std::ptrdiff_t>(n),
                            nullptr, false);
  if (!header.is_object()) fail("load", path, "its header is no JSON object", again);

  SafeTensors out;
  std::uint64_t body = all.size() - 8 - n;
  struct Range {
    std::uint64_t begin, end;
  };
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (entry.is_object())
        for (const auto& [k, v] : entry.items())
          if (v.is_string()) out.metadata[k] = v.get<std::string>();
      continue;
    }
    auto bad = [&](const std::string& why) {
      fail("load", path, "tensor '" + name + "' " + why, again);
    };
    DType dtype{};
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
        !entry.contains("shape") || !entry["shape"].is_array() || !entry.contains("data_offsets") ||
        !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
      bad("lacks dtype, shape or data_offsets");
    if (!dtype_of_code(entry["dtype"].get<std::string>(), dtype))
      bad("has the unknown dtype " + entry["dtype"].dump());
    Shape shape;
    std::uint64_t count = 1;
    for (const auto& d : entry["shape"]) {
      if (!d.is_number_unsigned() || d.get<std::uint64_t>() > (std::uint64_t{1} << 40))
        bad("has the shape " + entry["shape"].dump());
      std::uint64_t extent = d.get<std::uint64_t>();
      if (extent && count > (std::uint64_t{1} << 40) / extent)
        bad("has the shape " + entry["shape"].dump());
      count *= extent;
      shape.push_back(static_cast<std::int64_t>(extent));
    }
    if (!entry["data_offsets"][0].is_number_unsigned() ||
        !entry["data_offsets"][1].is_number_unsigned())
      bad("has the range " + entry["data_offsets"].dump());
    std::uint64_t begin = entry["data_offsets"][0].get<std::uint64_t>(),
                  end = entry["data_offsets"][1].get<std::uint64_t>();
    if (begin > end || end > body)
      bad("lies at " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
          std::to_string(body) + " bytes");
    if (end - begin != count * static_cast<std::uint64_t>(size_of(dtype)))
      bad("has " + std::to_string(end - begin) + " bytes, but its shape " + to_string(shape) +
          " needs " + std::to_string(count * static_cast<std::uint64_t>(size_of(dtype))));
    if (dtype == DType::boolean)
      for (std::uint64_t i = begin; i < end; ++i)
        if (static_cast<unsigned char>(all[8 + n + i]) > 1)
          bad("is BOOL, but holds a byte that is neither 0 nor 1");
    ranges.push_back({begin, end});
    out.tensors[name] = Array::from_bytes(dtype, shape, all.data() + 8 + n + begin);
  }
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
  std::uint64_t at = 0;
  for (Range r : ranges) {
    if (r.begin == r.end) continue;
    if (r.begin != at)
      fail("load", path, r.begin < at ? "two tensors overlap" : "there is a hole between tensors",
           again);
    at = r.end;
  }
  if (at != body)
    fail("load", path, std::to_string(body - at) + " bytes belong to no tensor", again);
  return out;
}

namespace detail {

namespace {
std::string dotted(std::string path) {
  std::replace(path.begin(), path.end(), '/', '.');
  return path.empty() ? "value" : path;
}
}  // namespace

SafeTensors named_tensors(const std::vector<std::string>& paths, const std::vector<Array>& leaves,
                          std::map<std::string, std::string> metadata, std::source_location loc) {
  SafeTensors out;
  out.metadata = std::move(metadata);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (leaves[i].is_empty()) continue;
    const std::string name = dotted(paths[i]);
    if (name == "__metadata__" || !out.tensors.emplace(name, leaves[i]).second)
      Message("save")
          .problem(name == "__metadata__" ? "a leaf has the name '__metadata__'"
                                          : "two leaves have the name '" + name + "'")
          .rule(
              "a file has one tensor a name, and a leaf's name is its path with dots; "
              "'__metadata__' is the file's own")
          .at(paths[i])
          .from(loc)
          .advice("rename a key, and leave dots and slashes out of keys")
          .raise<TreeError>();
  }
  return out;
}

std::vector<Array> match_tensors(const std::string& file, const SafeTensors& found,
                                 const std::vector<std::string>& paths,
                                 const std::vector<Array>& like, std::source_location loc) {
  std::vector<Array> leaves;
  Message m("load");
  bool fits = true;
  const auto bad = [&](std::string offender) {
    m.offender(std::move(offender));
    fits = false;
  };
  std::map<std::string, bool> used;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    leaves.emplace_back();
    if (like[i].is_empty()) continue;
    std::string name = dotted(paths[i]);
    auto it = found.tensors.find(name);
    if (it == found.tensors.end()) {
      bad(name + " is missing");
      continue;
    }
    used[name] = true;
    const Array& x = it->second;
    if (x.shape() != like[i].shape() || x.dtype() != like[i].dtype())
      bad(name + " is " + describe(x) + ", the model has " + describe(like[i]));
    leaves.back() = x;
  }
  for (const auto& [name, x] : found.tensors)
    if (!used.count(name)) bad(name + " is not in the model");
  if (!fits)
    m.problem(file + " does not fit the model")
        .rule("one tensor a leaf, of its shape and dtype")
        .from(loc)
        .advice("build the model with the settings it was saved with")
        .raise<TreeError>();
  return leaves;
}

}  // namespace detail

}  // namespace tessera::inline v0
