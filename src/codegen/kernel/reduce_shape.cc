#include "codegen/kernel/reduce_shape.h"

#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

namespace {
constexpr std::int64_t kLaneChunk = 16384;  // elements: 64 KB of float32
constexpr std::int64_t kRowChunk = 1024;    // rows per task

// The reduced axes of an equation whose box has exactly these dimensions.
const Ints* reduced_axes(const Equation& eqn) {
  const AttrValue* a = eqn.attrs.find("axes");
  return a ? std::get_if<Ints>(a) : nullptr;
}
}  // namespace

int halvings(std::int64_t rows, std::int64_t leaf) {
  int n = 0;
  for (; rows > leaf && rows % 2 == 0; rows /= 2) ++n;
  return n;
}

std::int64_t ReduceShape::count() const {
  std::int64_t n = 1;
  for (std::int64_t e : extents) n *= e;
  return n;
}

std::int64_t ReduceShape::chunks() const {
  std::int64_t n = extents.empty() ? 1 : blocks();
  for (std::size_t d = 0; d < chunk_dim; ++d) n *= extents[d];
  return n;
}

bool reduces_minor(const Program& p, const Equation& eqn) {
  const Ints* axes = reduced_axes(eqn);
  if (!axes || eqn.inputs.empty() || axes->empty()) return false;
  const Shape& shape = p.type(eqn.inputs[0]).shape;
  int minor = shape.rank() - 1;
  while (minor > 0 && shape[static_cast<std::size_t>(minor)] == 1) --minor;
  return std::find(axes->begin(), axes->end(), minor) != axes->end();
}

ReduceShape reduce_shape(const Program& p, const Equation& eqn,
                         std::span<const std::int64_t> extents) {
  ReduceShape r;
  const Ints* axes = reduced_axes(eqn);
  bool whole_axes = axes && axes->size() == extents.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (whole_axes && i > 0 && (*axes)[i] == (*axes)[i - 1] + 1) {
      r.extents.back() *= extents[i];
      ++r.merged.back();
    } else {
      r.extents.push_back(extents[i]);
      r.merged.push_back(1);
    }
  }
  if (r.extents.empty()) return r;
  r.lanes = whole_axes && reduces_minor(p, eqn);
  r.chunk_length = r.extents[0];
  if (!whole_axes) return r;
  std::int64_t limit = r.lanes ? kLaneChunk : kRowChunk, within = 1;
  int tree = r.lanes ? 0 : halvings(r.extents[0]);
  std::size_t d = r.extents.size();
  while (d > 0 && within * r.extents[d - 1] <= limit) within *= r.extents[--d];
  if (d == 0) {  // one chunk
    r.inner = tree;
    return r;
  }
  r.chunk_dim = d - 1;
  r.chunk_length = std::max<std::int64_t>(1, limit / within);
  if (d > 1) {
    r.outer = tree;
    return r;
  }
  while (r.outer < tree && (r.extents[0] >> r.outer) > r.chunk_length) ++r.outer;
  if ((r.extents[0] >> r.outer) <= r.chunk_length) r.chunk_length = r.extents[0] >> r.outer;
  r.inner = r.part() == r.chunk_length ? tree - r.outer : 0;
  return r;
}

int reduce_lanes(const Equation& eqn, DType accumulator, std::int64_t last_extent) {
  int lanes = size_of(accumulator) >= 8 ? 16 : 32;
  // A comparison that preserves NaN has three times the latency of an addition.
  if (eqn.op->combiner == Combiner::max || eqn.op->combiner == Combiner::min) lanes *= 2;
  int needed = 1;
  while (needed < last_extent && needed < lanes) needed *= 2;
  return needed;
}

}  // namespace tessera::inline v0::codegen
