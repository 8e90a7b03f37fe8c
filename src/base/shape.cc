#include "base/message.h"

#include <tessera/shape.h>

#include <algorithm>
#include <ostream>

namespace tessera::inline v0 {

AxisList detail::BracedAxes::list() const {
  std::vector<std::int64_t> axes{axis_0.axis};
  for (const Other& a : {axis_1, axis_2, axis_3, axis_4, axis_5, axis_6, axis_7})
    if (a) axes.push_back(*a);
  return axes;
}

Shape Shape::strides() const {
  Shape s;
  s.resize(size());
  std::int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    s[i] = step;
    step *= (*this)[i];
  }
  return s;
}

std::int64_t Shape::count_of_large() const {
  if (std::find(begin(), end(), 0) != end()) return 0;
  Message("count")
      .problem("the shape " + to_string(*this) + " has more elements than an integer counts")
      .rule("the product of the extents is less than 2^63")
      .advice("check the arithmetic that gave its extents")
      .raise<ShapeError>();
}

void need_countable(std::string_view function, const Shape& shape, const SourceLoc& loc) {
  // Kernels, printing and derivatives nest one loop per dimension; NumPy has the same limit.
  constexpr int kMostDims = 64;
  if (shape.rank() > kMostDims)
    Message(function)
        .problem("the result would have " + std::to_string(shape.rank()) + " dimensions")
        .rule("an array has at most " + std::to_string(kMostDims) + " dimensions")
        .from(loc)
        .advice("merge dimensions of extent 1 with reshape or squeeze")
        .raise<ShapeError>();
  constexpr double kMost = 0x1p50;
  double count = 1;
  for (std::int64_t d : shape) {
    if (d == 0) return;
    count *= static_cast<double>(d);
  }
  if (count > kMost)
    Message(function)
        .problem("the result would have shape " + to_string(shape))
        .rule("an array has at most 2^50 elements")
        .from(loc)
        .advice("check the arithmetic that gave its extents")
        .raise<ShapeError>();
}

void Shape::require_rank(std::size_t rank, std::source_location loc) const {
  if (size() == rank) return;
  Message("Shape::unpack")
      .problem("the shape " + to_string(*this) + " has " + std::to_string(size()) +
               (size() == 1 ? " extent" : " extents") + ", and " + std::to_string(rank) +
               (rank == 1 ? " is" : " are") + " asked for")
      .rule("there are as many names as axes")
      .from(loc)
      .advice(empty() ? "a scalar has no extents" : "unpack<" + std::to_string(size()) + ">()")
      .raise<ShapeError>();
}

std::string to_string(const Shape& shape) {
  std::string s = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + (shape.size() == 1 ? ",)" : ")");
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* function, const SourceLoc& loc) {
  int rank = std::max(a.rank(), b.rank());
  Shape out;
  out.resize(static_cast<std::size_t>(rank));
  for (int i = 1; i <= rank; ++i) {
    std::int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1)
      Message(function)
          .problem("shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast: axis -" +
                   std::to_string(i) + " has " + std::to_string(x) + " and " + std::to_string(y) +
                   " elements")
          .rule("aligned from the last axis, extents are equal or one of them is 1")
          .from(loc)
          .advice(
              "reshape one of them so that the axes line up, or insert axes of 1 with expand_dims")
          .raise<ShapeError>();
    out[rank - i] = x == 1 ? y : x;
  }
  return out;
}

int normalize_axis(std::int64_t axis, int rank, const char* function, const SourceLoc& loc) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  Message(function)
      .problem("axis " + std::to_string(axis) + " does not exist in an array of " +
               std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions"))
      .rule(rank == 0 ? "a scalar has no axes"
                      : "an axis is at least -" + std::to_string(rank) + " and less than " +
                            std::to_string(rank))
      .from(loc)
      .advice(rank == 0 ? "give the array an axis with reshape or expand_dims"
                        : "count axes from 0, or from the end with -1")
      .raise<ShapeError>();
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* function) {
  return broadcast_shapes(a, b, function, {});
}
int normalize_axis(std::int64_t axis, int rank, const char* function) {
  return normalize_axis(axis, rank, function, {});
}

}  // namespace tessera::inline v0
