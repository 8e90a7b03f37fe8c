#include <tessera/manipulation.h>

#include "api/numpy/indexing.h"
#include "api/numpy/joining.h"
#include "api/trace/numbers.h"

#include <algorithm>

namespace tessera::inline v0 {

using detail::composite1;

namespace {

Shape infer_shape(const Shape& from, Shape shape, const SourceLoc& loc) {
  std::int64_t known = 1;
  int unknown = -1;
  bool countable = true;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[static_cast<std::size_t>(i)] == -1 && unknown < 0)
      unknown = i;
    else
      countable =
          !__builtin_mul_overflow(known, shape[static_cast<std::size_t>(i)], &known) && countable;
  }
  bool negative = std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < -1; }) ||
                  std::count(shape.begin(), shape.end(), -1) > 1;
  std::int64_t n = from.count();
  bool fits = countable && (unknown < 0 ? known == n : known > 0 && n % known == 0);
  if (negative || !fits) {
    std::string arithmetic = std::to_string(n) + " elements do not fill ";
    arithmetic += !countable ? "more than 2^63"
                  : unknown < 0 || known < 1
                      ? std::to_string(known)
                      : "parts of " + std::to_string(known) + ": " + std::to_string(n) + " = " +
                            std::to_string(known) + " x " + std::to_string(n / known) + " + " +
                            std::to_string(n % known);
    Message("reshape")
        .problem("an array of shape " + to_string(from) + " does not reshape to " +
                 to_string(shape))
        .rule(negative ? "extents are 0 or more, and at most one is -1: it stands for what is left"
                       : arithmetic)
        .from(loc)
        .advice("change an extent; one may be -1, which stands for what the others leave")
        .raise<ShapeError>();
  }
  if (unknown >= 0) shape[static_cast<std::size_t>(unknown)] = n / known;
  return shape;
}

Ints identity(int rank) {
  Ints p;
  for (int i = 0; i < rank; ++i) p.push_back(i);
  return p;
}

Value triangle(Value x, std::int64_t k, bool lower, const SourceLoc& loc) {
  if (x.rank() < 2)
    Message(lower ? "tril" : "triu")
        .problem("the array has shape " + to_string(x.shape()))
        .rule("a triangle needs two axes")
        .from(loc)
        .advice("give it rows and columns with reshape")
        .raise<ShapeError>();
  Builder& b = *x.builder;
  Shape matrix{x.shape()[static_cast<std::size_t>(x.rank() - 2)],
               x.shape()[static_cast<std::size_t>(x.rank() - 1)]};
  // Beyond the corners the result does not depend on k, so k can be clamped.
  const std::int64_t most = std::max(matrix[0], matrix[1]);
  const DType numbers = detail::index_dtype(2 * most);
  Value row = ops::iota(b, numbers, matrix, 0), column = ops::iota(b, numbers, matrix, 1);
  Value edge = ops::add(row, ops::full_like(row, static_cast<double>(std::clamp(k, -most, most))));
  Value keep = lower ? ops::ge(edge, column) : ops::le(edge, column);
  return ops::select(detail::broadcast_to(keep, x.shape()), x, ops::zeros_like(x));
}

}  // namespace

Array reshape(Operand x, const Shape& shape) {
  return composite1("reshape", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::reshape(in[0], infer_shape(in[0].shape(), shape, x.loc));
  });
}
Array Array::reshape(const Shape& shape, std::source_location loc) const {
  return v0::reshape(Operand(*this, loc), shape);
}
Array ravel(Operand x) {
  const InFunction called("ravel", x.loc);
  return reshape(std::move(x), Shape{-1});
}
Array Array::flatten(std::source_location loc) const { return v0::ravel({*this, loc}); }

Array transpose(Operand x, const std::vector<std::int64_t>& permutation) {
  return composite1("transpose", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Ints p;
    int rank = in[0].rank();
    if (permutation.empty())
      for (int i = rank; i-- > 0;) p.push_back(i);
    for (std::int64_t a : permutation) p.push_back(normalize_axis(a, rank, "transpose", x.loc));
    Ints sorted = p;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != identity(rank))
      Message("transpose")
          .problem("the permutation has " + std::to_string(p.size()) +
                   " entries for an array of shape " + to_string(in[0].shape()))
          .rule("it names each of the " + std::to_string(rank) + " axes once")
          .from(x.loc)
          .advice("list every axis, or use swapaxes or moveaxis")
          .raise<ShapeError>();
    return ops::transpose(in[0], p);
  });
}

Array swapaxes(Operand x, std::int64_t a, std::int64_t b) {
  const InFunction called("swapaxes", x.loc);
  int rank = detail::need(x.array, "swapaxes").type.shape.rank();
  Ints p = identity(rank);
  std::swap(p[static_cast<std::size_t>(normalize_axis(a, rank, "swapaxes", x.loc))],
            p[static_cast<std::size_t>(normalize_axis(b, rank, "swapaxes", x.loc))]);
  return transpose(std::move(x), p);
}
Array moveaxis(Operand x, std::int64_t source, std::int64_t destination) {
  const InFunction called("moveaxis", x.loc);
  int rank = detail::need(x.array, "moveaxis").type.shape.rank();
  int s = normalize_axis(source, rank, "moveaxis", x.loc),
      d = normalize_axis(destination, rank, "moveaxis", x.loc);
  Ints p = identity(rank);
  p.erase(p.begin() + s);
  p.insert(p.begin() + d, s);
  return transpose(std::move(x), p);
}

Array expand_dims(Operand x, AxisList axis) {
  return composite1("expand_dims", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    int rank = in[0].rank() + static_cast<int>(axis.get().size());
    if (axis.get().empty()) return in[0];
    return detail::keep_dims(in[0], detail::normalize_axes(axis.get(), rank, "expand_dims", x.loc));
  });
}

Array squeeze(Operand x, AxisList axis) {
  return composite1("squeeze", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    const Shape& from = in[0].shape();
    Ints drop;
    if (axis.get().empty()) {
      for (int i = 0; i < from.rank(); ++i)
        if (from[static_cast<std::size_t>(i)] == 1) drop.push_back(i);
    } else {
      drop = detail::normalize_axes(axis.get(), from.rank(), "squeeze", x.loc);
    }
    Shape shape;
    for (int i = 0; i < from.rank(); ++i) {
      bool dropped = std::find(drop.begin(), drop.end(), i) != drop.end();
      std::int64_t d = from[static_cast<std::size_t>(i)];
      if (dropped && d != 1)
        Message("squeeze")
            .problem("axis " + std::to_string(i) + " of shape " + to_string(from) + " has " +
                     std::to_string(d) + " elements")
            .rule("only axes of one element can be removed")
            .from(x.loc)
            .advice("pick one element of it by indexing, or reduce over it")
            .raise<ShapeError>();
      if (!dropped) shape.push_back(d);
    }
    return ops::reshape(in[0], shape);
  });
}

Array broadcast_to(Operand x, const Shape& shape) {
  const InFunction called("broadcast_to", x.loc);
  const Shape& from = detail::need(x.array, "broadcast_to").type.shape;
  if (shape.rank() == from.rank() + 1 && std::equal(from.begin(), from.end(), shape.begin() + 1))
    if (Array once = detail::stacked_once(x.array, shape[0]); !once.is_empty()) return once;
  return composite1("broadcast_to", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Shape joint = broadcast_shapes(in[0].shape(), shape, "broadcast_to", x.loc);
    if (!(joint == shape))
      Message("broadcast_to")
          .problem("an array of shape " + to_string(in[0].shape()) + " does not broadcast to " +
                   to_string(shape))
          .rule("aligned from the last axis, its extents are 1 or those of the result")
          .from(x.loc)
          .advice("insert axes of 1 with expand_dims where they are missing")
          .raise<ShapeError>();
    return detail::broadcast_to(in[0], shape);
  });
}

Array pad(Operand x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
          Operand value) {
  detail::check_stored("pad", x.array, value);
  return composite1("pad", {x.array, value.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    if (static_cast<int>(widths.size()) != in[0].rank())
      Message("pad")
          .problem(std::to_string(widths.size()) + " pairs of widths for an array of shape " +
                   to_string(in[0].shape()))
          .rule("one pair (before, after) for each of the " + std::to_string(in[0].rank()) +
                " axes")
          .from(x.loc)
          .advice("use {0, 0} for the axes that stay")
          .raise<ShapeError>();
    Ints low, high, interior(widths.size(), 0);
    for (auto [l, h] : widths) {
      low.push_back(l);
      high.push_back(h);
    }
    return ops::pad(in[0], ops::convert(in[1], in[0].dtype(), in[0].type().weak), low, high,
                    interior);
  });
}

Array flip(Operand x, AxisList axis) {
  return composite1("flip", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::reverse(in[0], detail::normalize_axes(axis.get(), in[0].rank(), "flip", x.loc));
  });
}

Array roll(Operand x, std::int64_t shift, std::optional<std::int64_t> axis) {
  return composite1("roll", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = axis ? in[0] : ops::reshape(in[0], Shape{in[0].shape().count()});
    int a = normalize_axis(axis.value_or(0), v.rank(), "roll", x.loc);
    std::int64_t n = v.shape()[static_cast<std::size_t>(a)];
    std::int64_t s = n ? ((shift % n) + n) % n : 0;
    if (s) {
      Value parts[] = {detail::slice_axis(v, a, n - s, n), detail::slice_axis(v, a, 0, n - s)};
      v = ops::concatenate(parts, a);
    }
    return ops::reshape(v, in[0].shape());
  });
}

Array tril(Operand x, std::int64_t k) {
  return composite1("tril", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return triangle(in[0], k, true, x.loc);
  });
}
Array triu(Operand x, std::int64_t k) {
  return composite1("triu", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return triangle(in[0], k, false, x.loc);
  });
}

Array diag(Operand x) {
  return composite1("diag", {x.array}, x.loc, [&](Builder& b, std::span<const Value> in) {
    Value v = in[0];
    if (v.rank() != 1 && v.rank() != 2)
      Message("diag")
          .problem("the array has shape " + to_string(v.shape()))
          .rule("a vector makes a matrix, a matrix gives its diagonal")
          .from(x.loc)
          .advice("use vmap(diag) for stacks of matrices")
          .raise<ShapeError>();
    if (v.rank() == 1) {
      std::int64_t n = v.shape()[0];
      Shape s{n, n};
      Value on = ops::eq(ops::iota(b, DType::int32, s, 0), ops::iota(b, DType::int32, s, 1));
      return ops::select(on, ops::broadcast_in_dim(v, s, {1}),
                         ops::zeros(b, Type(v.dtype(), s, v.type().weak)));
    }
    // In row-major order, the diagonal of an n x m matrix is every (m + 1)-th element.
    std::int64_t n = v.shape()[0], m = v.shape()[1], k = std::min(n, m);
    if (k == 0) return ops::reshape(v, Shape{0});
    Value flat = ops::reshape(v, Shape{n * m});
    return ops::slice(flat, {0}, {(k - 1) * (m + 1) + 1}, {m + 1});
  });
}

Array sort(Operand x, std::int64_t axis) {
  return composite1("sort", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::sort(in.subspan(0, 1), normalize_axis(axis, in[0].rank(), "sort", x.loc))[0];
  });
}
Array argsort(Operand x, std::int64_t axis) {
  return composite1("argsort", {x.array}, x.loc, [&](Builder& b, std::span<const Value> in) {
    int a = normalize_axis(axis, in[0].rank(), "argsort", x.loc);
    const std::int64_t n = in[0].shape()[static_cast<std::size_t>(a)];
    Value both[] = {in[0], ops::iota(b, detail::index_dtype(n), in[0].shape(), a)};
    return ops::sort(both, a)[1];
  });
}

TopK top_k(Operand x, std::int64_t k) {
  std::vector<Array> both =
      detail::composite("top_k", {&x.array, 1}, x.loc,
                        [&](Builder&, std::span<const Value> in) { return ops::top_k(in[0], k); });
  return {both[0], both[1]};
}

}  // namespace tessera::inline v0
