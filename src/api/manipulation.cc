#include <tessera/manipulation.h>

#include "api/composite.h"

#include <algorithm>

namespace tessera::inline v0 {

using detail::composite;
using detail::composite1;

namespace {

Shape infer_shape(const Shape& from, Shape shape, const SourceLoc& loc) {
  std::int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[static_cast<std::size_t>(i)] == -1 && unknown < 0)
      unknown = i;
    else
      known *= shape[static_cast<std::size_t>(i)];
  }
  bool negative = std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < -1; }) ||
                  std::count(shape.begin(), shape.end(), -1) > 1;
  std::int64_t n = from.count();
  bool fits = unknown < 0 ? known == n : known > 0 && n % known == 0;
  if (negative || !fits) {
    std::string arithmetic = std::to_string(n) + " elements do not fill ";
    arithmetic += unknown < 0 || known < 1
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

Value slice_axis(Value x, int axis, std::int64_t start, std::int64_t limit) {
  Ints s(static_cast<std::size_t>(x.rank()), 0), l = x.shape().to_vector(),
                                                 step(static_cast<std::size_t>(x.rank()), 1);
  s[static_cast<std::size_t>(axis)] = start;
  l[static_cast<std::size_t>(axis)] = limit;
  return ops::slice(x, s, l, step);
}

void promote_all(Values& xs) {
  DType d = xs[0].dtype();
  bool weak = xs[0].type().weak;
  for (const Value& v : xs) {
    Promoted p = promote(d, weak, v.dtype(), v.type().weak);
    d = p.dtype;
    weak = p.weak;
  }
  for (Value& v : xs) v = ops::convert(v, d, weak);
}

void refuse_empty_list(const char* name, const std::vector<Array>& xs, const SourceLoc& loc) {
  if (!xs.empty()) return;
  Message(name)
      .problem("there are no arrays to join")
      .rule("at least one is needed: it gives the dtype and the shape")
      .from(loc)
      .advice("pass one, or make an empty result with zeros")
      .raise<ShapeError>();
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
  Value row = ops::iota(b, DType::int32, matrix, 0), column = ops::iota(b, DType::int32, matrix, 1);
  Value edge = ops::add(row, ops::full_like(row, static_cast<double>(k)));
  Value keep = lower ? ops::ge(edge, column) : ops::le(edge, column);
  return ops::select(detail::broadcast_to(keep, x.shape()), x, ops::zeros_like(x));
}

// Outside traces, n times one array along a new first axis is stored once: how models are
// replicated over devices. Empty where that does not apply.
Array stacked_once(const Array& x, std::int64_t n) {
  if (n < 2 || detail::Trace::innermost() || !x.is_concrete() || x.weak_type() || x.is_deleted())
    return {};
  auto data = runtime::stack_of_one(detail::data_of(*x.impl()), n);
  return data ? detail::make_concrete(std::move(data)) : Array();
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
Array ravel(Operand x) { return reshape(std::move(x), Shape{-1}); }
Array Array::flatten(std::source_location loc) const {
  return v0::reshape(Operand(*this, loc), Shape{-1});
}

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
Array Array::transpose(std::source_location loc) const {
  return v0::transpose(Operand(*this, loc));
}

Array swapaxes(Operand x, std::int64_t a, std::int64_t b) {
  int rank = detail::need(x.array, "swapaxes").type.shape.rank();
  Ints p = identity(rank);
  std::swap(p[static_cast<std::size_t>(normalize_axis(a, rank, "swapaxes", x.loc))],
            p[static_cast<std::size_t>(normalize_axis(b, rank, "swapaxes", x.loc))]);
  return p.empty() ? x.array : transpose(std::move(x), p);
}
Array moveaxis(Operand x, std::int64_t source, std::int64_t destination) {
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
  const Shape& from = detail::need(x.array, "broadcast_to").type.shape;
  if (shape.rank() == from.rank() + 1 && std::equal(from.begin(), from.end(), shape.begin() + 1))
    if (Array once = stacked_once(x.array, shape[0]); !once.is_empty()) return once;
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

Array concatenate(const std::vector<Array>& xs, std::int64_t axis, std::source_location loc) {
  refuse_empty_list("concatenate", xs, loc);
  return composite1("concatenate", xs, loc, [&](Builder&, std::span<const Value> in) {
    Values vs(in.begin(), in.end());
    promote_all(vs);
    return ops::concatenate(vs, normalize_axis(axis, vs[0].rank(), "concatenate", loc));
  });
}

Array stack(const std::vector<Array>& xs, std::int64_t axis, std::source_location loc) {
  refuse_empty_list("stack", xs, loc);
  for (const Array& x : xs)
    if (x.shape() != xs[0].shape())
      Message("stack")
          .problem("the arrays have shapes " + to_string(xs[0].shape()) + " and " +
                   to_string(x.shape()))
          .rule("stacked arrays have one shape")
          .from(loc)
          .advice("concatenate joins along an axis that exists")
          .raise<ShapeError>();
  bool one =
      std::all_of(xs.begin(), xs.end(), [&](const Array& x) { return x.impl() == xs[0].impl(); });
  int at = normalize_axis(axis, xs[0].ndim() + 1, "stack", loc);
  // n times the same array is a broadcast, which the runtime stores once.
  if (one && at == 0)
    if (Array once = stacked_once(xs[0], static_cast<std::int64_t>(xs.size())); !once.is_empty())
      return once;
  if (one && xs.size() > 1)
    return composite1("stack", {xs[0]}, loc, [&](Builder&, std::span<const Value> in) {
      Shape shape = in[0].shape();
      shape.insert(shape.begin() + at, static_cast<std::int64_t>(xs.size()));
      Ints dims;
      for (int i = 0; i < in[0].rank(); ++i) dims.push_back(i < at ? i : i + 1);
      return ops::broadcast_in_dim(in[0], shape, dims);
    });
  return composite1("stack", xs, loc, [&](Builder&, std::span<const Value> in) {
    Values vs(in.begin(), in.end());
    promote_all(vs);
    for (Value& v : vs) v = detail::keep_dims(v, {at});
    return ops::concatenate(vs, at);
  });
}

std::vector<Array> split(Operand x, std::int64_t parts, std::int64_t axis) {
  const Shape& shape = detail::need(x.array, "split").type.shape;
  int a = normalize_axis(axis, shape.rank(), "split", x.loc);
  std::int64_t n = shape[static_cast<std::size_t>(a)];
  if (parts < 1 || n % parts)
    Message("split")
        .problem("axis " + std::to_string(a) + " of shape " + to_string(shape) +
                 " does not split into " + std::to_string(parts) + " parts")
        .rule(parts < 1 ? "there is at least one part"
                        : std::to_string(n) + " = " + std::to_string(parts) + " x " +
                              std::to_string(n / parts) + " + " + std::to_string(n % parts) +
                              ": the parts would differ")
        .from(x.loc)
        .advice("use split_at with the positions where parts begin")
        .raise<ShapeError>();
  std::vector<std::int64_t> at;
  for (std::int64_t i = 1; i < parts; ++i) at.push_back(i * (n / parts));
  return split_at(std::move(x), at, a);
}

std::vector<Array> split_at(Operand x, const std::vector<std::int64_t>& positions,
                            std::int64_t axis) {
  return composite("split", {&x.array, 1}, x.loc, [&](Builder&, std::span<const Value> in) {
    int a = normalize_axis(axis, in[0].rank(), "split", x.loc);
    std::int64_t n = in[0].shape()[static_cast<std::size_t>(a)], start = 0;
    Values out;
    for (std::size_t i = 0; i <= positions.size(); ++i) {
      std::int64_t end =
          i < positions.size()
              ? std::clamp<std::int64_t>(positions[i] < 0 ? positions[i] + n : positions[i], 0, n)
              : n;
      out.push_back(slice_axis(in[0], a, std::min(start, end), end));
      start = end;
    }
    return out;
  });
}

Array tile(Operand x, const std::vector<std::int64_t>& reps) {
  return composite1("tile", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = in[0];
    Shape shape = v.shape();
    if (std::any_of(reps.begin(), reps.end(), [](std::int64_t n) { return n < 0; }))
      Message("tile")
          .problem("the repetitions are " + to_string(Shape(reps)))
          .rule("each is 0 or more, one for each axis, the last axes first where there are fewer")
          .from(x.loc)
          .advice("tile(x, {2}) repeats x twice along its last axis")
          .raise<ShapeError>();
    std::vector<std::int64_t> r = reps;
    while (static_cast<int>(r.size()) < shape.rank()) r.insert(r.begin(), 1);
    while (shape.rank() < static_cast<int>(r.size())) shape.insert(shape.begin(), 1);
    Shape wide, merged;
    Ints dims;
    for (std::size_t i = 0; i < r.size(); ++i) {
      wide.push_back(r[i]);
      wide.push_back(shape[i]);
      dims.push_back(static_cast<std::int64_t>(2 * i + 1));
      merged.push_back(r[i] * shape[i]);
    }
    return ops::reshape(ops::broadcast_in_dim(ops::reshape(v, shape), wide, dims), merged);
  });
}

Array repeat(Operand x, std::int64_t n, std::int64_t axis) {
  return composite1("repeat", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    int a = normalize_axis(axis, in[0].rank(), "repeat", x.loc);
    if (n < 0)
      Message("repeat")
          .problem("each element is to be repeated " + std::to_string(n) + " times")
          .rule("a number of repetitions is 0 or more")
          .from(x.loc)
          .advice("repeat(x, 2) gives each element twice")
          .raise<ShapeError>();
    Shape wide = in[0].shape(), merged = wide;
    wide.insert(wide.begin() + a + 1, n);
    merged[static_cast<std::size_t>(a)] *= n;
    Ints dims;
    for (int i = 0; i < in[0].rank(); ++i) dims.push_back(i <= a ? i : i + 1);
    return ops::reshape(ops::broadcast_in_dim(in[0], wide, dims), merged);
  });
}

Array pad(Operand x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
          Operand value) {
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
      Value parts[] = {slice_axis(v, a, n - s, n), slice_axis(v, a, 0, n - s)};
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
      return ops::select(on, ops::broadcast_in_dim(v, s, {1}), ops::zeros(b, Type(v.dtype(), s)));
    }
    // Row-major, the diagonal of an n x m matrix is every (m + 1)-th element.
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
    Value both[] = {in[0], ops::iota(b, DType::int32, in[0].shape(), a)};
    return ops::sort(both, a)[1];
  });
}

}  // namespace tessera::inline v0
