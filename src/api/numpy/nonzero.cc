// Finds the positions of elements with a property: nonzero and related functions.
#include "api/numpy/mask_positions.h"

#include <tessera/operators.h>
#include <tessera/sets.h>

namespace tessera::inline v0 {

using detail::composed;
using detail::composed1;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

Arrays with_fill(Arrays all, const std::optional<Array>& fill) {
  if (fill) all.push_back(*fill);
  return all;
}
std::int64_t size_of_result(const char* name, const Operand& x, const SizeOptions& o) {
  return detail::result_size(name, {&x.array, 1}, o.size, x.loc,
                             [&] { return count_nonzero(x.array); });
}
Array truth_of(const Array& x) { return ravel(x.dtype() == DType::boolean ? x : not_equal(x, 0)); }

Array flat_positions(const Array& x, std::int64_t size, const Array& fill) {
  const detail::MaskPositions c = detail::mask_positions(truth_of(x), size);
  return where(c.valid, c.positions, astype(fill, c.positions.dtype()));
}
Array fill_of(In in, std::size_t at) { return in.size() > at ? in[at] : Array(0); }

// One array of positions per axis.
Arrays positions(const char* name, const Operand& x, const SizeOptions& o) {
  const std::int64_t size = size_of_result(name, x, o);
  return composed(name, with_fill({x.array}, o.fill_value), x.loc, [&](In in) {
    detail::need_rank_at_least(name, in[0], 1, x.loc);
    const detail::MaskPositions c = detail::mask_positions(truth_of(in[0]), size);
    Arrays out;
    std::int64_t below = 1;
    for (int axis = detail::rank_of(in[0]); axis-- > 0;) {
      const std::int64_t n = std::max<std::int64_t>(detail::extent_of(in[0], axis), 1);
      const Array p = remainder(floor_divide(c.positions, below), n);
      out.insert(out.begin(), where(c.valid, p, astype(fill_of(in, 1), c.positions.dtype())));
      below *= n;
    }
    return out;
  });
}
}  // namespace

Arrays nonzero(Operand x, const SizeOptions& o) { return positions("nonzero", x, o); }
Arrays where(Operand condition, const SizeOptions& o) { return positions("where", condition, o); }

Array flatnonzero(Operand x, const SizeOptions& o) {
  const std::int64_t size = size_of_result("flatnonzero", x, o);
  return composed1("flatnonzero", with_fill({x.array}, o.fill_value), x.loc,
                   [&](In in) { return flat_positions(in[0], size, fill_of(in, 1)); });
}

Array argwhere(Operand x, const SizeOptions& o) {
  const InFunction called("argwhere", x.loc);
  if (detail::need(x.array, "argwhere", x.loc).type.shape.rank() == 0) {
    const std::int64_t size = size_of_result("argwhere", x, o);
    return zeros({size, 0}, DType::int32);
  }
  return stack(positions("argwhere", x, o), 1);
}

Array extract(Operand condition, Operand x, const SizeOptions& o) {
  const InFunction called("extract", condition.loc);
  const Array both[] = {condition.array, x.array};
  const std::int64_t size = detail::result_size("extract", both, o.size, condition.loc,
                                                [&] { return count_nonzero(condition.array); });
  return composed1("extract", with_fill({condition.array, x.array}, o.fill_value), condition.loc,
                   [&](In in) {
                     const Array mask = truth_of(in[0]), v = ravel(in[1]);
                     if (mask.size() != v.size())
                       Message("extract")
                           .problem("a condition of shape " + to_string(in[0].shape()) +
                                    " for an array of shape " + to_string(in[1].shape()))
                           .rule("both have as many elements")
                           .from(condition.loc)
                           .advice("broadcast_to gives the condition the array's shape")
                           .raise<ShapeError>();
                     const detail::MaskPositions c = detail::mask_positions(mask, size);
                     if (v.size() == 0)
                       return broadcast_to(astype(fill_of(in, 2), v.dtype()), {size});
                     return detail::filled(take(v, c.positions), c.valid, fill_of(in, 2));
                   });
}

}  // namespace tessera::inline v0
