// The syntax tree of a module: functions, operations, attributes and types as data. Names and data
// point into the text of its source, and lists are allocated in the memory of its source.
#pragma once

#include "stablehlo/text/locations.h"
#include "stablehlo/text/source.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::stablehlo {

inline constexpr std::int64_t kDynamic = -1;

struct TypeSyntax;

/// The contents of a type; equal spellings share one.
struct TypeData {
  enum Kind { none, tensor, tuple, token, function, other } kind = none;
  bool ranked = true;
  std::string_view text;     // as written
  std::string_view element;  // of a tensor: "f32", "complex<f32>", "!quant.uniform<...>"
  List<std::int64_t> dims;   // of a tensor; kDynamic for '?'
  List<TypeSyntax> members;  // of a tuple; operands of a function
  List<TypeSyntax> results;  // of a function
};
inline constexpr TypeData kNoType;

/// A type at a position in the text.
struct TypeSyntax {
  const TypeData* data = &kNoType;
  std::size_t at = 0;
  const TypeData* operator->() const { return data; }
};

struct NamedAttribute;

struct AttributeSyntax {
  enum Kind {
    unit,
    boolean,     // integer is 0 or 1
    integer,     // with the type that follows it, if any
    real,        // text is the number as written
    string,      // text, with escapes resolved
    symbol,      // text
    type,        // type
    list,        // items
    integers,    // array<i64: ...>, [1, 2]: integers
    dict,        // entries
    fields,      // #dialect.name<key = value, ...>: text is "dialect.name", entries
    enumerator,  // #stablehlo<kind VALUE>, or a bare word: text is VALUE
    conv,        // [b, 0, f]x[0, i, o]->[b, 0, f]: three lists of enumerators
    dense,       // data points at the contents of dense<...>, type follows it
    bytes,  // data is the elements, row-major and little-endian, or one for all; type is value_type
    resource,  // dense_resource<text>, type follows it
    sharding,  // <@mesh, [{"x", ?}, {}], unreduced=max{"y"}>: text is the mesh, or entries have a
               // "mesh"; items are lists of axes, a unit for '?'; the entries "replicated" and
               // "unreduced" are lists of axes, with the reduction as text
    other,     // of another dialect, not parsed: text
  } kind = unit;
  std::size_t at = 0;
  std::int64_t integer_value = 0;
  std::string_view text;
  std::string_view data;
  TypeSyntax value_type;
  List<std::int64_t> values;
  List<AttributeSyntax> items;
  List<NamedAttribute> entries;
};

struct NamedAttribute {
  std::string_view name;
  AttributeSyntax value;
};
using Attributes = List<NamedAttribute>;
const AttributeSyntax* find(const Attributes& entries, std::string_view name);

/// A use of a value: %name#index.
struct UseSyntax {
  std::string_view name;
  std::uint32_t index = 0;
  std::size_t at = 0;
};
/// A definition of values: %name:count.
struct DefSyntax {
  std::string_view name;
  std::uint32_t count = 1;
  std::size_t at = 0;
};
struct ArgumentSyntax {
  std::string_view name;
  TypeSyntax type;
  Attributes attributes;
  std::size_t at = 0;
  std::string_view label = {};  // its name in the exported function, if the file gives it
};

struct OperationSyntax;
struct RegionSyntax {
  List<ArgumentSyntax> arguments;
  List<OperationSyntax> operations;
  std::size_t at = 0;
};

struct OperationSyntax {
  std::string_view name;
  std::size_t at = 0;
  List<DefSyntax> defs;
  List<UseSyntax> operands;
  Attributes attributes;
  List<RegionSyntax> regions;
  List<TypeSyntax> operand_types;  // empty if the form omits them
  List<TypeSyntax> result_types;
  std::size_t location = 0;  // in the module's locations; 0: it has none

  const AttributeSyntax* find(std::string_view key) const {
    return stablehlo::find(attributes, key);
  }
};

struct FunctionSyntax {
  std::string name;
  bool is_private = false;
  bool declared_only = false;
  List<ArgumentSyntax> arguments;
  List<ArgumentSyntax> results;  // without names
  RegionSyntax body;
  std::size_t at = 0;
};

/// sdy.mesh @name = <["x"=2, "y"=4], device_ids=[...]>
struct MeshSyntax {
  std::vector<std::string> axes;
  std::vector<std::int64_t> sizes, devices;
  std::size_t at = 0;
};

/// The mesh of #sdy.mesh<...>, whose syntax is a `fields` attribute: its items are the axes (name
/// in text, size in integer), and its values are the devices.
MeshSyntax mesh_syntax(const AttributeSyntax& mesh);

struct ModuleSyntax {
  SourcePtr source;
  std::shared_ptr<const Locations> locations;  // null: there are none
  std::string name;
  Attributes attributes;
  std::vector<FunctionSyntax> functions;
  std::map<std::string, std::string_view, std::less<>> resources;  // hexadecimal, with "0x"
  std::map<std::string, MeshSyntax, std::less<>> meshes;
  std::size_t at = 0;

  const FunctionSyntax* find(std::string_view function) const;
};

/// A part of a text that holds several modules, separated by lines "// -----".
struct Part {
  std::size_t begin = 0, end = 0;
};
std::vector<Part> parts_of(const Source& source);
/// Parses the modules of a part, in custom or generic form; functions outside any module form a
/// module of their own. Throws IoError with line, column and what was expected. Time and memory are
/// proportional to the text. Regions, attributes and types nest at most kDeepest levels.
std::vector<ModuleSyntax> parse(const SourcePtr& source, Part part);
inline constexpr int kDeepest = 64;

}  // namespace tessera::inline v0::stablehlo
