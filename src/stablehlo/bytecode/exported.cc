#include "stablehlo/bytecode/exported.h"

#include "stablehlo/bytecode/read.h"

#include <charconv>
#include <cstring>
#include <optional>

namespace tessera::inline v0::stablehlo {

namespace {

// A FlatBuffer: tables whose fields are found through a list of offsets, and vectors and strings
// that follow their lengths. All numbers are little-endian, and every position is checked before it
// is read.
class Buffer {
 public:
  explicit Buffer(const Source& source) : source_(source) {}

  template <typename T>
  T number(std::size_t at) const {
    if (at > source_.text.size() || source_.text.size() - at < sizeof(T))
      fail(at, "a number beyond the end of the file");
    T value;
    std::memcpy(&value, source_.text.data() + at, sizeof(T));
    return value;
  }
  /// The target of the offset at `at`, which is relative to its own position.
  std::size_t follow(std::size_t at) const { return at + number<std::uint32_t>(at); }
  /// The position of the field of a table that has this slot in the list of offsets.
  std::optional<std::size_t> field(std::size_t table, std::size_t slot) const {
    const std::int64_t list = static_cast<std::int64_t>(table) - number<std::int32_t>(table);
    if (list < 0) fail(table, "a table whose fields are before the file");
    const std::size_t at = static_cast<std::size_t>(list);
    if (slot + 2 > number<std::uint16_t>(at)) return std::nullopt;
    const std::uint16_t offset = number<std::uint16_t>(at + slot);
    if (offset == 0) return std::nullopt;
    return table + offset;
  }
  struct Vector {
    std::size_t at = 0, size = 0;
  };
  /// A vector of elements of `width` bytes; empty if the field is missing.
  Vector vector(std::size_t table, std::size_t slot, std::size_t width) const {
    const auto at = field(table, slot);
    if (!at) return {};
    const std::size_t begin = follow(*at);
    const std::size_t n = number<std::uint32_t>(begin), room = source_.text.size() - begin - 4;
    if (n > room / width)
      fail(begin, std::to_string(n) + " elements of " + std::to_string(width) + " bytes, and " +
                      std::to_string(room) + " bytes are left");
    return {begin + 4, n};
  }
  std::string_view bytes(Vector v) const {
    return std::string_view(source_.text).substr(v.at, v.size);
  }
  [[noreturn]] void fail(std::size_t at, const std::string& problem) const {
    stablehlo::fail(source_, at, {problem});
  }

 private:
  const Source& source_;
};

// The slots of the fields that are read.
enum ExportedFile {
  kVersion = 4,
  kAvals = 10,
  kPlatforms = 22,
  kModule = 30,
  kKept = 34,
  kUniqueAvals = 42,
  kAvalIndices = 48
};
constexpr std::size_t kLongestName = 32;  // characters of a name that are examined
enum Aval { kShape = 6, kDtype = 8 };

constexpr std::string_view kDtypes[] = {"i1",  "i8",   "i16",          "i32",          "i64",
                                        "ui8", "ui16", "ui32",         "ui64",         "f16",
                                        "f32", "f64",  "complex<f32>", "complex<f64>", "bf16"};

TypeSyntax type_of(const Buffer& b, Memory& memory, std::size_t aval) {
  TypeData t;
  t.kind = TypeData::tensor;
  const auto dtype = b.field(aval, kDtype);
  const std::size_t code = dtype ? b.number<std::uint8_t>(*dtype) : 0;
  if (code >= std::size(kDtypes))
    b.fail(aval, "an argument of dtype code " + std::to_string(code) + ", which is not known");
  t.element = kDtypes[code];
  const Buffer::Vector shape = b.vector(aval, kShape, 4);
  if (shape.size > kDeepest)
    b.fail(aval, "a tensor has at most " + std::to_string(kDeepest) + " dimensions");
  for (std::size_t i = 0; i < shape.size; ++i) {
    const std::size_t at = b.follow(shape.at + 4 * i);
    const std::string_view text =
        b.bytes({at + 4, std::min<std::size_t>(b.number<std::uint32_t>(at), kLongestName)});
    std::int64_t d = kDynamic;  // a symbolic dimension
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), d);
    if (error != std::errc() || end != text.data() + text.size() || d < 0) d = kDynamic;
    t.dims.add(memory, d);
  }
  return {new (memory.take(sizeof t)) TypeData(t)};
}

// The position of the table of each argument's type; newer files store equal ones once.
std::vector<std::size_t> avals_of(const Buffer& b, std::size_t root) {
  std::vector<std::size_t> tables, all;
  const Buffer::Vector unique = b.vector(root, kUniqueAvals, 4),
                       indices = b.vector(root, kAvalIndices, 4);
  const Buffer::Vector listed = indices.size ? unique : b.vector(root, kAvals, 4);
  for (std::size_t i = 0; i < listed.size; ++i) tables.push_back(b.follow(listed.at + 4 * i));
  if (!indices.size) return tables;
  for (std::size_t i = 0; i < indices.size; ++i) {
    const std::uint32_t index = b.number<std::uint32_t>(indices.at + 4 * i);
    if (index >= tables.size())
      b.fail(indices.at + 4 * i, "type " + std::to_string(index) + " is named, and there are " +
                                     std::to_string(tables.size()));
    all.push_back(tables[index]);
  }
  return all;
}

FunctionSyntax* main_of(ModuleSyntax& m) {
  for (FunctionSyntax& f : m.functions)
    if (f.name == "main") return &f;
  return nullptr;
}

// Restores the arguments that were dropped from the module at their positions. Dimension sizes and
// the platform's number, if the module takes them as arguments, come first and stay there.
void restore_arguments(const Buffer& b, std::size_t root, ModuleSyntax& m) {
  const std::vector<std::size_t> avals = avals_of(b, root);
  const Buffer::Vector kept = b.vector(root, kKept, 2);
  FunctionSyntax* main = main_of(m);
  if (!main || kept.size == avals.size()) return;
  if (kept.size > main->arguments.size() || kept.size > avals.size())
    b.fail(kept.at, "more arguments are kept than there are");
  const std::size_t before = main->arguments.size() - kept.size;
  Memory& memory = m.source->memory;
  List<ArgumentSyntax> all = List<ArgumentSyntax>::copy(memory, main->arguments.data(), before);
  std::size_t next = 0;
  for (std::size_t i = 0; i < avals.size(); ++i) {
    if (next < kept.size && b.number<std::uint16_t>(kept.at + 2 * next) == i) {
      all.add(memory, main->arguments[before + next++]);
      continue;
    }
    ArgumentSyntax unused;
    unused.at = main->at;
    unused.name = memory.keep("unused" + std::to_string(i));  // other names are numbers
    unused.type = type_of(b, memory, avals[i]);
    all.add(memory, unused);
  }
  if (next != kept.size) b.fail(kept.at, "the numbers of kept arguments do not ascend");
  main->arguments = all;
}

// A function exported for several platforms takes the number of its platform as first argument.
void choose_platform(const Buffer& b, std::size_t root, ModuleSyntax& m) {
  const Buffer::Vector platforms = b.vector(root, kPlatforms, 4);
  FunctionSyntax* main = main_of(m);
  if (platforms.size < 2 || !main || main->arguments.empty()) return;
  const ArgumentSyntax number = main->arguments[0];
  const AttributeSyntax* what = find(number.attributes, "jax.global_constant");
  if (!what || what->text != "_platform_index") return;
  std::string listed;
  for (std::size_t i = 0; i < platforms.size; ++i) {
    const std::size_t at = b.follow(platforms.at + 4 * i);
    const std::string_view platform =
        b.bytes({at + 4, std::min<std::size_t>(b.number<std::uint32_t>(at), kLongestName)});
    listed += (i ? ", " : "") + shown(platform);
    if (platform != "cpu") continue;
    const auto index = static_cast<std::int32_t>(i);
    Memory& memory = m.source->memory;
    List<OperationSyntax> operations;
    OperationSyntax& constant = operations.add(memory);
    constant.name = "stablehlo.constant";
    constant.at = number.at;
    constant.defs.add(memory, {number.name, 1, number.at});
    constant.result_types.add(memory, number.type);
    AttributeSyntax value;
    value.kind = AttributeSyntax::bytes;
    value.at = number.at;
    value.value_type = number.type;
    value.data = memory.keep({reinterpret_cast<const char*>(&index), sizeof index});
    constant.attributes.add(memory, {"value", value});
    main->arguments.erase(0);
    for (const OperationSyntax& op : main->body.operations) operations.add(memory, op);
    main->body.operations = operations;
    return;
  }
  b.fail(platforms.at, "it is exported for " + listed + ", and not for 'cpu'");
}

constexpr std::size_t kLongestList = 1 << 12;  // bytes of a table's list of offsets

}  // namespace

bool is_exported(std::string_view bytes) {
  if (bytes.size() < 16) return false;
  std::uint32_t root = 0;
  std::memcpy(&root, bytes.data(), 4);
  if (root > bytes.size() - 4) return false;
  std::int32_t back = 0;
  std::memcpy(&back, bytes.data() + root, 4);
  const std::int64_t list = static_cast<std::int64_t>(root) - back;
  if (list < 4 || list > static_cast<std::int64_t>(bytes.size()) - 4) return false;
  std::uint16_t size = 0;
  std::memcpy(&size, bytes.data() + list, 2);
  return size % 2 == 0 && size > kModule && size < kLongestList;
}

ModuleSyntax read_exported(const Source& given) {
  Source file;
  file.name = given.name;
  file.text = given.text;
  file.is_binary = true;
  const Buffer b(file);
  const std::size_t root = b.follow(0);
  const Buffer::Vector inside = b.vector(root, kModule, 1);
  if (!is_bytecode(b.bytes(inside)))
    b.fail(inside.at, "a file of jax.export, if it is one, without a portable artifact");
  Source artifact;
  artifact.name = given.name;
  artifact.text = b.bytes(inside);
  ModuleSyntax m = read_bytecode(artifact);
  choose_platform(b, root, m);
  restore_arguments(b, root, m);
  return m;
}

}  // namespace tessera::inline v0::stablehlo
