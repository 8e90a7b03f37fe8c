// The parser: one method a part of the grammar. Each reads from the token at hand and leaves the
// one behind what it has read.
#pragma once

#include "stablehlo/text/lexer.h"
#include "stablehlo/text/syntax.h"

#include <map>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

/// A level of nesting while it lives; an error where there are too many.
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
      : source_(std::move(source)), in_(*source_, part.begin, part.end) {}

  std::vector<ModuleSyntax> modules();  // parse_module.cc

  // --- parse_type.cc
  TypeSyntax type();
  List<TypeSyntax> types_in_parentheses();

  // --- parse_shardings.cc
  /// `<@mesh, [{"x"}, {?}]>`, of which the bracket is at hand.
  AttributeSyntax sharding();
  /// `{"x", "y":(1)2}`, of which the bracket is at hand: parts of axes have two `values`.
  AttributeSyntax axes();
  /// As `axes`, or a list of such by dimension, `[{"x"}: 0->1, {}]`: a way has two `values`.
  AttributeSyntax axes_of_dimensions();
  /// What stands behind `sdy.mesh`.
  void mesh(ModuleSyntax& into);

  // --- parse_attribute.cc
  AttributeSyntax attribute();
  /// `{key = value, ...}`, of which the first brace is at hand.
  Attributes dictionary();
  /// `[1, 2]`: integers, or a list.
  AttributeSyntax list();
  /// What is in `dense<...>`, without a type.
  AttributeSyntax data();
  AttributeSyntax conv_dimensions();
  /// From an opening bracket to where it is closed; gives what is between.
  std::string_view balanced();
  /// `loc(...)`, if it is there; the name in `loc("name")`.
  std::string_view location();

  // --- parse_operation.cc
  void operation(OperationSyntax& op);
  RegionSyntax region();
  /// A value that is read.
  UseSyntax use();
  ArgumentSyntax argument();
  /// `: type` and what follows from it for operands and results. Gives the last type before "->".
  TypeSyntax types_of(OperationSyntax& op);
  void optional_dictionary(OperationSyntax& op);

  // --- small steps
  Lexer& in() { return in_; }
  Memory& memory() { return source_->memory; }
  /// A string's escapes resolved.
  std::string_view unescaped(std::string_view text);
  const Token& now() const { return in_.now(); }
  bool take(char c);
  void need(char c, std::string_view what);
  bool take_word(std::string_view w);
  std::int64_t integer(std::string_view what);
  /// That, or an unsigned one as its bits.
  std::int64_t bits(std::string_view what);
  /// Items with commas between them up to `close`, which is taken.
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
  /// Counts what aliases stand for: aliases of aliases could be longer than any memory.
  void expand(std::size_t at, std::size_t size);

  SourcePtr source_;
  Lexer in_;
  int depth_ = 0;
  std::size_t expanded_ = 0;
  std::map<std::string, AttributeSyntax, std::less<>> attribute_aliases_;
  std::map<std::string, TypeSyntax, std::less<>> type_aliases_;
  std::unordered_map<std::string_view, const TypeData*>
      known_types_;  // by what they are written as
  const TypeData* last_type_ = &kNoType;
};

/// Reads the operands, attributes and regions of an operation in the pretty form of its name, and
/// its types; pretty.cc, pretty_regions.cc and pretty_shardy.cc. An error where no such form is known.
void parse_pretty(Parser& p, OperationSyntax& op);
using PrettyForm = void (*)(Parser& p, OperationSyntax& op);
/// The forms of single operations that have a syntax of their own; null for others.
PrettyForm form_with_regions(std::string_view name);
PrettyForm form_of_shardy(std::string_view name);

}  // namespace tessera::inline v0::stablehlo
