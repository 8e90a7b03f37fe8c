// Derivative and batching rules of shard_map. Each emits another shard_map around the transformed
// body.
#include "ir/interpret.h"
#include "spmd/region/shard_map.h"
#include "spmd/region/uniformity.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

Spec with_free_dim(const Spec& spec, int at) {
  Spec::Dims dims = spec.dims();
  if (at < static_cast<int>(dims.size())) dims.insert(dims.begin() + at, Spec::Axes{});
  return Spec(std::move(dims));
}

Values emit(Builder& b, const ShardMap& s, ProgramPtr body, const Values& inputs, const Specs& in,
            const Specs& out) {
  return emit_shard_map(b, {std::move(body), s.device_mesh, s.manual, in, out, s.typed}, inputs);
}

}  // namespace

JvpBoth shard_map_jvp(const JvpBothArgs& a) {
  ShardMap s(a.attrs);
  std::vector<bool> nonzero;
  Values inputs(a.inputs.begin(), a.inputs.end());
  Specs in = s.in_specs, out = s.out_specs;
  for (std::size_t i = 0; i < a.tangents.size(); ++i) {
    nonzero.push_back(a.tangents[i].has_value());
    if (!a.tangents[i]) continue;
    inputs.push_back(*a.tangents[i]);
    in.push_back(s.in_specs[i]);
  }
  JvpProgram jvp = jvp_program(*s.body, nonzero);
  for (std::size_t i = 0; i < s.out_specs.size(); ++i)
    if (jvp.nonzero_out[i]) out.push_back(s.out_specs[i]);
  Values results = emit(a.b, s, jvp.program, inputs, in, out);
  JvpBoth r;
  std::size_t next = s.out_specs.size();
  r.outputs.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(next));
  for (bool nz : jvp.nonzero_out)
    r.tangents.push_back(nz ? MaybeValue(results[next++]) : MaybeValue());
  return r;
}

// A residual leaves the known map and enters the unknown map with the same spec. If it is an input
// of the known map, it is forwarded from outside. If it is equal on all devices, it leaves as one
// copy. Otherwise the devices' values are stacked along the first dimension, which is added to
// scalars for this purpose.
PartialEvalResult shard_map_partial_eval(const PartialEvalArgs& a) {
  ShardMap s(a.attrs);
  std::vector<bool> unknown_in;
  Values known_inputs;
  Specs known_in, known_out, unknown_specs, rest_in, rest_out;
  std::vector<AxisSet> known_axes;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    unknown_in.push_back(!a.inputs[i]);
    if (!a.inputs[i]) {
      unknown_specs.push_back(s.in_specs[i]);
      continue;
    }
    known_inputs.push_back(*a.inputs[i]);
    known_in.push_back(s.in_specs[i]);
    known_axes.push_back(s.in_specs[i].axes());
  }
  PartialEvaluation split = partial_eval(*s.body, unknown_in);
  for (std::size_t i = 0; i < s.out_specs.size(); ++i)
    (split.unknown_out[i] ? rest_out : known_out).push_back(s.out_specs[i]);

  const Program& known = *split.known;
  std::size_t outputs = known.outputs.size() - split.residuals;
  std::vector<AxisSet> varying = uniformity(known, known_axes);
  Builder kb(known.name);
  Values kin;
  for (Var v : known.inputs) kin.push_back(kb.input(known.type(v)));
  Values all = kb.inline_program(known, kin);
  Values kout(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(outputs));

  struct Residual {
    std::size_t forwarded;  // index of the known input, or npos
    bool scalar;            // is passed as an array of one element
  };
  constexpr std::size_t npos = static_cast<std::size_t>(-1);
  std::vector<Residual> residuals;
  for (std::size_t i = outputs; i < known.outputs.size(); ++i) {
    Var v = known.outputs[i];
    auto input = std::find(known.inputs.begin(), known.inputs.end(), v);
    if (input != known.inputs.end()) {
      std::size_t k = static_cast<std::size_t>(input - known.inputs.begin());
      residuals.push_back({k, false});
      rest_in.push_back(known_in[k]);
      continue;
    }
    std::vector<std::string> axes = s.mesh.ordered(s.typed ? known.type(v).varying : varying[v]);
    const Spec spec(Spec::Dims{axes});
    bool scalar = !axes.empty() && known.type(v).shape.empty();
    kout.push_back(scalar ? ops::reshape(all[i], Shape{1}) : all[i]);
    known_out.push_back(spec);
    rest_in.push_back(spec);
    residuals.push_back({npos, scalar});
  }
  PartialEvalResult r;
  Values left;
  if (!kout.empty())
    left = emit(a.known, s, kb.finish_pruned(kout), known_inputs, known_in, known_out);
  std::size_t next = 0;
  for (bool unknown : split.unknown_out)
    r.outputs.push_back(unknown ? MaybeValue() : MaybeValue(left[next++]));
  if (split.unknown->outputs.empty()) return r;
  for (const Residual& res : residuals)
    r.residuals.push_back(res.forwarded != npos ? known_inputs[res.forwarded] : left[next++]);

  const Program& unknown = *split.unknown;
  Builder ub(unknown.name);
  Values uin;
  for (std::size_t i = 0; i < unknown.inputs.size(); ++i) {
    Type t = unknown.type(unknown.inputs[i]);
    if (i < residuals.size() && residuals[i].scalar) {
      t.shape = {1};
      uin.push_back(ops::reshape(ub.input(t), Shape{}));
    } else {
      uin.push_back(ub.input(t));
    }
  }
  Values uout = ub.inline_program(unknown, uin);
  rest_in.insert(rest_in.end(), unknown_specs.begin(), unknown_specs.end());
  r.op = &a.op;
  r.attrs = a.attrs;
  r.attrs.set(RegionAttrs::kBody, ProgramPtr(ub.finish(uout)));
  r.attrs.set(RegionAttrs::kInSpecs, rest_in);
  r.attrs.set(RegionAttrs::kOutSpecs, rest_out);
  return r;
}

// Transposes the body and exchanges the specs. In an untyped body, the cotangent of a result that
// several devices hold is divided by their number, and the cotangent of a shared input is summed:
// since psum is its own transpose, n copies of a psum'ed loss then count once. In a typed body, its
// pvary and psum equations do both.
MaybeValues shard_map_transpose(const TransposeArgs& a) {
  ShardMap s(a.attrs);
  const Program& body = *s.body;
  std::vector<bool> linear(a.linear.begin(), a.linear.end());
  Builder b(body.name);
  Values outside;
  Specs in, out;
  MaybeValues inputs(a.inputs.size()), cts(a.cotangents.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (linear[i]) continue;
    inputs[i] = b.input(body.type(body.inputs[i]));
    outside.push_back(*a.inputs[i]);
    in.push_back(s.in_specs[i]);
  }
  for (std::size_t i = 0; i < cts.size(); ++i) {
    if (!a.cotangents[i]) continue;
    Value ct = b.input(body.type(body.outputs[i]));
    std::int64_t copies = s.mesh.size_of(s.unnamed(s.out_specs[i]));
    cts[i] =
        s.typed || copies == 1 ? ct : ops::div(ct, ops::full_like(ct, static_cast<double>(copies)));
    outside.push_back(*a.cotangents[i]);
    in.push_back(s.out_specs[i]);
  }
  MaybeValues in_cts = transpose_inline(b, body, inputs, linear, cts);
  Values results;
  for (std::size_t i = 0; i < in_cts.size(); ++i) {
    if (!in_cts[i]) continue;
    std::vector<std::string> shared = s.unnamed(s.in_specs[i]);
    results.push_back(s.typed ? *in_cts[i] : ops::psum(*in_cts[i], shared, s.mesh.size_of(shared)));
    out.push_back(s.in_specs[i]);
  }
  MaybeValues r(a.inputs.size());
  if (results.empty()) return r;
  results = emit(a.b, s, b.finish_pruned(results), outside, in, out);
  std::size_t next = 0;
  for (std::size_t i = 0; i < r.size(); ++i)
    if (in_cts[i]) r[i] = results[next++];
  return r;
}

// The batch dimension is not partitioned. A mesh axis hides a vmapped axis of the same name.
BatchResult shard_map_batch(const BatchArgs& a) {
  ShardMap s(a.attrs);
  std::vector<int> dims(a.dims.begin(), a.dims.end());
  BatchProgram batched =
      batch_program(*s.body, dims, a.size, s.mesh.find(a.axis_name) >= 0 ? "" : a.axis_name);
  Specs in = s.in_specs, out = s.out_specs;
  BatchResult r;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (dims[i] != kUnbatched) in[i] = with_free_dim(in[i], dims[i]);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (batched.batched_out[i]) out[i] = with_free_dim(out[i], 0);
    r.dims.push_back(batched.batched_out[i] ? 0 : kUnbatched);
  }
  r.outputs = emit(a.b, s, batched.program, Values(a.inputs.begin(), a.inputs.end()), in, out);
  return r;
}

}  // namespace tessera::inline v0::spmd
