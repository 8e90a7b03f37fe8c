// Sets of values, and positions of elements that satisfy a condition.
//
// The sizes of the results depend on values. Outside traces the values are read; in a traced
// function the option `size` must give the size in advance, or TraceError is thrown. Surplus
// results are dropped, and missing ones are replaced by `fill_value`. Positions and counts are
// int32, or int64 for arrays of 2^31 elements or more.
#pragma once

#include <tessera/array.h>

#include <vector>

namespace tessera::inline v0 {

/// The options of functions whose number of results depends on values: inside traced functions
/// `size` fixes it, and `fill_value` is the value of results that are missing.
struct SizeOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> size = {};
  std::optional<Array> fill_value = {};
};
/// The positions of the non-zero elements, one array per axis. The default fill is 0.
TESSERA_API std::vector<Array> nonzero(Operand x, const SizeOptions& options = {});
/// The positions where a condition holds, as nonzero returns them.
TESSERA_API std::vector<Array> where(Operand condition, const SizeOptions& options = {});
/// The positions of the non-zero elements in the flattened array.
TESSERA_API Array flatnonzero(Operand x, const SizeOptions& options = {});
/// The positions of the non-zero elements as rows, (count, ndim).
TESSERA_API Array argwhere(Operand x, const SizeOptions& options = {});
/// The elements of the flattened array where the flattened condition holds. The default fill is 0.
/// Throws ShapeError if the operands have different sizes.
TESSERA_API Array extract(Operand condition, Operand x, const SizeOptions& options = {});

/// The options of unique: the `axis` whose slices are compared (by default the flattened elements),
/// the fixed number `size` of results with the `fill_value` of missing ones, and with `equal_nan`
/// all NaN are one value.
struct UniqueOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> axis = {};
  std::optional<std::int64_t> size = {};
  std::optional<Array> fill_value = {};
  bool equal_nan = true;
};
/// The distinct values in ascending order, of the flattened array or as slices along an axis. The
/// default fill is the first value.
TESSERA_API Array unique(Operand x, const UniqueOptions& options = {});
/// unique with its `values`, the first position of each (`indices`), the position of each element's
/// value (`inverse_indices`), and the `counts` of the values.
struct UniqueAll {
  Array values, indices, inverse_indices, counts;
};
TESSERA_API UniqueAll unique_all(Operand x, const UniqueOptions& options = {});

/// Whether each element of x is among those of `test`; NaN never is.
TESSERA_API Array isin(Operand x, Operand test, bool invert = false);
/// The values that both arrays have, flattened, in ascending order. The default fill is the first
/// value.
TESSERA_API Array intersect1d(Operand x, Operand y, const SizeOptions& options = {});
/// The values that either array has, flattened, in ascending order. The default fill is the first
/// value.
TESSERA_API Array union1d(Operand x, Operand y, const SizeOptions& options = {});
/// The values of x that y does not have, flattened, in ascending order. The default fill is 0.
TESSERA_API Array setdiff1d(Operand x, Operand y, const SizeOptions& options = {});
/// The values that exactly one of the arrays has, flattened, in ascending order. The default fill
/// is the first value.
TESSERA_API Array setxor1d(Operand x, Operand y, const SizeOptions& options = {});

}  // namespace tessera::inline v0
