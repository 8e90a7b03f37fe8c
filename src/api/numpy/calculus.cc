#include <tessera/calculus.h>

#include "api/numpy/array_helpers.h"

#include <tessera/control_flow.h>
#include <tessera/operators.h>
#include <tessera/ordering.h>

#include <algorithm>
#include <limits>

namespace tessera::inline v0 {

using detail::composed;
using detail::composed1;
using detail::extent_of;
using detail::in_floats;
using detail::part_of;
using detail::rank_of;

namespace {
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

// x and the optional operands that are present.
Arrays given_spacing(const Array& x, const std::optional<Array>& a, const std::optional<Array>& b) {
  Arrays all{x};
  if (a) all.push_back(*a);
  if (b) all.push_back(*b);
  return all;
}
// A scalar as a slice of x with extent 1 along `axis`.
Array layer(const Array& v, const Array& x, int axis) {
  if (rank_of(v) > 0) return v;
  Shape s = x.shape();
  s[static_cast<std::size_t>(axis)] = 1;
  return broadcast_to(v, s);
}
}  // namespace

Array diff(Operand x, const DiffOptions& o) {
  return composed1("diff", given_spacing(x.array, o.prepend, o.append), x.loc, [&](In in) {
    detail::need_rank_at_least("diff", in[0], 1, x.loc);
    if (o.n < 0)
      Message("diff")
          .problem("the difference is taken " + std::to_string(o.n) + " times")
          .rule("that is 0 times or more")
          .from(x.loc)
          .advice("cumsum sums up")
          .raise<ShapeError>();
    const int axis = normalize_axis(o.axis, rank_of(in[0]), "diff", x.loc);
    Arrays parts{in[0]};
    if (o.prepend) parts.insert(parts.begin(), layer(in[1], in[0], axis));
    if (o.append) parts.push_back(layer(in[o.prepend ? 2 : 1], in[0], axis));
    Array v = parts.size() > 1 ? concatenate(parts, axis) : in[0];
    for (std::int64_t k = 0; k < o.n && extent_of(v, axis) > 0; ++k) {
      const std::int64_t n = extent_of(v, axis);
      const Array above = part_of(v, axis, 1, n), below = part_of(v, axis, 0, n - 1);
      v = v.dtype() == DType::boolean ? not_equal(above, below) : subtract(above, below);
    }
    return v;
  });
}

Array ediff1d(Operand x, const Ediff1dOptions& o) {
  return composed1("ediff1d", given_spacing(x.array, o.to_begin, o.to_end), x.loc, [&](In in) {
    const Array flat = ravel(in[0]);
    const std::int64_t n = flat.size();
    Arrays parts{subtract(part_of(flat, 0, std::min<std::int64_t>(1, n), n),
                          part_of(flat, 0, 0, std::max<std::int64_t>(n - 1, 0)))};
    const DType d = in[0].dtype();
    if (o.to_begin) parts.insert(parts.begin(), astype(ravel(in[1]), d));
    if (o.to_end) parts.push_back(astype(ravel(in[o.to_begin ? 2 : 1]), d));
    return concatenate(parts);
  });
}

namespace {
Array gradient_along(const Array& x, int axis, double spacing) {
  const std::int64_t n = extent_of(x, axis);
  const auto at = [&](std::int64_t start, std::int64_t limit) {
    return part_of(x, axis, start, limit);
  };
  const Array first = subtract(at(1, 2), at(0, 1)), last = subtract(at(n - 1, n), at(n - 2, n - 1));
  const Array inner = multiply(subtract(at(2, n), at(0, n - 2)), 0.5);
  return divide(concatenate({first, inner, last}, axis), spacing);
}
}  // namespace

Arrays gradient(Operand x, const GradientOptions& o) {
  return composed("gradient", {x.array}, x.loc, [&](In in) {
    const int rank = rank_of(in[0]);
    std::vector<std::int64_t> axes;
    for (std::int64_t a : o.axis.get()) axes.push_back(normalize_axis(a, rank, "gradient", x.loc));
    if (axes.empty())
      for (int a = 0; a < rank; ++a) axes.push_back(a);
    if (o.spacing.size() > 1 && o.spacing.size() != axes.size())
      Message("gradient")
          .problem(std::to_string(o.spacing.size()) + " distances for " +
                   std::to_string(axes.size()) + " axes")
          .rule("one for all of them, or one for each")
          .from(x.loc)
          .advice("{.spacing = {0.5}} holds for all axes")
          .raise<ShapeError>();
    const Array v = in_floats(in[0]);
    Arrays out;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const int axis = static_cast<int>(axes[i]);
      if (extent_of(v, axis) < 2)
        Message("gradient")
            .problem("axis " + std::to_string(axis) + " of shape " + to_string(v.shape()) +
                     " has no two elements")
            .rule("a difference needs two")
            .from(x.loc)
            .advice("name the other axes: {.axis = {...}}")
            .raise<ShapeError>();
      const double h = o.spacing.empty() ? 1 : o.spacing[o.spacing.size() > 1 ? i : 0];
      out.push_back(gradient_along(v, axis, h));
    }
    return out;
  });
}

Array trapezoid(Operand y, const TrapezoidOptions& o) {
  return composed1("trapezoid", given_spacing(y.array, o.x, {}), y.loc, [&](In in) {
    detail::need_rank_at_least("trapezoid", in[0], 1, y.loc);
    const Array v = moveaxis(in_floats(in[0]), o.axis, -1);
    const int last = rank_of(v) - 1;
    const std::int64_t n = extent_of(v, last);
    const Array pairs = n == 0 ? v : add(part_of(v, last, 1, n), part_of(v, last, 0, n - 1));
    if (!o.x) return multiply(sum(pairs, -1), 0.5 * o.dx);
    const Array at =
        rank_of(in[1]) == 1 ? in_floats(in[1]) : moveaxis(in_floats(in[1]), o.axis, -1);
    return multiply(sum(multiply(pairs, diff(at)), -1), 0.5);
  });
}

namespace {
void check_sample_points(const Array& xp, const Array& fp, const SourceLoc& loc) {
  if (rank_of(xp) == 1 && xp.shape() == fp.shape() && xp.size() > 0) return;
  Message("interp")
      .problem("xp and fp have shapes " + to_string(xp.shape()) + " and " + to_string(fp.shape()))
      .rule("they are vectors of one length, 1 or more")
      .from(loc)
      .advice("map the function over other axes with vmap")
      .raise<ShapeError>();
}
// Sorts the points within a period, and adds the last before the first and the first after the
// last, each shifted by a period.
void neighbourhood(Array& x, Array& xp, Array& fp, double period) {
  x = remainder(x, period);
  xp = remainder(xp, period);
  const Array order = argsort(xp);
  xp = take(xp, order), fp = take(fp, order);
  const std::int64_t n = xp.size();
  const auto first = [](const Array& v) { return part_of(v, 0, 0, 1); };
  const auto last = [&](const Array& v) { return part_of(v, 0, n - 1, n); };
  xp = concatenate({subtract(last(xp), period), xp, add(first(xp), period)});
  fp = concatenate({last(fp), fp, first(fp)});
}
}  // namespace

Array interp(Operand x, Operand xp, Operand fp, const InterpOptions& o) {
  Arrays all{x.array, xp.array, fp.array};
  if (o.left) all.push_back(*o.left);
  if (o.right) all.push_back(*o.right);
  return composed1("interp", all, x.loc, [&](In in) {
    check_sample_points(in[1], in[2], x.loc);
    auto [v, at] = detail::both_in_floats(in[0], in[1]);
    Array f = in_floats(in[2]);
    if (o.period) neighbourhood(v, at, f, std::abs(*o.period));
    const std::int64_t n = at.size();
    if (n == 1) at = concatenate({at, at}), f = concatenate({f, f});
    const Array above =
        clip(searchsorted(at, v, {.side = "right"}), 1, std::max<std::int64_t>(n - 1, 1));
    const Array below = subtract(above, 1);
    const Array x0 = take(at, below), f0 = take(f, below);
    const Array dx = subtract(take(at, above), x0), df = subtract(take(f, above), f0);
    const Array same = equal(dx, 0);
    const Array part = divide(subtract(v, x0), where(same, ones_like(dx), dx));
    Array r = where(same, f0, add(f0, multiply(part, df)));
    if (o.period) return r;
    const Array left = o.left ? in[3] : detail::element_of(f, 0, 0);
    const Array right = o.right ? in[o.left ? 4 : 3] : detail::element_of(f, 0, -1);
    r = where(less(v, detail::element_of(at, 0, 0)), left, r);
    return where(greater(v, detail::element_of(at, 0, -1)), right, r);
  });
}

Array cumlogsumexp(Operand x, std::int64_t axis, bool reverse) {
  return composed1("cumlogsumexp", {x.array}, x.loc, [&](In in) {
    const Array v = in_floats(in[0]);
    const int a = normalize_axis(axis, rank_of(v), "cumlogsumexp", x.loc);
    return associative_scan([](Array p, Array q) { return logaddexp(p, q); }, v,
                            {.reverse = reverse, .axis = a});
  });
}

Array unwrap(Operand x, const UnwrapOptions& o) {
  return composed1("unwrap", {x.array}, x.loc, [&](In in) {
    detail::need_rank_at_least("unwrap", in[0], 1, x.loc);
    detail::need_real("unwrap", in[0], x.loc);
    const Array v = in_floats(in[0]);
    const int axis = normalize_axis(o.axis, rank_of(v), "unwrap", x.loc);
    const std::int64_t n = extent_of(v, axis);
    if (n == 0) return v;
    const Array step = diff(v, {.axis = axis});
    const double half = o.period / 2;
    Array near = subtract(remainder(add(step, half), o.period), half);
    near = where(equal(near, -half) & greater(step, 0), half, near);
    const Array change = where(less(abs(step), o.discont.value_or(half)), 0, subtract(near, step));
    return concatenate({part_of(v, axis, 0, 1), add(part_of(v, axis, 1, n), cumsum(change, axis))},
                       axis);
  });
}

}  // namespace tessera::inline v0
