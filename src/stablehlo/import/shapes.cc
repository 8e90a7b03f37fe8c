// Operations that move elements without computing.
#include "ir/op.h"
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::stablehlo::rules {

namespace {

void keep_known(Reading& r, Value from, Value to) {
  if (const Known* k = r.known(from); k && !(from == to) && k->literal.shape.count() == 1)
    r.scope.level().know(to, {{k->literal.dtype, Shape(), k->literal.bytes}, to.shape()});
}

// The start indices that follow the first `skip` operands, one per dimension.
Values starts(Reading& r, std::size_t skip, int rank) {
  if (r.in.size() != skip + static_cast<std::size_t>(rank))
    r.refuse("it has " + std::to_string(r.in.size() - std::min(skip, r.in.size())) +
             " start indices, and takes " + std::to_string(rank));
  return Values(r.in.begin() + static_cast<std::ptrdiff_t>(skip), r.in.end());
}

}  // namespace

Values broadcast_in_dim(Reading& r) {
  if (r.in.empty()) r.refuse("it has no operand");
  const Value x = r.in[0];
  const Ints dims = r.ints("broadcast_dimensions");
  const Shape shape = r.result_shape(1);
  if (dims.size() != static_cast<std::size_t>(x.rank()))
    r.refuse("it has " + std::to_string(dims.size()) + " broadcast_dimensions for an operand of " +
             std::to_string(x.rank()) + " dimensions");
  r.check_dims(dims, shape.rank(), "broadcast_dimensions");
  const Value y = ops::broadcast_in_dim(x, shape, dims);
  keep_known(r, x, y);
  return {y};
}

Values broadcast(Reading& r) {
  r.need_operands(1);
  Ints dims(static_cast<std::size_t>(r.in[0].rank()));
  std::iota(dims.begin(), dims.end(), static_cast<std::int64_t>(r.ints("broadcast_sizes").size()));
  const Shape shape = r.result().shape;
  r.check_dims(dims, shape.rank(), "broadcast_sizes");
  return {ops::broadcast_in_dim(r.in[0], shape, dims)};
}

Values reshape(Reading& r) {
  if (r.in.empty()) r.refuse("it has no operand");
  const Value y = ops::reshape(r.in[0], r.result_shape(1));
  keep_known(r, r.in[0], y);
  return {y};
}

Values transpose(Reading& r) {
  r.need_operands(1);
  const Ints permutation = r.ints("permutation");
  r.check_dims(permutation, r.in[0].rank(), "permutation");
  if (permutation.size() != static_cast<std::size_t>(r.in[0].rank()))
    r.refuse("the permutation has " + std::to_string(permutation.size()) +
             " dimensions, and the operand " + std::to_string(r.in[0].rank()));
  return {ops::transpose(r.in[0], permutation)};
}

Values reverse(Reading& r) {
  r.need_operands(1);
  Ints dims = r.ints("dimensions");
  r.check_dims(dims, r.in[0].rank(), "dimensions");
  std::sort(dims.begin(), dims.end());
  return {dims.empty() ? r.in[0] : ops::reverse(r.in[0], dims)};
}

Values concatenate(Reading& r) {
  if (r.in.empty()) r.refuse("it has no operand");
  const std::int64_t d = r.integer("dimension");
  r.check_dims({d}, r.in[0].rank(), "dimension");
  return {ops::concatenate(r.in, static_cast<int>(d))};
}

Values slice(Reading& r) {
  r.need_operands(1);
  return {ops::slice(r.in[0], r.ints("start_indices"), r.ints("limit_indices"), r.ints("strides"))};
}

// Supports data-dependent starts if the size is known: the limits are the starts plus that size.
Values real_dynamic_slice(Reading& r) {
  r.need_operands(4);
  if (!r.known_integers(r.in[1])) {
    const Equation* e = r.scope.level().made_by(r.in[2]);
    const std::optional<Ints> strides = r.known_integers(r.in[3]);
    const auto rank = static_cast<std::size_t>(r.in[0].rank());
    if (e && e->op->stablehlo == "add" && strides == Ints(rank, 1))
      for (const int k : {0, 1}) {
        const std::optional<Ints> sizes =
            r.known_integers({&r.b, e->inputs[static_cast<std::size_t>(1 - k)]});
        if (e->inputs[static_cast<std::size_t>(k)] != r.in[1].var || !sizes) continue;
        Values starts;
        for (std::int64_t d = 0; d < r.in[0].rank(); ++d)
          starts.push_back(ops::reshape(ops::slice(r.in[1], {d}, {d + 1}, {1}), Shape{}));
        return {ops::dynamic_slice(r.in[0], starts, *sizes)};
      }
  }
  return {ops::slice(r.in[0], r.settled(1), r.settled(2), r.settled(3))};
}

Values dynamic_slice(Reading& r) {
  if (r.in.empty()) r.refuse("it has no operand");
  return {ops::dynamic_slice(r.in[0], starts(r, 1, r.in[0].rank()), r.ints("slice_sizes"))};
}

Values dynamic_update_slice(Reading& r) {
  if (r.in.size() < 2) r.refuse("it has no update");
  return {ops::dynamic_update_slice(r.in[0], r.in[1], starts(r, 2, r.in[0].rank()))};
}

Values pad(Reading& r) {
  r.need_operands(2);
  return {ops::pad(r.in[0], r.in[1], r.ints("edge_padding_low"), r.ints("edge_padding_high"),
                   r.ints("interior_padding"))};
}

Values dynamic_pad(Reading& r) {
  r.need_operands(5);
  return {ops::pad(r.in[0], r.in[1], r.settled(2), r.settled(3), r.settled(4))};
}

Values get_dimension_size(Reading& r) {
  r.need_operands(1);
  const std::int64_t d = r.integer("dimension");
  r.check_dims({d}, r.in[0].rank(), "dimension");
  return {r.scope.level().write(
      {scalar_literal(DType::int32, r.in[0].shape()[static_cast<std::size_t>(d)]), Shape()})};
}

}  // namespace tessera::inline v0::stablehlo::rules
