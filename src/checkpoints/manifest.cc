#include "checkpoints/manifest.h"

#include <xxhash.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>

namespace tessera::inline v0::checkpoints {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kSumDigits = 16;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

std::string hex(std::uint64_t v) { return fmt::format("{:016x}", v); }
constexpr std::string_view kBegin = "{\"tessera checkpoint\": ";
std::string head_line(std::uint64_t sum) {
  return fmt::format("{}{}, \"xxh3\": \"{}\",\n", kBegin, kVersion, hex(sum));
}

Ordered number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

Ordered json_of(const Block& b) {
  std::string sums;
  for (const std::uint64_t c : b.checksums) sums += hex(c);
  return {{"file", b.file},
          {"tensor", b.tensor},
          {"start", b.start.to_vector()},
          {"shape", b.shape.to_vector()},
          {"offset", b.offset},
          {"xxh3", sums}};
}
Ordered json_of(const Entry& e) {
  Ordered out{{"path", e.path}, {"dtype", std::string(name_of(e.dtype))}};
  if (e.weak) out["weak"] = true;
  out["shape"] = e.shape.to_vector();
  if (!e.mesh.empty()) {
    Ordered& mesh = out["mesh"] = Ordered::array();
    for (const Mesh::Axis& a : e.mesh) mesh.push_back({a.name, a.size});
    Ordered& spec = out["spec"] = Ordered::array();
    for (const PartitionSpec::Dim& d : e.spec.dims()) spec.push_back(d.axes());
  }
  Ordered& blocks = out["blocks"] = Ordered::array();
  for (const Block& b : e.blocks) blocks.push_back(json_of(b));
  return out;
}

// Even with a correct checksum, a manifest can be of a later version or forged.
[[noreturn]] void wrong(const std::string& why) { throw std::runtime_error(why); }

std::uint64_t unhex(std::string_view digits) {
  constexpr std::string_view kAll = "0123456789abcdef";
  std::uint64_t v = 0;
  for (const char c : digits) v = v << 4 | (kAll.find(c) & 15);
  return v;
}
DType dtype_of(const std::string& name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  wrong("it has the unknown dtype '" + name + "'");
}
double number_of(const Json& v) {
  return v.is_string() ? std::strtod(v.get<std::string>().c_str(), nullptr) : v.get<double>();
}

Shape shape_of(const Json& list) {
  Shape out;
  for (const Json& v : list) {
    const auto n = v.get<std::int64_t>();
    if (n < 0) wrong("it has a negative extent");
    out.push_back(n);
  }
  return out;
}
// Bytes of an array; throws if the sizes that the file claims overflow.
std::uint64_t bytes_of(const Shape& shape, DType dtype) {
  auto n = static_cast<std::uint64_t>(size_of(dtype));
  for (const std::int64_t extent : shape) {
    const auto e = static_cast<std::uint64_t>(extent);
    if (e && n > kMaxBytes / e) wrong("it has an array of more bytes than can be");
    n *= e;
  }
  return n;
}

void read_block(const Json& json, const Entry& e, const std::vector<File>& files, Block& b) {
  b.file = json.at("file").get<std::size_t>();
  b.tensor = json.at("tensor").get<std::string>();
  b.start = shape_of(json.at("start"));
  b.shape = shape_of(json.at("shape"));
  b.offset = json.at("offset").get<std::uint64_t>();
  b.bytes = bytes_of(b.shape, e.stored());
  if (b.file >= files.size() || b.offset > files[b.file].bytes ||
      b.bytes > files[b.file].bytes - b.offset)
    wrong("a block of '" + e.path + "' lies in no file");
  const std::string sums = json.at("xxh3").get<std::string>();
  if (sums.size() != chunks_of(b.bytes) * kSumDigits)
    wrong("a block of '" + e.path + "' lacks checksums");
  for (std::size_t at = 0; at < sums.size(); at += kSumDigits)
    b.checksums.push_back(unhex(std::string_view(sums).substr(at, kSumDigits)));
}

// Checks that all blocks have one shape, lie on the grid that this shape defines, and cover each
// position once.
void need_whole(const Entry& e) {
  const std::string problem = "the blocks of '" + e.path + "' are not the array";
  const std::uint64_t whole = bytes_of(e.shape, e.stored());
  std::set<std::vector<std::int64_t>> starts;
  std::uint64_t bytes = 0;
  for (const Block& b : e.blocks) {
    if (b.shape != e.blocks[0].shape || b.start.rank() != e.shape.rank() ||
        b.shape.rank() != e.shape.rank())
      wrong(problem);
    for (int d = 0; d < e.shape.rank(); ++d)
      if (b.start[d] > e.shape[d] - b.shape[d] || (b.shape[d] && b.start[d] % b.shape[d]))
        wrong(problem);
    // In an array without elements, several blocks may start at the same position.
    if (!starts.insert(b.start.to_vector()).second && whole > 0) wrong(problem);
    bytes += b.bytes;
  }
  if (bytes != whole) wrong(problem);
}

void read_entry(const Json& json, const std::vector<File>& files, Entry& e) {
  e.path = json.at("path").get<std::string>();
  e.dtype = dtype_of(json.at("dtype").get<std::string>());
  e.weak = json.value("weak", false);
  e.shape = shape_of(json.at("shape"));
  for (const Json& axis : json.value("mesh", Json::array()))
    e.mesh.push_back({axis.at(0).get<std::string>(), axis.at(1).get<std::int64_t>()});
  std::vector<PartitionSpec::Dim> dims;
  for (const Json& dim : json.value("spec", Json::array()))
    dims.emplace_back(dim.get<std::vector<std::string>>());
  e.spec = PartitionSpec(std::move(dims));
  if (e.weak && (!e.shape.empty() || e.dtype == DType::boolean || is_complex(e.dtype)))
    wrong("'" + e.path + "' cannot be weak");
  for (const Json& block : json.at("blocks")) read_block(block, e, files, e.blocks.emplace_back());
  need_whole(e);
}

void read_file(const Json& json, File& f) {
  f.name = json.at("name").get<std::string>();
  f.bytes = json.at("bytes").get<std::uint64_t>();
  f.header_bytes = json.at("header_bytes").get<std::uint64_t>();
  f.header_checksum = unhex(json.at("header_xxh3").get<std::string>());
  if (f.name.empty() || f.name[0] == '.' || f.name.find('/') != std::string::npos ||
      f.name.find('\0') != std::string::npos)
    wrong("it names a file that is not beside it");
  if (f.header_bytes > f.bytes) wrong("the header of '" + f.name + "' is longer than the file");
  if (f.header_bytes > kMostHeader)
    wrong(fmt::format("the header of '{}' claims {} bytes, and a header has at most {}", f.name,
                      f.header_bytes, kMostHeader));
}

void read(const Json& json, Manifest& m) {
  m.step = json.at("step").get<std::int64_t>();
  m.time = json.at("time").get<std::int64_t>();
  m.processes = json.at("processes").get<int>();
  m.nonce = json.at("nonce").get<std::string>();
  if (json.at("chunk_bytes").get<std::uint64_t>() != kChunk)
    wrong("its checksums are of other chunks");
  for (const auto& [name, value] : json.at("metrics").items()) m.metrics[name] = number_of(value);
  for (const auto& [name, value] : json.at("metadata").items())
    m.metadata[name] = value.get<std::string>();
  for (const Json& file : json.at("files")) read_file(file, m.files.emplace_back());
  for (const Json& entry : json.at("arrays")) read_entry(entry, m.files, m.entries.emplace_back());
}

}  // namespace

DType Entry::stored() const {
  if (!weak) return dtype;
  return is_floating(dtype)         ? DType::float64
         : is_signed_integer(dtype) ? DType::int64
                                    : DType::uint64;
}

std::uint64_t Manifest::bytes() const {
  std::uint64_t n = 0;
  for (const Entry& e : entries)
    for (const Block& b : e.blocks) n += b.bytes;
  return n;
}

std::uint64_t checksum(const void* bytes, std::size_t n) { return XXH3_64bits(bytes, n); }
std::uint64_t chunks_of(std::uint64_t bytes) { return (bytes + kChunk - 1) / kChunk; }

std::string to_text(const Manifest& m) {
  Ordered metrics = Ordered::object();
  for (const auto& [name, value] : m.metrics) metrics[name] = number(value);
  const Ordered metadata(m.metadata);
  std::string text =
      fmt::format("\"step\": {}, \"time\": {}, \"processes\": {}, \"nonce\": \"{}\",\n", m.step,
                  m.time, m.processes, m.nonce);
  text += fmt::format("\"chunk_bytes\": {},\n\"metrics\": {},\n\"metadata\": {},\n", kChunk,
                      metrics.dump(), m.metadata.empty() ? "{}" : metadata.dump());
  // One line per file and per array, for human readers.
  const auto list = [&](const char* name, const auto& all, auto json_of_one) {
    text += fmt::format("\"{}\": [", name);
    bool first = true;
    for (const auto& one : all) {
      text += first ? "\n" : ",\n";
      text += json_of_one(one).dump();
      first = false;
    }
    text += "\n]";
  };
  list("files", m.files, [](const File& f) {
    return Ordered{{"name", f.name},
                   {"bytes", f.bytes},
                   {"header_bytes", f.header_bytes},
                   {"header_xxh3", hex(f.header_checksum)}};
  });
  text += ",\n";
  list("arrays", m.entries, [](const Entry& e) { return json_of(e); });
  text += "}\n";
  return head_line(checksum(text.data(), text.size())) + text;
}

bool begins_so(std::string_view text) { return text.starts_with(kBegin); }

std::string parse(std::string_view text, Manifest& out) {
  const std::size_t line = text.find('\n');
  const std::string_view rest =
      line == std::string_view::npos ? std::string_view() : text.substr(line + 1);
  if (rest.empty() || text.substr(0, line + 1) != head_line(checksum(rest.data(), rest.size())))
    return "it does not have the checksum in its first line";
  try {
    read(Json::parse(text), out);
  } catch (const Json::exception& e) {
    return std::string("it is no manifest of version 1: ") + e.what();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace tessera::inline v0::checkpoints
