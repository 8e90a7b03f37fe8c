// What functions on arrays share that are made of others.
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

/// start, ..., limit - 1 by `step` along one axis, counted from 0.
Array part_of(const Array& x, int axis, std::int64_t start, std::int64_t limit,
              std::int64_t step = 1);
/// The element at `position` along one axis, which goes.
Array element_of(const Array& x, int axis, std::int64_t position);
/// In floats, as elementwise functions "in floats" convert.
Array in_floats(const Array& x);
/// Two in the floating dtype that they promote to.
std::pair<Array, Array> both_in_floats(const Array& x, const Array& y);
/// Arrays in the dtype that all of them promote to.
std::vector<Array> promoted(const std::vector<Array>& xs);
inline int rank_of(const Array& x) { return static_cast<int>(x.shape().size()); }
inline std::int64_t extent_of(const Array& x, int axis) {
  return x.shape()[static_cast<std::size_t>(axis)];
}
/// x of shape (n) as (1, ..., n, ..., 1) with n along `axis` of `rank`.
Array along(const Array& x, int axis, int rank);
/// "1 array", "2 arrays".
std::string counted(std::size_t n, const char* what);
/// ShapeError in the name of `function` where x has less than `rank` axes, or another number.
void need_rank_at_least(const char* function, const Array& x, int rank, const SourceLoc& loc);
void need_rank(const char* function, const Array& x, int rank, const SourceLoc& loc);
/// ShapeError for a list without arrays.
void need_some(const char* function, const std::vector<Array>& xs, const SourceLoc& loc);
/// DTypeError where x is complex, or is no integer (nor boolean).
void need_real(const char* function, const Array& x, const SourceLoc& loc);
void need_integer(const char* function, const Array& x, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
