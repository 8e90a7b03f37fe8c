#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>
#include <tessera/message.h>
#include <tessera/safetensors.h>

#include "checkpoints/npy_format.h"
#include "checkpoints/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <complex>
#include <cstring>
#include <new>

namespace tessera::inline v0 {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLength = 8;  // bytes that hold the header's length

// Reports problems with one file as IoErrors.
class FileProblem {
 public:
  FileProblem(const char* function, const std::string& path, const SourceLoc& line)
      : function_(function), path_(path), line_(line) {}
  [[noreturn]] void fail(const std::string& problem, const std::string& advice,
                         const std::string& rule = {}) const {
    Message(function_)
        .problem(detail::shown_path(path_) + ": " + problem)
        .rule(rule)
        .from(line_)
        .advice(advice)
        .raise<IoError>();
  }

 private:
  const char* function_;
  const std::string& path_;
  SourceLoc line_;
};

// Elements are stored as in memory, except that a bool must be 0 or 1.
bool is_sound(DType dtype, const char* bytes, std::size_t n) {
  return dtype != DType::boolean ||
         std::all_of(bytes, bytes + n, [](char c) { return c == 0 || c == 1; });
}

}  // namespace

void save_safetensors(const std::string& path, const SafeTensors& contents,
                      std::source_location loc) {
  const FileProblem complaint("save", path, loc);
  Json header = Json::object();
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  std::uint64_t offset = 0;
  std::vector<std::string_view> parts;
  std::vector<Array> hold;
  for (const auto& [name, x] : contents.tensors) {
    if (name == "__metadata__")
      complaint.fail("a tensor has the name '__metadata__'", "give the tensor another name",
                     "'__metadata__' is the file's own: its metadata stands there");
    if (x.is_empty())
      complaint.fail("tensor '" + name + "' is an empty Array",
                     "leave it out, or give it a value first",
                     "a file holds tensors of a dtype and a shape");
    if (!*safetensors::code_of(x.dtype()))
      complaint.fail("tensor '" + name + "' is " + std::string(name_of(x.dtype())),
                     "convert it to complex64 with astype, or save real(x) and imag(x)",
                     "of complex numbers the format has complex64 only");
    std::uint64_t bytes = static_cast<std::uint64_t>(x.nbytes());
    header[name] = {{"dtype", safetensors::code_of(x.dtype())},
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
    complaint.fail("a tensor's name or a metadata entry is not UTF-8",
                   "use plain text for keys and metadata");
  }
  while (text.size() % 8) text += ' ';  // aligns the tensors
  // Do not write a file that load would reject.
  std::string why;
  safetensors::Header again;
  if (text.size() > safetensors::kMaxHeader)
    why = "its header would have " + std::to_string(text.size()) + " bytes";
  else
    why = safetensors::parse_header(text, offset, again);
  if (!why.empty())
    complaint.fail(why, "save it in parts",
                   "a header has at most " + std::to_string(safetensors::kMaxHeader) +
                       " bytes, a tensor at most 64 axes and 2^40 elements");

  char length[kLength];
  for (std::size_t i = 0; i < kLength; ++i)
    length[i] = static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  parts.insert(parts.begin(), {std::string_view(length, kLength), text});
  why = detail::replace_file(path, parts);
  if (!why.empty())
    complaint.fail(
        "it cannot be written: " + why,
        why == "It is a folder"
            ? "name a file in it"
            : "check that its folder is writable, and the space that is left on the disk",
        "a file is written beside its place and then put there; what was there before is kept");
}

namespace {

SafeTensors read_tensors(const npy_format::ByteSource& in, const FileProblem& complaint) {
  const std::string again = "save the model again, or check that this is a safetensors file";
  auto read = [&](char* to, std::uint64_t bytes) {
    if (!in.read(to, static_cast<std::size_t>(bytes)))
      complaint.fail("it cannot be read to its end",
                     "check whether something writes it, and its disk");
  };
  unsigned char length[kLength];
  if (in.size < kLength)
    complaint.fail("it has " + std::to_string(in.size) + " bytes, fewer than the 8 of its length",
                   again);
  read(reinterpret_cast<char*>(length), kLength);
  std::uint64_t n = 0;
  for (std::size_t i = kLength; i-- > 0;) n = n << 8 | length[i];
  const std::uint64_t follow = in.size - kLength;
  if (n > follow)
    complaint.fail("it claims a header of " + std::to_string(n) + " bytes, but " +
                       std::to_string(follow) + " follow",
                   again);
  if (n > safetensors::kMaxHeader)
    complaint.fail("it claims a header of " + std::to_string(n) + " bytes, but at most " +
                       std::to_string(safetensors::kMaxHeader) + " make sense",
                   again);
  const std::uint64_t body = follow - n;
  if (body > detail::machine_memory())
    complaint.fail("its tensors take " + std::to_string(body) + " bytes, but this machine has " +
                       std::to_string(detail::machine_memory()) + " of memory",
                   "load it on a larger machine, or split the file");
  // Check all entries before reading any tensor.
  safetensors::Header header;
  try {
    std::string text(static_cast<std::size_t>(n), ' ');
    read(text.data(), n);
    const std::string why = safetensors::parse_header(text, body, header);
    if (!why.empty()) complaint.fail(why, again);
  } catch (const std::bad_alloc&) {
    complaint.fail("there is no memory for its header of " + std::to_string(n) + " bytes",
                   "let go of arrays, or load it on a larger machine");
  }

  SafeTensors out;
  out.metadata = std::move(header.metadata);
  std::unique_ptr<char[]> bytes;
  std::size_t room = 0;
  for (const safetensors::Entry& e : header.tensors) {
    const auto size = static_cast<std::size_t>(e.end - e.begin);
    if (size > room || !bytes) {
      bytes.reset();
      bytes.reset(new (std::nothrow) char[size + 1]);
      room = size;
      if (!bytes)
        complaint.fail("there is no memory for the " + std::to_string(size) + " bytes of tensor '" +
                           e.name + "'",
                       "let go of arrays, or load it on a larger machine");
    }
    read(bytes.get(), size);
    if (!is_sound(e.dtype, bytes.get(), size))
      complaint.fail("tensor '" + e.name + "' is BOOL, but holds a byte that is neither 0 nor 1",
                     again);
    out.tensors[e.name] = Array::from_bytes(e.dtype, e.shape, bytes.get());
  }
  return out;
}

}  // namespace

SafeTensors load_safetensors(const std::string& path, std::source_location loc) {
  const FileProblem complaint("load", path, loc);
  detail::InputFile in(path);
  if (!in.problem().empty()) complaint.fail(in.problem(), in.advice());
  return read_tensors({in.size(), [&](void* to, std::size_t n) { return in.read(to, n); }},
                      complaint);
}
SafeTensors load_safetensors(std::span<const std::byte> bytes, std::source_location loc) {
  const FileProblem complaint("load", npy_format::kMemory, loc);
  return read_tensors(npy_format::source_of(bytes), complaint);
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
    m.problem(shown_path(file) + " does not fit the model")
        .rule("one tensor a leaf, of its shape and dtype")
        .from(loc)
        .advice("build the model with the settings it was saved with")
        .raise<TreeError>();
  return leaves;
}

}  // namespace detail

}  // namespace tessera::inline v0
