#include "api/devices/pipeline/leaves.h"

#include <tessera/at.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/operators.h>
#include <tessera/tree.h>

namespace tessera::inline v0::detail {

Leaves floats_of(const Leaves& all) {
  Leaves out;
  for (const Array& x : all)
    if (is_differentiable(x.dtype())) out.push_back(x);
  return out;
}

Leaves with_floats(Leaves all, const Leaves& floats) {
  std::size_t next = 0;
  for (Array& x : all)
    if (is_differentiable(x.dtype())) x = floats[next++];
  return all;
}

Leaves zeros_of(const Leaves& like) {
  return tree::map([](const Array& x) { return zeros_like(x); }, like);
}

Leaves sums_of(const Leaves& a, const Leaves& b) {
  return tree::map([](const Array& x, const Array& y) { return x + y; }, a, b);
}

Leaves quotients_of(const Leaves& a, double b) {
  return tree::map([&](const Array& x) { return x / b; }, a);
}

Leaves chosen(const Array& condition, const Leaves& a, const Leaves& b) {
  return tree::map([&](const Array& x, const Array& y) { return where(condition, x, y); }, a, b);
}

Leaves rows_at(const Leaves& stacked, const Array& i) {
  return tree::map([&](const Array& x) { return x[i]; }, stacked);
}

Leaves with_rows(const Leaves& stacked, const Array& i, const Array& condition,
                 const Leaves& rows) {
  return tree::map(
      [&](const Array& x, const Array& r) { return x.at(i).set(where(condition, r, x[i])); },
      stacked, rows);
}

Leaves stacks_of(const Leaves& row, std::int64_t n) {
  Leaves out;
  for (const Array& x : row) {
    Shape shape = x.shape();
    shape.insert(shape.begin(), n);
    out.push_back(zeros(shape, x.dtype()));
  }
  return out;
}

Leaves in_microbatches(const Leaves& rows, std::int64_t microbatches) {
  Leaves out;
  for (const Array& x : rows) {
    Shape shape = x.shape();
    shape[0] /= microbatches;
    shape.insert(shape.begin(), microbatches);
    out.push_back(x.reshape(shape));
  }
  return out;
}

Leaves in_rows(const Leaves& microbatches) {
  Leaves out;
  for (const Array& x : microbatches) out.push_back(merge_leading(x));
  return out;
}

}  // namespace tessera::inline v0::detail
