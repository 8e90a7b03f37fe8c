// A program: a flat list of equations in single-assignment form over typed variables. It is the
// library's central data structure.
//
// Programs are immutable once finished and shared by pointer; transformations make new ones.
// Nothing here recurses over the length of a program, so a program of 100,000 equations is walked,
// copied and destroyed in constant stack space.
#pragma once

#include "ir/attrs.h"
#include "ir/type.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0 {

struct Op;  // ir/op.h

/// Index of a variable in its program.
using Var = std::uint32_t;

/// Transformations copy equations everywhere, so their copy operations are compiled only once, in
/// program.cc.
struct Equation {
  Equation();
  Equation(const Equation& other);
  Equation(Equation&& other) noexcept;
  Equation& operator=(const Equation& other);
  Equation& operator=(Equation&& other) noexcept;
  ~Equation();

  const Op* op = nullptr;
  std::vector<Var> inputs;
  std::vector<Var> outputs;
  Attrs attrs;
  SourceLoc loc;      // the user's line
  std::string scope;  // name stack, "a/b"; empty at the top
};

struct Program {
  std::string name;        // of the user's function, for printing
  std::deque<Type> types;  // by Var
  std::vector<Var> inputs;
  std::vector<Equation> equations;
  std::vector<Var> outputs;  // a variable may appear more than once, and may be an input

  const Type& type(Var v) const { return types[v]; }
  std::vector<Type> input_types() const;
  std::vector<Type> output_types() const;
};

/// Structural hash and equality over ops, attributes (including nested programs), types and wiring.
/// Variable numbering, names and source locations are ignored.
std::uint64_t hash_of(const Program& p);
bool same_structure(const Program& a, const Program& b);

/// Throws InternalError naming the first violated invariant: an undefined or redefined variable, a
/// type that differs from the op's rule, or a nested program that does not fit. `pass` names the
/// pass that made the program.
void verify(const Program& p, const char* pass);

/// The program as text (docs/ir.md has the grammar). `parse_program` reads it back and throws
/// TraceError with line and column on malformed input.
struct PrintOptions {
  bool locations = false;
};
std::string to_string(const Program& p, PrintOptions options = {});
ProgramPtr parse_program(std::string_view text);

}  // namespace tessera::inline v0
