// Sets of values, and places where something holds.
//
// How many there are is a matter of values. Outside traces they are read; in a traced function the
// option `size` says it beforehand, TraceError without: more are cut off, and where there are fewer
// `fill_value` stands for those that are missing. Positions and counts are int32, of
// arrays of 2^31 elements and more int64.
#pragma once

#include <tessera/array.h>

#include <vector>

namespace tessera::inline v0 {

struct SizeOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> size = {};
  std::optional<Array> fill_value = {};
};
/// The positions of the elements that are not zero, one array an axis; the fill is 0.
TESSERA_API std::vector<Array> nonzero(Operand x, const SizeOptions& options = {});
/// The same of a condition.
TESSERA_API std::vector<Array> where(Operand condition, const SizeOptions& options = {});
/// The same in the flattened array, and as rows.
TESSERA_API Array flatnonzero(Operand x, const SizeOptions& options = {});
TESSERA_API Array argwhere(Operand x, const SizeOptions& options = {});
/// The elements of the flattened array where the flattened condition holds; the fill is 0.
/// ShapeError where their numbers differ.
TESSERA_API Array extract(Operand condition, Operand x, const SizeOptions& options = {});

struct UniqueOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> axis = {};
  std::optional<std::int64_t> size = {};
  std::optional<Array> fill_value = {};
  bool equal_nan = true;
};
/// The values that occur, ascending, of the flattened array or as slices along an axis; the fill is
/// the first.
TESSERA_API Array unique(Operand x, const UniqueOptions& options = {});
/// With the first positions of the values, for each element the position of its value, and how
/// often each occurs.
struct UniqueAll {
  Array values, indices, inverse_indices, counts;
};
TESSERA_API UniqueAll unique_all(Operand x, const UniqueOptions& options = {});

/// For each element of x whether it is among those of `test`; NaN never is.
TESSERA_API Array isin(Operand x, Operand test, bool invert = false);
/// The values that are in both, in either, in the first alone, in one alone: ascending, of the
/// flattened arrays. The fill is the first value, of setdiff1d 0.
TESSERA_API Array intersect1d(Operand x, Operand y, const SizeOptions& options = {});
TESSERA_API Array union1d(Operand x, Operand y, const SizeOptions& options = {});
TESSERA_API Array setdiff1d(Operand x, Operand y, const SizeOptions& options = {});
TESSERA_API Array setxor1d(Operand x, Operand y, const SizeOptions& options = {});

}  // namespace tessera::inline v0
