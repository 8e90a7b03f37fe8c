// Symbolic integers over loop variables, with which emit rules compute.
//
// An index is an affine sum of atoms: loop variables, quotients and remainders that do not
// simplify, and numbers read from data. Nodes are interned while an IndexArena is active on the
// thread, so equal indices are the same pointer; all nodes made in an arena die with it.
#pragma once

#include "ir/emit.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {

struct Atom {
  enum class Kind { variable, quotient, remainder, data };
  Kind kind = Kind::variable;
  int id = 0;                          // numbered in order of creation
  std::int64_t lo = 0, hi = 0;         // inclusive bounds
  const Index::Node* inner = nullptr;  // operand of a quotient or remainder; never negative
  std::int64_t divisor = 1;
  const Atom* partner =
      nullptr;  // for a remainder: the quotient by the same divisor, if that is a single atom
  const void* where = nullptr;  // the scope of a variable or datum, defined by its creator
  Lane lane;                    // for a datum
};

using Term = std::pair<const Atom*, std::int64_t>;

}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0 {

struct Index::Node {
  std::int64_t constant = 0;
  std::vector<codegen::Term> terms;  // sorted by atom id; no zero coefficients
  std::int64_t lo = 0, hi = 0;       // inclusive bounds of the value
};

}  // namespace tessera::inline v0

namespace tessera::inline v0::codegen {

/// Owns the nodes that its thread creates while it is the thread's innermost arena.
class IndexArena {
 public:
  IndexArena();
  ~IndexArena();
  IndexArena(const IndexArena&) = delete;
  IndexArena& operator=(const IndexArena&) = delete;

  struct Tables;
  static Tables& current();

 private:
  Tables* tables_;
  Tables* outer_;
};

/// A loop variable with values in [0, extent).
Index make_variable(std::int64_t extent, const void* where = nullptr);
/// A number read from data that lies in [lo, hi].
Index make_datum(const Lane& lane, std::int64_t lo, std::int64_t hi, const void* where = nullptr);

/// The node of an index; an empty index is zero.
const Index::Node* node_of(const Index& index);
/// The affine sum of `terms` and `constant`, simplified.
Index make_sum(std::int64_t constant, std::vector<Term> terms);

inline bool is_constant(const Index& i) { return node_of(i)->terms.empty(); }
/// The atom, if the index consists of a single atom; otherwise nullptr.
const Atom* single_atom(const Index& i);
/// The coefficient of `atom` among the terms of the sum, ignoring occurrences inside quotients and
/// remainders.
std::int64_t coefficient(const Index::Node* node, const Atom* atom);
inline std::int64_t coefficient(const Index& i, const Atom* atom) {
  return coefficient(node_of(i), atom);
}
/// Whether `atom` occurs anywhere, including inside quotients and remainders.
bool depends_on(const Index::Node* node, const Atom* atom);
/// Whether `atom` occurs inside a quotient or remainder.
bool depends_nonlinearly(const Index::Node* node, const Atom* atom);
/// The index with `atom` replaced by `by`.
Index substitute(const Index& index, const Atom* atom, const Index& by);

/// The row-major position of `at` in an array of `shape`.
Index flatten(std::span<const Index> at, std::span<const std::int64_t> shape);
/// The multi-index of a row-major position.
std::vector<Index> unflatten(const Index& flat, std::span<const std::int64_t> shape);

/// Calls `f(const Atom&)` for every variable and datum in the index.
template <class F>
void for_each_leaf(const Index::Node* node, F&& f) {
  for (const auto& [atom, c] : node->terms) {
    if (atom->inner)
      for_each_leaf(atom->inner, f);
    else
      f(*atom);
  }
}

}  // namespace tessera::inline v0::codegen
