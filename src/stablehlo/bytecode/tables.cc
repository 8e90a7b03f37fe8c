#include "stablehlo/bytecode/tables.h"

#include <charconv>
#include <optional>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr std::uint64_t kNewest = 6;
enum Id {
  kStrings,
  kDialects,
  kEntries,
  kOffsets,
  kProgram,
  kResources,
  kResourceOffsets,
  kDialectVersions,
  kPropertySection,
  kIds
};
constexpr std::uint8_t kAligned = 0x80;
constexpr std::size_t kLongestString = 256;

// The release in a producer such as "StableHLO_v1.19.0"; nothing for other producers.
std::optional<ReleaseNumber> release_of(std::string_view producer) {
  constexpr std::string_view kName = "StableHLO_v";
  if (!producer.starts_with(kName)) return std::nullopt;
  const char *at = producer.data() + kName.size(), *end = producer.data() + producer.size();
  ReleaseNumber r;
  const auto major = std::from_chars(at, end, r.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, r.minor);
  if (minor.ec != std::errc()) return std::nullopt;
  return r;
}

// Operations of a newer release may have a meaning that this reader does not know.
void check_release(const Tables& t, const Bytes& in) {
  const std::optional<ReleaseNumber> r = release_of(t.producer);
  if (!r || *r <= kNewestRelease) return;
  const std::string newest = to_string(kNewestRelease);
  in.fail(
      "an artifact of StableHLO " + to_string(*r) + ", and the newest that is known is " + newest,
      "artifacts of StableHLO 0.9 to " + newest + " are read",
      "Write it for that version: "
      "jaxlib.mlir.dialects.stablehlo.serialize_portable_artifact(module, '" +
          newest + ".0').");
}

// The lengths are stored from the last string to the first, the strings from the first to the last.
void read_strings(Bytes in, Tables& t) {
  const std::size_t n = in.count("strings");
  std::vector<std::size_t> lengths(n);
  for (std::size_t i = n; i-- > 0;) {
    lengths[i] = in.count("characters");
    if (lengths[i] == 0) in.fail("a string without the zero byte that ends it");
  }
  t.strings.reserve(n);
  for (const std::size_t length : lengths) {
    std::string_view s = in.take(length, "a string");
    s.remove_suffix(1);
    t.strings.push_back(s);
  }
}

void read_dialects(Bytes in, Tables& t) {
  const std::size_t n = in.count("dialects");
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t name = in.number();
    const bool has_version = t.version >= 1 && (name & 1);
    const std::uint64_t index = t.version >= 1 ? name >> 1 : name;
    if (index >= t.strings.size())
      in.fail("a dialect is named by string " + std::to_string(index) + " of " +
              std::to_string(t.strings.size()));
    if (t.strings[index].size() > kLongestString)
      in.fail("a dialect's name of " + std::to_string(t.strings[index].size()) + " characters",
              "it has at most " + std::to_string(kLongestString));
    t.dialects.push_back(t.strings[index]);
    if (has_version) section(in);
  }
  if (t.version >= 4) in.number();  // total number of names
  while (in.left()) {
    const std::string_view dialect = t.dialects[in.index(n, "dialect")];
    const std::size_t names = in.count("names of operations");
    for (std::size_t i = 0; i < names; ++i) {
      const std::uint64_t name = in.number();
      const std::uint64_t index = t.version >= 5 ? name >> 1 : name;
      if (index >= t.strings.size())
        in.fail("an operation is named by string " + std::to_string(index) + " of " +
                std::to_string(t.strings.size()));
      // Each operation copies its name.
      if (t.strings[index].size() > kLongestString)
        in.fail("an operation's name of " + std::to_string(t.strings[index].size()) + " characters",
                "it has at most " + std::to_string(kLongestString));
      t.operations.push_back({dialect, t.strings[index]});
    }
  }
}

void read_offsets(Bytes in, const Bytes& entries, Tables& t) {
  const std::size_t attributes = in.count("attributes"), types = in.count("types");
  std::size_t at = entries.at();
  const std::size_t end = entries.at() + entries.left();
  auto group = [&](std::vector<Tables::Entry>& into, std::size_t wanted) {
    while (into.size() < wanted) {
      const std::string_view dialect = t.dialects[in.index(t.dialects.size(), "dialect")];
      const std::size_t n = in.count("entries");
      if (n > wanted - into.size())
        in.fail(std::to_string(n) + " entries, and " + std::to_string(wanted - into.size()) +
                " are wanted");
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t size = in.number();
        if (size >> 1 > end - at)
          in.fail("an entry of " + std::to_string(size >> 1) + " bytes, of which " +
                  std::to_string(end - at) + " are there");
        into.push_back({dialect, at, at + (size >> 1), (size & 1) != 0});
        at += size >> 1;
      }
    }
  };
  group(t.attributes, attributes);
  group(t.types, types);
}

void read_properties(Bytes in, Tables& t) {
  const std::size_t n = in.count("properties");
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t size = in.count("bytes of properties"), begin = in.at();
    in.take(size, "properties");
    t.properties.push_back({begin, begin + size});
  }
}

}  // namespace

Section section(Bytes& in) {
  const std::uint8_t id = in.byte();
  const std::size_t length = in.count("bytes of a section");
  if (id & kAligned) in.align(in.count("bytes of alignment"));
  return {id & ~kAligned, in.part(length, "a section")};
}

std::string to_string(ReleaseNumber r) {
  return std::to_string(r.major) + "." + std::to_string(r.minor);
}

Tables read_tables(const Source& source) {
  Bytes in(source, 0, source.text.size());
  if (in.take(std::min(kBytecodeMagic.size(), source.text.size()), "a file") != kBytecodeMagic)
    stablehlo::fail(source, 0, {"no MLIR bytecode", "a file of bytecode begins with 4D 4C EF 52"});
  Tables t;
  t.version = in.number();
  if (t.version > kNewest)
    in.fail("bytecode of version " + std::to_string(t.version),
            "versions 0 to " + std::to_string(kNewest) + " are read",
            "Write it for an older version: jax.export does so for every file.");
  t.producer = in.text();
  check_release(t, in);
  std::optional<Bytes> sections[kIds];
  while (in.left()) {
    const std::size_t at = in.at();
    const Section s = section(in);
    if (s.id >= kIds)
      stablehlo::fail(source, at, {"section " + std::to_string(s.id) + ", which no version has"});
    if (sections[s.id])
      stablehlo::fail(source, at, {"section " + std::to_string(s.id) + " for the second time"});
    sections[s.id] = s.bytes;
  }
  for (const int id : {kStrings, kDialects, kEntries, kOffsets, kProgram})
    if (!sections[id]) in.fail("section " + std::to_string(id) + " is missing");
  read_strings(*sections[kStrings], t);
  read_dialects(*sections[kDialects], t);
  read_offsets(*sections[kOffsets], *sections[kEntries], t);
  if (sections[kPropertySection]) read_properties(*sections[kPropertySection], t);
  t.program = {sections[kProgram]->at(), sections[kProgram]->at() + sections[kProgram]->left()};
  return t;
}

}  // namespace tessera::inline v0::stablehlo
