// The local rule of scatters.
#include "ops/indexing/index_parts.h"
#include "ops/indexing/scatter_rules.h"
#include "ops/local.h"

#include <algorithm>

namespace tessera::inline v0::ops {

// Along a sharded dimension that is indexed, each device applies the updates that fall into its
// shard, with indices relative to the shard's start. For windows that may straddle shards, the
// shard is padded on both sides by the size of a window, and the padding is removed afterwards. If
// devices share the updates, a sum counts the operand once, on the first device; for minima and
// maxima it may count several times.
Values scatter_local(const LocalArgs& a) {
  const Shape &whole = a.whole_inputs[0].shape, &part = a.inputs[0].shape(),
              &updates = a.whole_inputs[2].shape;
  const ScatterDims dims = scatter_dims(a.attrs);
  Value x = a.inputs[0], indices = a.inputs[1];
  std::string mode = a.attrs.str("mode");
  if (!a.partial.empty() && a.op.combiner == Combiner::add)
    x = select(everywhere(is_first(a.b, a.partial, a.partial_size), part), x, zeros_like(x));

  Ints window(whole.size(), 1);  // extents of the updates' windows, for each dimension
  const WindowDimsOf w =
      window_dims_of(dims, updates.rank(), whole.rank(), a.whole_inputs[1].shape.rank());
  for (std::size_t k = 0; k < w.window.size(); ++k)
    window[static_cast<std::size_t>(w.operand_window[k])] =
        updates[static_cast<std::size_t>(w.window[k])];
  auto is_shared_out = [&](std::int64_t map) {
    const auto d = static_cast<std::size_t>(map);
    return part[d] != whole[d] && window[d] != whole[d];
  };
  const Ints& map = dims.scatter_dims_to_operand_dims;
  const Ints none(whole.size(), 0);
  Ints room = none;
  if (std::any_of(map.begin(), map.end(), is_shared_out)) {
    const int vector_dim = static_cast<int>(dims.index_vector_dim);
    Values places = index_components(indices, vector_dim);
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto d = static_cast<std::size_t>(map[k]);
      if (mode == "clip") places[k] = moved_inside(places[k], whole[d] - window[d]);
      // A window that spans a whole sharded dimension spans the shard too; it starts at 0 or is
      // dropped.
      if (!is_shared_out(map[k])) continue;
      const Value here = places[k];
      const Strings& axes = a.input_specs[0].axes_of(static_cast<int>(map[k]));
      places[k] = from_part(places[k], axes, a.parts(axes), part[d]);
      if (window[d] == 1) continue;
      room[d] = window[d];
      const Value at = add(places[k], full_like(here, static_cast<double>(window[d])));
      places[k] = select(lies_inside(here, whole[d] - window[d]),
                         moved_inside(at, part[d] + window[d]), full_like(here, -1));
    }
    indices = index_vectors(places, vector_dim);
    mode = "drop";
  }
  Attrs attrs = a.attrs;
  attrs.set("mode", std::move(mode));
  Ints limit = part.to_vector();
  for (std::size_t d = 0; d < limit.size(); ++d) limit[d] += room[d];
  if (room != none) x = pad(x, scalar(a.b, x.dtype(), 0), room, room, none);
  x = a.b.emit(a.op, Values{x, indices, a.inputs[2]}, std::move(attrs))[0];
  return {slice(x, room, limit, Ints(limit.size(), 1))};
}

}  // namespace tessera::inline v0::ops
