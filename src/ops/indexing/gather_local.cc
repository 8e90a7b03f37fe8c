// The local rule of gather.
#include "ops/indexing/gather_rules.h"
#include "ops/indexing/index_parts.h"
#include "ops/local.h"

namespace tessera::inline v0::ops {

// Along a sharded dimension that is indexed, each device looks up the slices in its shard, with
// indices relative to the shard's start, and returns a neutral value elsewhere; the sum over the
// devices is the result. For slices that may straddle shards, the shard is padded on both sides by
// the size of a slice. The values that "fill" and "zero" give to slices out of bounds are
// contributed by the first device.
Values gather_local(const LocalArgs& a) {
  const Shape &whole = a.whole_inputs[0].shape, &part = a.inputs[0].shape(), &out = a.outputs[0];
  const GatherDims dims = gather_dims(a.attrs);
  const std::string& mode = a.attrs.str("mode");
  const Ints& whole_sizes = a.attrs.ints("slice_sizes");
  Ints sizes = whole_sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] == whole[d]) sizes[d] = part[d];
  if (a.partial.empty()) return {gather(a.inputs[0], a.inputs[1], dims, sizes, mode)};

  const int vector_dim = static_cast<int>(dims.index_vector_dim);
  Values places = index_components(a.inputs[1], vector_dim);
  std::optional<Value> inside, mine;
  auto also = [](std::optional<Value>& all, Value one) { all = all ? and_(*all, one) : one; };
  const Ints none(part.size(), 0);
  Ints room = none;
  bool shared_out = false;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::int64_t map = dims.start_index_map[k];
    const auto d = static_cast<std::size_t>(map);
    const std::int64_t size = whole_sizes[d], last = whole[d] - size;
    also(inside, lies_inside(places[k], last));
    places[k] = moved_inside(places[k], last);
    if (part[d] == whole[d] || size == whole[d]) continue;
    shared_out = true;
    const Strings& axes = a.input_specs[0].axes_of(static_cast<int>(map));
    places[k] = from_part(places[k], axes, a.parts(axes), part[d]);
    if (size == 1) {
      also(mine, lies_inside(places[k], part[d] - 1));
      places[k] = moved_inside(places[k], part[d] - 1);
    } else {
      room[d] = size;
      places[k] = moved_inside(add(places[k], full_like(places[k], static_cast<double>(size))),
                               part[d] + size);
    }
  }
  if (!shared_out)
    throw InternalError("a gather is divided along a dimension that it does not look up");
  const DType dtype = a.inputs[0].dtype();
  // The neutral element of floating addition is -0, which leaves even another -0 unchanged.
  const Value neutral = constant(a.b, neutral_literal(dtype, Combiner::add));
  Value x = a.inputs[0];
  if (room != none) x = pad(x, neutral, room, room, none);
  Value found = gather(x, index_vectors(places, vector_dim), dims, sizes, "clip");

  const WindowDimsOf w = window_dims_of(dims, out.rank(), part.rank(), a.inputs[1].rank());
  auto where = [&](Value mask) { return broadcast_in_dim(mask, out, w.batch); };
  const Value nothing = everywhere(neutral, out);
  if (mine) found = select(where(*mine), found, nothing);
  if (mode == "clip") return {found};
  Value outside =
      mode == "fill" ? everywhere(constant(a.b, fill_value(dtype)), out) : full(a.b, dtype, out, 0);
  Value first = everywhere(is_first(a.b, a.partial, a.partial_size), inside->shape());
  return {select(where(*inside), found, select(where(first), outside, nothing))};
}

}  // namespace tessera::inline v0::ops
