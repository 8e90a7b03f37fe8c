#include "stablehlo/bytecode/read.h"

#include "stablehlo/bytecode/attribute_reader.h"
#include "stablehlo/bytecode/stored_locations.h"
#include "stablehlo/bytecode/vhlo.h"

#include <cstring>

namespace tessera::inline v0::stablehlo {

namespace {

using A = AttributeSyntax;

// The bits that tell which parts an operation has.
enum Has {
  kAttributes = 1,
  kResults = 2,
  kOperands = 4,
  kSuccessors = 8,
  kRegions = 16,
  kUseOrders = 32,
  kProperties = 64
};

// Converts lists of dimensions, which VHLO stores as int64 tensors, to integers; constants stay as
// they are.
void to_integers(Memory& memory, A& a) {
  const TypeData& type = *a.value_type.data;
  if (a.kind != A::bytes || type.dims.size() != 1) return;
  const std::size_t n = static_cast<std::size_t>(std::max<std::int64_t>(type.dims[0], 0));
  const std::size_t width = type.element == "i64" ? 8 : type.element == "i1" ? 1 : 0;
  const std::size_t held = width ? a.data.size() / width : 0;
  if (width == 0 || a.data.size() != held * width || (held != n && held != 1)) return;
  std::vector<std::int64_t> values;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(a.data[i]); };
  // Up to eight booleans are the bits of one byte, unless they are equal.
  if (width == 1 && held == 1 && n > 1 && n <= 8 && byte(0) != 0 && byte(0) != 255) {
    for (std::size_t i = 0; i < n; ++i) values.push_back(byte(0) >> i & 1);
  } else {
    for (std::size_t i = 0; i < held; ++i) {
      std::int64_t v = 0;
      if (width == 8)
        std::memcpy(&v, a.data.data() + 8 * i, 8);
      else
        v = byte(i) != 0;
      values.push_back(v);
    }
  }
  // Equal elements are stored once. A list of more than 64 is no list of dimensions.
  if (values.size() == 1 && n <= 64) values.assign(n, values[0]);
  if (values.size() != n) return;
  a.kind = A::integers;
  a.values = List<std::int64_t>::copy(memory, values);
}

class Reader {
 public:
  Reader(const SourcePtr& source, std::shared_ptr<const Tables> tables)
      : source_(source),
        kept_tables_(std::move(tables)),
        tables_(*kept_tables_),
        values_(source, tables_) {}

  ModuleSyntax module();

 private:
  // Values are numbered through a region and its nested regions; an isolated region starts anew.
  struct Numbering {
    std::size_t next = 0, end = 0;
  };

  void operation(Bytes& in, Numbering& values, OperationSyntax& op);
  void operands(Bytes& in, OperationSyntax& op);
  void properties(Bytes& in, OperationSyntax& op, std::string_view dialect, std::string_view name);
  void regions(Bytes& in, OperationSyntax& op, const Numbering& values);
  RegionSyntax region(Bytes& in, Numbering values);
  std::string_view label(Bytes& in);
  void arguments(Bytes& in, RegionSyntax& r, Numbering& values);
  void orders(Bytes& in, std::size_t n);
  std::string_view define(const Bytes& in, Numbering& values);
  std::string_view name_of(std::size_t value);
  FunctionSyntax function(const OperationSyntax& op);
  void mesh(const OperationSyntax& op, ModuleSyntax& into);

  Memory& memory() { return source_->memory; }

  SourcePtr source_;
  std::shared_ptr<const Tables> kept_tables_;
  const Tables& tables_;
  AttributeReader values_;
  std::vector<std::string_view> names_;
  std::size_t highest_ = 0;  // upper bound of the numbers of values
  int depth_ = 0;
};

std::string_view Reader::name_of(std::size_t value) {
  while (names_.size() <= value) names_.push_back(memory().keep(std::to_string(names_.size())));
  return names_[value];
}

std::string_view Reader::define(const Bytes& in, Numbering& values) {
  if (values.next == values.end) in.fail("a region with more values than it announces");
  return name_of(values.next++);
}

// Skips the order of a value's uses, which does not affect the computation.
void Reader::orders(Bytes& in, std::size_t n) {
  std::size_t count = 1;
  if (n > 1) count = in.count("orders");
  for (std::size_t i = 0; i < count; ++i) {
    if (n > 1) in.number();
    for (std::uint64_t k = in.number() >> 1; k-- > 0;) in.number();
  }
}

void Reader::properties(Bytes& in, OperationSyntax& op, std::string_view dialect,
                        std::string_view name) {
  const Tables::Range range = tables_.properties[in.index(tables_.properties.size(), "property")];
  const bool is_module = dialect == "builtin" && name == "module";
  if (dialect != "vhlo" && dialect != "sdy" && !is_module) return;
  Bytes blob(*source_, range.begin, range.end);
  for (std::string_view key : keys_of(dialect, name)) {
    if (key.ends_with('?')) {  // optional
      key.remove_suffix(1);
      if (std::optional<A> value = values_.optional_attribute(blob))
        op.attributes.add(memory(), {key, *value});
      continue;
    }
    if (!blob.left()) blob.fail(shown(name) + " has no " + std::string(key));
    A value = values_.attribute(blob);
    if (key != "value") to_integers(memory(), value);
    op.attributes.add(memory(), {key, value});
  }
  // Shardy's operations are not versioned, and may have optional attributes that are added later.
  if (blob.left() && dialect == "vhlo")
    blob.fail(shown(name) + " has more attributes than are known of it",
              "of StableHLO up to " + to_string(kNewestRelease),
              "Export for an older version of StableHLO.");
}

// The name in a location, if it is a named location.
std::string_view Reader::label(Bytes& in) {
  const AttributeSyntax a = values_.attribute(in);
  return a.kind == AttributeSyntax::string ? a.text : std::string_view();
}

void Reader::arguments(Bytes& in, RegionSyntax& r, Numbering& values) {
  for (std::size_t n = in.count("arguments"); n-- > 0;) {
    ArgumentSyntax a;
    a.at = in.at();
    if (tables_.version >= 4) {
      const std::uint64_t type = in.number();
      if (type >> 1 >= tables_.types.size())
        in.fail("type " + std::to_string(type >> 1) + " is named, and there are " +
                std::to_string(tables_.types.size()));
      a.type = values_.type(in, static_cast<std::size_t>(type >> 1));
      if (type & 1) a.label = label(in);
    } else {
      a.type = values_.type(in);
      a.label = label(in);
    }
    a.name = define(in, values);
    r.arguments.add(memory(), a);
  }
  if (tables_.version >= 3 && in.byte() != 0) orders(in, r.arguments.size());
}

RegionSyntax Reader::region(Bytes& in, Numbering values) {
  if (++depth_ > kDeepest)
    in.fail("regions nest deeper than " + std::to_string(kDeepest) + " levels");
  RegionSyntax r;
  r.at = in.at();
  const std::size_t blocks = in.count("blocks");
  if (blocks > 1)
    in.fail("a region with " + std::to_string(blocks) + " blocks",
            "a region has one block: control flow is structured");
  if (blocks == 1) {
    values.end = values.next + in.count("values");
    highest_ = std::max(highest_, values.end);
    const std::uint64_t head = in.number();
    if (head & 1) arguments(in, r, values);
    for (std::uint64_t n = head >> 1; n-- > 0;) operation(in, values, r.operations.add(memory()));
  }
  --depth_;
  return r;
}

void Reader::regions(Bytes& in, OperationSyntax& op, const Numbering& values) {
  const std::uint64_t head = in.number();
  const bool isolated = head & 1;
  // In newer files, the isolated regions of an operation together form a section.
  std::optional<Section> own;
  if (isolated && tables_.version >= 2) own = section(in);
  Bytes& from = own ? own->bytes : in;
  const std::size_t at = from.at();
  if (head >> 1 > from.left())
    from.fail(std::to_string(head >> 1) + " regions are announced, and " +
              std::to_string(from.left()) + " bytes are left");
  for (std::uint64_t n = head >> 1; n-- > 0;) {
    Numbering inner = isolated ? Numbering{} : Numbering{values.end, values.end};
    RegionSyntax r = region(from, inner);
    r.at = at;
    op.regions.add(memory(), r);
  }
}

void Reader::operands(Bytes& in, OperationSyntax& op) {
  for (std::size_t n = in.count("operands"); n-- > 0;) {
    UseSyntax use;
    use.at = op.at;
    use.name = name_of(in.index(highest_, "value"));
    op.operands.add(memory(), use);
  }
}

void Reader::operation(Bytes& in, Numbering& values, OperationSyntax& op) {
  op.at = in.at();
  const Tables::OperationName& name =
      tables_.operations[in.index(tables_.operations.size(), "operation")];
  op.name = memory().keep(name.dialect == "vhlo"
                              ? unversioned(name.name)
                              : std::string(name.dialect) + "." + std::string(name.name));
  const std::uint8_t has = in.byte();
  op.location = static_cast<std::size_t>(in.number()) + 1;
  if (has & kAttributes) {
    const Attributes entries = values_.attribute(in).entries;
    op.attributes = Attributes::copy(memory(), entries);
  }
  if (has & kProperties) properties(in, op, name.dialect, name.name);
  if (has & kResults)
    for (std::size_t n = in.count("results"); n-- > 0;) {
      op.result_types.add(memory(), values_.type(in));
      op.defs.add(memory(), {define(in, values), 1, op.at});
    }
  if (has & kOperands) operands(in, op);
  if (has & kSuccessors) in.fail("an operation with successors", "control flow is structured");
  if (has & kUseOrders) orders(in, op.defs.size());
  if (has & kRegions) regions(in, op, values);
  fold_attributes(memory(), op);
}

FunctionSyntax Reader::function(const OperationSyntax& op) {
  FunctionSyntax f;
  f.at = op.at;
  if (const A* name = op.find("sym_name")) f.name = name->text;
  if (const A* visibility = op.find("sym_visibility")) f.is_private = visibility->text == "private";
  const A* type = op.find("function_type");
  if (f.name.empty() || !type || type->value_type->kind != TypeData::function ||
      op.regions.size() != 1)
    stablehlo::fail(*source_, op.at, {"a function without a name, a type or a body"});
  f.body = op.regions[0];
  f.arguments = f.body.arguments;
  f.body.arguments = {};
  f.declared_only = f.body.operations.empty();
  for (const TypeSyntax& t : type->value_type->results) {
    ArgumentSyntax r;
    r.type = t;
    r.at = op.at;
    f.results.add(memory(), r);
  }
  auto annotate = [&](std::string_view key, List<ArgumentSyntax>& what) {
    const A* all = op.find(key);
    for (std::size_t i = 0; all && i < std::min(all->items.size(), what.size()); ++i)
      what.edit(i).attributes = all->items[i].entries;
  };
  annotate("arg_attrs", f.arguments);
  annotate("res_attrs", f.results);
  return f;
}

void Reader::mesh(const OperationSyntax& op, ModuleSyntax& into) {
  const A *name = op.find("sym_name"), *mesh = op.find("mesh");
  if (!name || !mesh || mesh->kind != A::fields)
    stablehlo::fail(*source_, op.at, {"a mesh without a name or axes"});
  MeshSyntax m = mesh_syntax(*mesh);
  m.at = op.at;
  into.meshes[std::string(name->text)] = std::move(m);
}

ModuleSyntax Reader::module() {
  Bytes in(*source_, tables_.program.begin, tables_.program.end);
  const std::uint64_t head = in.number();
  if (head != 2)
    in.fail("a file of " + std::to_string(head >> 1) + " operations", "a file holds one module");
  Numbering none;
  OperationSyntax top;
  operation(in, none, top);
  if (top.name != "builtin.module" || top.regions.size() != 1)
    stablehlo::fail(*source_, top.at,
                    {"the file's operation is " + shown(top.name), "a file holds one module"});
  ModuleSyntax m;
  m.source = source_;
  m.locations = std::make_shared<StoredLocations>(source_, kept_tables_);
  m.at = top.at;
  if (const A* name = top.find("sym_name")) m.name = name->text;
  m.attributes = top.attributes;
  for (const OperationSyntax& op : top.regions[0].operations)
    if (op.name == "func.func")
      m.functions.push_back(function(op));
    else if (op.name == "sdy.mesh")
      mesh(op, m);
  return m;
}

}  // namespace

bool is_bytecode(std::string_view bytes) { return bytes.starts_with(kBytecodeMagic); }

ModuleSyntax read_bytecode(const Source& file) {
  auto source = std::make_shared<Source>();
  source->name = file.name;
  source->text = file.text;
  source->is_binary = true;
  return Reader(source, std::make_shared<const Tables>(read_tables(*source))).module();
}

}  // namespace tessera::inline v0::stablehlo
