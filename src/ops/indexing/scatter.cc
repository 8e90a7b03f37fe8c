// The scatter family: writes or combines slices into an array at positions given by data.
#include "ops/combine.h"
#include "ops/indexing/indexing.h"
#include "ops/indexing/scatter_rules.h"
#include "ops/updates.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Value scatter(std::string_view op, Value x, Value indices, Value updates, const ScatterDims& dims,
              const std::string& mode, bool unique) {
  return x.builder->emit1(op, {x, indices, updates},
                          {{"update_window_dims", dims.update_window_dims},
                           {"inserted_window_dims", dims.inserted_window_dims},
                           {"operand_batching_dims", dims.operand_batching_dims},
                           {"scatter_indices_batching_dims", dims.scatter_indices_batching_dims},
                           {"scatter_dims_to_operand_dims", dims.scatter_dims_to_operand_dims},
                           {"index_vector_dim", dims.index_vector_dim},
                           {"mode", mode},
                           {"unique", unique}});
}

namespace {

void scatter_evaluate(const EvalArgs& a, Combiner how) {
  const HostArray &x = a.inputs[0], &indices = a.inputs[1], &updates = a.inputs[2];
  HostArray& out = a.outputs[0];
  if (x.size_bytes() > 0 && out.bytes != x.bytes)
    std::memcpy(out.bytes, x.bytes, static_cast<std::size_t>(x.size_bytes()));
  if (x.count() == 0) return;  // nothing can be written, not even a clipped window
  bool clip = a.attrs.str("mode") == "clip";
  WindowDimsOf w = window_dims_of(scatter_dims(a.attrs), updates.shape.rank(), x.shape.rank(),
                                  indices.shape.rank());
  Shape strides = x.shape.strides(), window;
  window.resize(x.shape.size(), 1);
  for (std::size_t k = 0; k < w.window.size(); ++k)
    window[static_cast<std::size_t>(w.operand_window[k])] =
        updates.shape[static_cast<std::size_t>(w.window[k])];
  const WindowElements elements(w, indices, x.shape, window);
  std::int64_t flat_update = -1;
  for_each_index(updates.shape, [&](const Shape& at) {
    ++flat_update;
    const auto [to, inside] = elements.of(at);
    if (!clip && !inside) return;
    std::int64_t flat = flat_index(to, strides);
    dispatch(x.dtype, [&](auto tag) {
      using T = decltype(tag);
      T update = updates.data<T>()[flat_update];
      T& place = out.data<T>()[flat];
      place = with_combine(how, [&](auto h) { return combine<h.value>(place, update); });
    });
  });
}

Write scatter_write(Emitter& e, const Equation& eqn, std::span<const Index> at) {
  const Shape &x = e.operand_type(0).shape, &indices = e.operand_type(1).shape,
              &updates = e.operand_type(2).shape;
  const bool clip = eqn.attrs.str("mode") == "clip";
  const WindowDimsOf w =
      window_dims_of(scatter_dims(eqn.attrs), updates.rank(), x.rank(), indices.rank());
  Write write{std::vector<Index>(x.size(), Index(0)), e.operand(2, at), {}};
  Shape window;
  window.resize(x.size(), 1);
  for (std::size_t k = 0; k < w.window.size(); ++k)
    window[static_cast<std::size_t>(w.operand_window[k])] =
        updates[static_cast<std::size_t>(w.window[k])];
  for (std::size_t k = 0; k < w.index_map.size(); ++k) {
    const auto d = static_cast<std::size_t>(w.index_map[k]);
    const std::int64_t last = x[d] - window[d];
    if (last == 0 && clip) continue;
    const std::vector<Index> position =
        w.index_position<Index>(at, k, indices.rank(), [](std::int64_t c) { return Index(c); });
    const Lane number = e.operand(1, position);
    write.at[d] = last == 0 ? Index(0) : e.index(number, 0, last);
    if (clip) continue;
    const Lane fits = start_in_bounds(e, number, last);
    write.inside = write.inside.handle ? e.binary(Arith::and_, write.inside, fits) : fits;
  }
  for (std::size_t k = 0; k < w.operand_batching.size(); ++k)
    write.at[static_cast<std::size_t>(w.operand_batching[k])] =
        at[static_cast<std::size_t>(w.batch[static_cast<std::size_t>(w.operand_batching_at[k])])];
  for (std::size_t k = 0; k < w.window.size(); ++k) {
    Index& i = write.at[static_cast<std::size_t>(w.operand_window[k])];
    i = i + at[static_cast<std::size_t>(w.window[k])];
  }
  return write;
}

Op scatter_row(const std::string& name, const std::string& combining, Combiner how) {
  Op op;
  op.name = name;
  op.doc =
      "StableHLO's scatter with one operand: every index vector says where in the operand a window "
      "of the updates goes, and each "
      "of its elements " +
      combining +
      " the element there, in the row-major order of the updates. A window that does not lie "
      "inside is left out (mode \"drop\") or "
      "moved inside (mode \"clip\"). `unique` promises that no two windows overlap.";
  op.stablehlo = "scatter";
  op.attrs = {
      {"update_window_dims", AttrKind::ints,
       "dimensions of the updates that walk a window, ascending"},
      {"inserted_window_dims", AttrKind::ints,
       "operand dimensions that windows lack, having extent 1 there, ascending"},
      {"operand_batching_dims", AttrKind::ints,
       "operand dimensions that walk together with the indices, ascending"},
      {"scatter_indices_batching_dims", AttrKind::ints, "the indices' dimension of each"},
      {"scatter_dims_to_operand_dims", AttrKind::ints,
       "operand dimension of each component of an index vector"},
      {"index_vector_dim", AttrKind::integer,
       "dimension of the indices that holds the vector; their rank when it has one component"},
      {"mode", AttrKind::string, "\"drop\" or \"clip\""},
      {"unique", AttrKind::boolean, "whether windows are known not to overlap"}};
  op.inputs = 3;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = scatter_call;
  op.overwrites = [](const TypedArgs& a, std::size_t) { return a.inputs[0].bytes() > 0 ? 0 : -1; };
  op.written = 2;
  op.write = scatter_write;
  op.infer = scatter_infer;
  op.batch = scatter_batch;
  op.sharding = [how](const ShardArgs& a) { return scatter_sharding(a, how); };
  op.local = scatter_local;
  op.combiner = how;
  op.updates = updates_of({0});
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs&) {
    Cost cost;
    cost.flops = static_cast<double>(in[2].shape.count());
    cost.bytes =
        static_cast<double>(in[0].bytes() + in[1].bytes() + 3 * in[2].bytes() + out[0].bytes());
    return cost;
  };
  op.evaluate = [how](const EvalArgs& a) { scatter_evaluate(a, how); };
  op.waived["emit"] = "updates are applied in their order by a routine";
  op.examples = [name] { return scatter_examples(name); };
  return op;
}

}  // namespace

void register_scatter(Registry& r) {
  // Which update is the last at a position depends only on the indices, so the tangent is the same
  // scatter of the tangents.
  Op set = scatter_row("scatter", "replaces", Combiner::replace);
  set.jvp = linear_jvp({0, 2});
  set.transpose = scatter_set_transpose;
  r.add(std::move(set));

  Op add = scatter_row("scatter_add", "is added to", Combiner::add);
  add.jvp = linear_jvp({0, 2});
  add.transpose = scatter_add_transpose;
  r.add(std::move(add));

  Op mul = scatter_row("scatter_mul", "multiplies", Combiner::mul);
  mul.updates = [](const UpdateArgs& a) {
    return a.same[2] ? std::vector<std::size_t>{0} : std::vector<std::size_t>{};
  };
  mul.linear = [](std::span<const bool> in) { return !in[2]; };
  mul.jvp = scatter_mul_jvp;
  mul.transpose = scatter_mul_transpose;
  r.add(std::move(mul));

  for (auto how : {Combiner::min, Combiner::max}) {
    bool max = how == Combiner::max;
    Op op = scatter_row(
        max ? "scatter_max" : "scatter_min",
        max ? "replaces if it is greater (or NaN)" : "replaces if it is less (or NaN)", how);
    op.jvp = scatter_extremum_jvp;
    op.waived["transpose"] = "it is linear in nothing";
    r.add(std::move(op));
  }
}

}  // namespace tessera::inline v0::ops
