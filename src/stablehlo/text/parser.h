// The parser: one method per rule of the grammar. Each starts at the current token and ends at the
// token after the text it has parsed.
#pragma once

#include "stablehlo/text/lexer.h"
#include "stablehlo/text/syntax.h"
#include "stablehlo/text/written_locations.h"

#include <map>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

/// The characters of a string whose text may have escapes.
std::string without_escapes(std::string_view text);

/// A level of nesting for its lifetime; fails if the nesting is too deep.
class Nesting {
 public:
  Nesting(int& depth, const Lexer& lexer);
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

class Parser {
 public:
  Parser(SourcePtr source, Part part)
      : source_(std::move(source)),
        in_(*source_, part.begin, part.end),
        locations_(std::make_shared<WrittenLocations>(source_)) {}

  std::vector<ModuleSyntax> modules();  // parse_module.cc

  // --- parse_type.cc
  TypeSyntax type();
  List<TypeSyntax> types_in_parentheses();

  // --- parse_shardings.cc
  /// `<@mesh, [{"x"}, {?}]>`; the current token is the opening bracket.
  AttributeSyntax sharding();
  /// `{"x", "y":(1)2}`; the current token is the opening bracket. Sub-axes have two `values`.
  AttributeSyntax axes();
  /// As `axes`, or a list of axes per dimension, `[{"x"}: 0->1, {}]`; a move between dimensions has
  /// two `values`.
  AttributeSyntax axes_of_dimensions();
  /// The part after `sdy.mesh`.
  void mesh(ModuleSyntax& into);

  // --- parse_attribute.cc
  AttributeSyntax attribute();
  /// `{key = value, ...}`; the current token is the opening brace.
  Attributes dictionary();
  /// `[1, 2]`: integers, or a list.
  AttributeSyntax list();
  /// The contents of `dense<...>`, without a type.
  AttributeSyntax data();
  AttributeSyntax conv_dimensions();
  /// The text from an opening bracket to the matching closing one, excluding both.
  std::string_view balanced();
  /// Skips `loc(...)` if it comes next; returns its number among the locations, or 0.
  std::size_t location();
  /// As `location`; returns the name in `loc("name")`.
  std::string_view label();

  // --- parse_operation.cc
  void operation(OperationSyntax& op);
  RegionSyntax region();
  /// The use of a value as an operand.
  UseSyntax use();
  ArgumentSyntax argument();
  /// `: type` and the types of operands and results that follow from it. Returns the last type
  /// before "->".
  TypeSyntax types_of(OperationSyntax& op);
  void optional_dictionary(OperationSyntax& op);

  // --- small steps
  Lexer& in() { return in_; }
  Memory& memory() { return source_->memory; }
  /// Resolves the escapes of a string.
  std::string_view unescaped(std::string_view text);
  const Token& now() const { return in_.now(); }
  bool take(char c);
  void need(char c, std::string_view what);
  bool take_word(std::string_view w);
  std::int64_t integer(std::string_view what);
  /// An integer that may be unsigned, as its bits.
  std::int64_t bits(std::string_view what);
  /// Parses items separated by commas up to `close`, and takes that.
  template <class Item>
  void items(char close, std::string_view what, Item&& item) {
    if (take(close)) return;
    do item();
    while (take(','));
    need(close, what);
  }

 private:
  // parse_module.cc
  void module(std::vector<ModuleSyntax>& out);
  bool inside_module(ModuleSyntax& into);
  void outer_operation(ModuleSyntax& into, std::vector<ModuleSyntax>& out);
  FunctionSyntax function();
  void trailer(ModuleSyntax& into);
  // parse_type.cc
  TypeData angled_type();
  TypeData function_type();
  const TypeData* known_type(std::size_t at);
  void remember(const TypeData* type);
  void dimensions(TypeData& type);
  void element(TypeData& type);
  // parse_attribute.cc
  AttributeSyntax word_attribute();
  AttributeSyntax hashed_attribute();
  AttributeSyntax angled_attribute();
  AttributeSyntax part_of_axis();
  // parse_shardings.cc
  AttributeSyntax mesh_attribute();
  AttributeSyntax shardings();
  AttributeSyntax shardy_attribute(AttributeSyntax a);
  AttributeSyntax axis();
  AttributeSyntax number();
  void typed(AttributeSyntax& a);
  // parse_operation.cc
  void generic(OperationSyntax& op);
  std::size_t results_wanted(const OperationSyntax& op) const;
  /// Counts the expanded size of aliases: nested aliases could be longer than any memory.
  void expand(std::size_t at, std::size_t size);

  SourcePtr source_;
  Lexer in_;
  std::shared_ptr<WrittenLocations> locations_;
  int depth_ = 0;
  std::size_t expanded_ = 0;
  std::map<std::string, AttributeSyntax, std::less<>> attribute_aliases_;
  std::map<std::string, TypeSyntax, std::less<>> type_aliases_;
  std::unordered_map<std::string_view, const TypeData*> known_types_;  // by their spelling
  const TypeData* last_type_ = &kNoType;
};

/// Parses the operands, attributes, regions and types of an operation in the custom assembly form
/// of its name (pretty.cc, pretty_regions.cc, pretty_shardy.cc). Fails if no such form is known.
void parse_pretty(Parser& p, OperationSyntax& op);
using PrettyForm = void (*)(Parser& p, OperationSyntax& op);
/// The parsers of operations with a syntax of their own; null for other operations.
PrettyForm form_with_regions(std::string_view name);
PrettyForm form_of_shardy(std::string_view name);

}  // namespace tessera::inline v0::stablehlo
