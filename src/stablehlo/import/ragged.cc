// Matrix products whose rows, or whose contracted dimension, are divided into consecutive groups.
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

namespace tessera::inline v0::stablehlo::rules {

namespace {

struct RaggedDims {
  ops::DotDims dot;
  std::int64_t ragged = 0;
  std::optional<std::int64_t> group;  // of the right operand
};

RaggedDims dims_of(Reading& r) {
  const AttributeSyntax& a = r.need("ragged_dot_dimension_numbers");
  const int left = r.in[0].rank(), right = r.in[1].rank();
  const auto checked = [&](const char* name, int rank) {
    Ints dims = r.field(a, name);
    r.check_dims(dims, rank, name);
    return dims;
  };
  RaggedDims d;
  d.dot = {checked("lhs_contracting_dimensions", left),
           checked("rhs_contracting_dimensions", right), checked("lhs_batching_dimensions", left),
           checked("rhs_batching_dimensions", right)};
  const Ints ragged = checked("lhs_ragged_dimensions", left),
             group = checked("rhs_group_dimensions", right);
  if (ragged.size() != 1)
    r.refuse("it has " + std::to_string(ragged.size()) + " ragged dimensions, and takes 1");
  if (group.size() > 1)
    r.refuse("it has " + std::to_string(group.size()) + " group dimensions, and takes 1 at most");
  d.ragged = ragged[0];
  if (!group.empty()) d.group = group[0];
  return d;
}

bool among(const Ints& dims, std::int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// Whether group g contains position i of the ragged dimension, in shape (groups, x's shape). The
// group sizes are one row for all of x, or one row for each position of the dimensions `outer` of
// x.
Value of_group(Value x, Value sizes, std::int64_t ragged, const Ints& outer) {
  const int last = sizes.rank() - 1;
  const Value wide = ops::convert(sizes, DType::int64);
  const Value end = ops::cumsum(wide, last), begin = ops::sub(end, wide);
  Ints extents{sizes.shape()[static_cast<std::size_t>(last)]};
  extents.insert(extents.end(), x.shape().begin(), x.shape().end());
  const Shape shape(extents.begin(), extents.end());
  // The dimensions of a broadcast must ascend, so the groups come first.
  Ints to{0}, order{last};
  for (const std::int64_t d : outer) to.push_back(d + 1);
  for (int d = 0; d < last; ++d) order.push_back(d);
  const auto spread = [&](Value v) {
    return ops::broadcast_in_dim(ops::transpose(v, order), shape, to);
  };
  const Value at = ops::iota(*x.builder, DType::int64, shape, static_cast<int>(ragged) + 1);
  return ops::and_(ops::ge(at, spread(begin)), ops::lt(at, spread(end)));
}

Ints shifted_by_one(Ints dims) {
  for (std::int64_t& d : dims) ++d;
  return dims;
}

}  // namespace

// The left operand is stacked once per group, with zeros outside the group, as operand of an
// ordinary product. If the right operand has a matrix per group, the product also sums over the
// groups.
Values ragged_dot(Reading& r) {
  r.need_operands(3);
  const DType result = r.result_dtype();
  Value x = r.in[0], y = r.in[1];
  const Value sizes = r.in[2];
  RaggedDims d = dims_of(r);
  if (!is_integer(sizes.dtype()) || sizes.rank() == 0)
    r.refuse("its group sizes are " + to_string(sizes.type()), "they are integers, one a group");
  if (x.dtype() != y.dtype()) x = ops::convert(x, result), y = ops::convert(y, result);
  // Groups along a batch dimension do not change the result.
  if (among(d.dot.lhs_batch, d.ragged)) return {ops::dot_general(x, y, d.dot, result)};
  const bool summed = among(d.dot.lhs_contracting, d.ragged);
  if (summed == d.group.has_value())
    r.refuse(summed ? "its ragged dimension is summed over, and the right operand has groups too"
                    : "the right operand has no dimension of groups");
  Ints outer;
  if (sizes.rank() > 1) {
    outer = d.dot.lhs_batch;
    for (int dim = 0; dim < d.ragged; ++dim)
      if (!among(d.dot.lhs_batch, dim) && among(d.dot.lhs_contracting, dim) == summed)
        outer.push_back(dim);
  }
  Ints want;
  for (const std::int64_t dim : outer) want.push_back(x.shape()[static_cast<std::size_t>(dim)]);
  want.push_back(sizes.shape().back());
  const bool each = std::is_sorted(outer.begin(), outer.end()) &&
                    Shape(want.begin(), want.end()) == sizes.shape();
  if (!each)
    r.refuse("its group sizes of " + to_string(sizes.type()) + " do not fit " +
             to_string(x.type()));
  const Value mine = of_group(x, sizes, d.ragged, outer);
  Ints behind(static_cast<std::size_t>(x.rank()));
  std::iota(behind.begin(), behind.end(), 1);
  const Value copies = ops::broadcast_in_dim(x, mine.shape(), behind);
  const Value parts = ops::select(mine, copies, ops::zeros_like(copies));
  ops::DotDims dims{shifted_by_one(d.dot.lhs_contracting), d.dot.rhs_contracting,
                    shifted_by_one(d.dot.lhs_batch), d.dot.rhs_batch};
  if (!summed) {
    dims.lhs_contracting.push_back(0);
    dims.rhs_contracting.push_back(*d.group);
    return {ops::dot_general(parts, y, dims, result)};
  }
  // The dimension of groups comes after the batch, and is moved before it.
  const Value product = ops::dot_general(parts, y, dims, result);
  Ints order(static_cast<std::size_t>(product.rank()));
  std::iota(order.begin(), order.end(), 0);
  const auto batch = static_cast<std::ptrdiff_t>(dims.lhs_batch.size());
  std::rotate(order.begin(), order.begin() + batch, order.begin() + batch + 1);
  return {ops::transpose(product, order)};
}

}  // namespace tessera::inline v0::stablehlo::rules
