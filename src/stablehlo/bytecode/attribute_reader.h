// Reads the attributes and types of a bytecode file into the same syntax that the module's text
// would be parsed into.
#pragma once

#include "stablehlo/bytecode/tables.h"
#include "stablehlo/text/syntax.h"

#include <optional>

namespace tessera::inline v0::stablehlo {

class AttributeReader {
 public:
  AttributeReader(SourcePtr source, const Tables& tables)
      : source_(std::move(source)),
        tables_(tables),
        attributes_(tables.attributes.size()),
        types_(tables.types.size()) {}

  /// A copy of the attribute or type with the index that `in` holds next. Files share equal
  /// attributes, so nested copies could be exponentially larger than the file: fails if they exceed
  /// what any real program needs.
  AttributeSyntax attribute(Bytes& in);
  /// As attribute, for an attribute that may be absent.
  std::optional<AttributeSyntax> optional_attribute(Bytes& in);
  TypeSyntax type(Bytes& in);
  TypeSyntax type(const Bytes& in, std::size_t index);
  Attributes dictionary(Bytes& in);

 private:
  const AttributeSyntax& attribute(std::size_t index);
  const TypeSyntax& type(std::size_t index);
  AttributeSyntax read_attribute(const Tables::Entry& e);
  AttributeSyntax vhlo_attribute(Bytes in);
  AttributeSyntax builtin_attribute(Bytes in);
  AttributeSyntax sdy_attribute(Bytes in);
  AttributeSyntax sharding(Bytes& in, std::size_t at, bool unreduced, bool other_reduction);
  AttributeSyntax tensor(Bytes& in);
  AttributeSyntax integer(Bytes& in);
  AttributeSyntax real(Bytes& in);
  TypeData read_type(const Tables::Entry& e);
  TypeData vhlo_type(Bytes in);
  TypeData builtin_type(Bytes in);
  TypeData tensor_type(Bytes& in);
  TypeData element_type(std::string_view name);
  List<TypeSyntax> types(Bytes& in);
  void spend(const Bytes& in, std::size_t parts);
  std::string_view string(Bytes& in);
  std::string_view keep(const Bytes& in, std::string_view text);
  Memory& memory() { return source_->memory; }

  SourcePtr source_;
  const Tables& tables_;
  std::vector<std::optional<AttributeSyntax>> attributes_;
  std::vector<std::optional<TypeSyntax>> types_;
  int depth_ = 0;
  std::size_t spent_ = 0;
};

}  // namespace tessera::inline v0::stablehlo
