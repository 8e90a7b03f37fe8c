#include "api/numpy/masked_update.h"

#include "api/trace/composite.h"
#include "api/trace/numbers.h"

#include <algorithm>

namespace tessera::inline v0::detail {

bool is_mask(const std::vector<AxisIndex>& index) {
  return index.size() == 1 && index[0].kind() == AxisIndex::Kind::array &&
         !index[0].array().is_empty() && index[0].array().dtype() == DType::boolean;
}

namespace {

void check_update(const char* name, const Shape& x, const Shape& mask, const Shape& values,
                  const Shape& inner, const SourceLoc& loc) {
  if (mask.rank() > x.rank() || !std::equal(mask.begin(), mask.end(), x.begin()))
    Message(name)
        .problem("a mask of shape " + to_string(mask) + " for an array of shape " + to_string(x))
        .rule("a mask has the shape of the array, or of its first axes")
        .from(loc)
        .advice("broadcast_to the mask, or reshape it")
        .raise<ShapeError>();
  bool fits = values.rank() <= inner.rank();
  for (int i = 1; fits && i <= values.rank(); ++i) {
    const std::int64_t n = values[static_cast<std::size_t>(values.rank() - i)];
    fits = n == 1 || n == inner[static_cast<std::size_t>(inner.rank() - i)];
  }
  if (!fits)
    Message(name)
        .problem("values of shape " + to_string(values) + " for the places that a mask of shape " +
                 to_string(mask) + " picks of an array of shape " + to_string(x))
        .rule(
            "how many places there are is not known before the program runs, so all get the "
            "same: values broadcast to the shape of one place, " +
            to_string(inner))
        .from(loc)
        .advice("where(mask, values, x) takes a value for each place, from an array of x's shape")
        .raise<ShapeError>();
}

}  // namespace

Array masked_update(const char* name, const Array& x, const Array& mask, const Operand& values,
                    double identity, Value (*combine)(Value, Value)) {
  check_stored(name, x, values);
  return composite1(
      name, {x, mask, values.array}, values.loc, [&](Builder&, std::span<const Value> in) {
        Value base = in[0];
        const Shape& shape = base.shape();
        const Shape inner(shape.begin() + std::min(in[1].rank(), shape.rank()), shape.end());
        check_update(name, shape, in[1].shape(), in[2].shape(), inner, values.loc);
        Shape aligned = in[1].shape();
        while (aligned.rank() < shape.rank()) aligned.push_back(1);
        const Value picked = broadcast_to(ops::reshape(in[1], aligned), shape);
        Value v = broadcast_to(ops::convert(in[2], base.dtype(), base.type().weak), shape);
        // Outside the mask, combine with the identity, so that an infinity in the values does not
        // affect the derivative there.
        if (combine) v = combine(base, ops::select(picked, v, ops::full_like(v, identity)));
        return ops::select(picked, v, base);
      });
}

}  // namespace tessera::inline v0::detail
