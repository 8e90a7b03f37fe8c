#include "api/numpy/array_helpers.h"

namespace tessera::inline v0::detail {

Array part_of(const Array& x, int axis, std::int64_t start, std::int64_t limit, std::int64_t step) {
  std::vector<AxisIndex> index(static_cast<std::size_t>(axis), AxisIndex(all));
  index.emplace_back(Range{start, limit, step});
  return x.get(index);
}
Array element_of(const Array& x, int axis, std::int64_t position) {
  std::vector<AxisIndex> index(static_cast<std::size_t>(axis), AxisIndex(all));
  index.emplace_back(position);
  return x.get(index);
}

Array in_floats(const Array& x) {
  const DType d = x.dtype();
  if (is_inexact(d)) return x;
  if (x.weak_type()) return multiply(x, 1.0);
  return astype(x, d == DType::int64 || d == DType::uint64 ? DType::float64 : DType::float32);
}
std::pair<Array, Array> both_in_floats(const Array& x, const Array& y) {
  const Promoted p = promote(x.dtype(), x.weak_type(), y.dtype(), y.weak_type());
  if (p.weak) return {in_floats(x), in_floats(y)};
  const bool wide = p.dtype == DType::int64 || p.dtype == DType::uint64;
  const DType d = is_inexact(p.dtype) ? p.dtype : wide ? DType::float64 : DType::float32;
  return {astype(x, d), astype(y, d)};
}

std::vector<Array> promoted(const std::vector<Array>& xs) {
  Promoted p{xs[0].dtype(), xs[0].weak_type()};
  for (const Array& x : xs) p = promote(p.dtype, p.weak, x.dtype(), x.weak_type());
  std::vector<Array> out;
  for (const Array& x : xs)
    out.push_back(x.dtype() == p.dtype && !x.weak_type() ? x : astype(x, p.dtype));
  return out;
}

Array along(const Array& x, int axis, int rank) {
  Shape shape(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
  shape[static_cast<std::size_t>(axis)] = x.size();
  return x.reshape(shape);
}

namespace {
std::string list_of_axes(int rank) {
  return std::to_string(rank) + (rank == 1 ? " axis" : " axes");
}
}  // namespace

std::string counted(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

void need_rank_at_least(const char* function, const Array& x, int rank, const SourceLoc& loc) {
  if (rank_of(x) >= rank) return;
  Message(function)
      .problem("the array has shape " + to_string(x.shape()))
      .rule("it has at least " + list_of_axes(rank) + ", this one has " +
            std::to_string(rank_of(x)))
      .from(loc)
      .advice("give it more axes with reshape or expand_dims")
      .raise<ShapeError>();
}
void need_rank(const char* function, const Array& x, int rank, const SourceLoc& loc) {
  if (rank_of(x) == rank) return;
  Message(function)
      .problem("an operand has shape " + to_string(x.shape()))
      .rule("it has " + list_of_axes(rank) + ", this one has " + std::to_string(rank_of(x)))
      .from(loc)
      .advice(rank == 1 ? "flatten it with ravel, or map the function over the other axes with vmap"
                        : "change its shape with reshape, or map the function with vmap")
      .raise<ShapeError>();
}
void need_some(const char* function, const std::vector<Array>& xs, const SourceLoc& loc) {
  if (!xs.empty()) return;
  Message(function)
      .problem("there are no arrays")
      .rule("at least one is needed: it gives the dtype and the shape")
      .from(loc)
      .advice("pass one, or make an empty result with zeros")
      .raise<ShapeError>();
}
void need_real(const char* function, const Array& x, const SourceLoc& loc) {
  if (!is_complex(x.dtype())) return;
  Message(function)
      .problem("an operand has dtype " + std::string(name_of(x.dtype())))
      .rule("it takes real numbers")
      .from(loc)
      .advice("take real(x), imag(x) or abs(x)")
      .raise<DTypeError>();
}
void need_integer(const char* function, const Array& x, const SourceLoc& loc) {
  if (!is_inexact(x.dtype())) return;
  Message(function)
      .problem("an operand has dtype " + std::string(name_of(x.dtype())))
      .rule("it takes integers")
      .from(loc)
      .advice("convert with astype(ts::i32)")
      .raise<DTypeError>();
}

}  // namespace tessera::inline v0::detail
