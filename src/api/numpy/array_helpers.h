// Helpers for functions that are composed of public functions on arrays.
#pragma once

#include "api/trace/composed.h"
#include "base/message.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>

#include <utility>
#include <vector>

namespace tessera::inline v0::detail {

/// Elements start, start + step, ... below `limit` along one axis.
Array part_of(const Array& x, int axis, std::int64_t start, std::int64_t limit,
              std::int64_t step = 1);
/// The element at `position` along one axis; the result lacks that axis.
Array element_of(const Array& x, int axis, std::int64_t position);
/// x in a floating dtype, by the rule of the elementwise functions that compute in floats.
Array in_floats(const Array& x);
/// Both operands in the floating dtype that they promote to.
std::pair<Array, Array> both_in_floats(const Array& x, const Array& y);
/// The arrays in the dtype that all of them promote to.
std::vector<Array> promoted(const std::vector<Array>& xs);
inline int rank_of(const Array& x) { return static_cast<int>(x.shape().size()); }
inline std::int64_t extent_of(const Array& x, int axis) {
  return x.shape()[static_cast<std::size_t>(axis)];
}
/// x of shape (n) as (1, ..., n, ..., 1) with n along `axis` of `rank`.
Array along(const Array& x, int axis, int rank);
/// "1 array", "2 arrays".
std::string counted(std::size_t n, const char* what);
/// Throws ShapeError, naming `function`, if x has fewer than `rank` axes (or, in need_rank, not
/// exactly `rank`).
void need_rank_at_least(const char* function, const Array& x, int rank, const SourceLoc& loc);
void need_rank(const char* function, const Array& x, int rank, const SourceLoc& loc);
/// Throws ShapeError if the list of arrays is empty.
void need_some(const char* function, const std::vector<Array>& xs, const SourceLoc& loc);
/// Throws DTypeError if x is complex (or, in need_integer, neither integer nor boolean).
void need_real(const char* function, const Array& x, const SourceLoc& loc);
void need_integer(const char* function, const Array& x, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
