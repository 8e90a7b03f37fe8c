#include "api/numpy/mask_positions.h"

#include "api/numpy/indexing.h"

#include <tessera/at.h>
#include <tessera/operators.h>

#include <algorithm>

namespace tessera::inline v0::detail {

MaskPositions mask_positions(const Array& mask, std::int64_t size) {
  const std::int64_t n = mask.size();
  const DType dtype = index_dtype(std::max(n, size));
  if (n == 0 || size == 0) return {zeros({size}, dtype), zeros({size}, DType::boolean)};
  const Array before = cumsum(astype(mask, dtype), 0);
  // Elements that are not selected or exceed `size` get slot `size`, where the scatter drops them.
  const Array slot = where(mask, subtract(before, 1), size);
  const Array positions = At(zeros({size}, dtype), {AxisIndex(slot)}).set(v0::arange(n, dtype));
  return {positions, less(v0::arange(size), element_of(before, 0, -1))};
}

std::int64_t result_size(const char* function, std::span<const Array> xs,
                         const std::optional<std::int64_t>& size, const SourceLoc& loc,
                         const std::function<Array()>& count, const char* option) {
  const InFunction called(function, loc);
  if (size && *size < 0)
    Message(function)
        .problem("the size is " + std::to_string(*size))
        .rule("it is 0 or more")
        .from(loc)
        .advice("count_nonzero counts what a mask chooses")
        .raise<ShapeError>();
  if (size) return *size;
  const bool known = std::all_of(xs.begin(), xs.end(), [&](const Array& x) {
    check_usable(need(x, function, loc), function, loc);
    return x.is_concrete();
  });
  if (!known || Trace::innermost())
    Message(function)
        .problem(
            "the size of the result depends on values, which are not known while a function "
            "is traced")
        .rule("in traced functions the size is given: more is cut off, fewer are filled up")
        .from(loc)
        .advice("{." + std::string(option) + " = n}, with n the most that there may be")
        .raise<TraceError>();
  return count().item<std::int64_t>();
}

Array filled(const Array& values, const Array& valid, const Array& fill) {
  Shape s(std::vector<std::int64_t>(values.shape().size(), 1));
  s[0] = valid.size();
  return where(valid.reshape(s), values, astype(fill, values.dtype()));
}

}  // namespace tessera::inline v0::detail
