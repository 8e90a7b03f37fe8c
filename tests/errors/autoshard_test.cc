// Requests to the search for shardings that it cannot meet.
#include "errors/misuse.h"

namespace {
ts::Mesh small_mesh() { return ts::Mesh::abstract({{"data", 2}, {"model", 2}}); }
struct Model {
  Array w1, w2;
};
Model large() {
  return {ts::abstract(ts::f32, {4096, 16384}), ts::abstract(ts::f32, {16384, 4096})};
}
Array apply(Model m, Array x) { return ts::dot(ts::tanh(ts::dot(x, m.w1)), m.w2); }
}  // namespace

MISUSE(more_than_the_devices_hold) {
  const Array x = ts::abstract(ts::f32, {64, 4096});
  ts::autoshard(apply, {.mesh = small_mesh(), .memory_limit = 100'000'000})(large(), x);
}
MISUSE(shardings_for_no_mesh) { ts::autoshard(apply)(large(), ts::abstract(ts::f32, {64, 4096})); }
MISUSE(memory_below_nothing) {
  ts::autoshard(apply, {.mesh = small_mesh(), .memory_limit = -1})(
      large(), ts::abstract(ts::f32, {64, 4096}));
}
