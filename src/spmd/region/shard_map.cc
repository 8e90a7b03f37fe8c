#include "spmd/region/shard_map.h"

#include "spmd/region/reference.h"
#include "spmd/region/uniformity.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0 {

namespace spmd {

namespace {

std::string count_of(std::size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// Checks that the spec fits the rank and uses each axis at most once, and only axes of the mesh.
void check_spec(const Spec& spec, const MeshShape& mesh, int rank, const std::string& what,
                const SourceLoc& loc) {
  auto fail = [&](std::string problem, std::string rule, std::string advice) {
    Message("shard_map")
        .problem(std::move(problem))
        .rule(std::move(rule))
        .at(what)
        .from(loc)
        .advice(std::move(advice))
        .raise<ShardingError>();
  };
  if (static_cast<int>(spec.dims().size()) > rank)
    fail(to_string(spec) + " has " + count_of(spec.dims().size(), "entry", "entries") +
             " for a value of " +
             count_of(static_cast<std::size_t>(rank), "dimension", "dimensions"),
         "a spec has at most one entry a dimension",
         rank == 0 ? "give the scalar a dimension with reshape, or use P()" : "shorten the spec");
  AxisSet seen;
  for (const auto& dim : spec.dims())
    for (const auto& axis : dim) {
      if (mesh.find(axis) < 0) {
        std::string names;
        for (const auto& a : mesh.axes) names += (names.empty() ? "'" : ", '") + a + "'";
        fail(to_string(spec) + " names '" + axis + "', which is no axis of the mesh",
             "the axes are " + names, "check the spelling");
      }
      if (seen.contains(axis))
        fail(to_string(spec) + " uses axis '" + axis + "' twice", "an axis cuts one dimension",
             "leave one of them out");
      seen.insert(axis);
    }
}

// For example "all_gather in main.cc:12 gives f32[8]": what produced the value, and its type.
std::string given(const Program& body, Var v) {
  const std::string type = to_string(body.type(v));
  for (const Equation& eqn : body.equations)
    if (std::find(eqn.outputs.begin(), eqn.outputs.end(), v) != eqn.outputs.end())
      return eqn.op->shown() + (eqn.loc ? " in " + to_string(eqn.loc) : "") + " gives " + type;
  return "it is an argument, " + type;
}

std::vector<Type> infer(const InferArgs& a) {
  ShardMap s(a.attrs);
  const Program& body = *s.body;
  const AxisSet own = s.axes();
  if (s.mesh.axes.size() != s.mesh.sizes.size())
    throw InternalError("a mesh has a size for each axis");
  for (std::int64_t n : s.mesh.sizes)
    if (n < 1) throw InternalError("a mesh has at least one device along each axis");
  if (a.inputs.size() != s.in_specs.size() || a.inputs.size() != body.inputs.size() ||
      body.outputs.size() != s.out_specs.size())
    throw InternalError("a shard_map needs one spec for each input and output of its body");
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Type &whole = a.inputs[i], &block = body.type(body.inputs[i]);
    std::string what = "input " + std::to_string(i);
    check_spec(s.in_specs[i], s.mesh, whole.shape.rank(), what, a.loc);
    for (int d = 0; d < whole.shape.rank(); ++d) {
      std::int64_t n = s.mesh.size_of(s.in_specs[i].axes_of(d)), extent = whole.shape[d];
      if (extent % n != 0)
        Message("shard_map")
            .problem(to_string(whole) + " is cut by " + to_string(s.in_specs[i]) + ": dimension " +
                     std::to_string(d) + " has " + std::to_string(extent) + " elements, for " +
                     std::to_string(n) + " devices")
            .rule("the devices divide the dimension: " + std::to_string(extent) + " % " +
                  std::to_string(n) + " = " + std::to_string(extent % n))
            .at(what)
            .from(a.loc)
            .advice("pad the dimension to " + std::to_string((extent + n - 1) / n * n) +
                    " elements, or cut another one")
            .raise<ShardingError>();
    }
    if (whole.dtype != block.dtype ||
        !(block_shape(whole.shape, s.in_specs[i], s.mesh) == block.shape) ||
        (s.typed && !(s.outer(block.varying) == whole.varying)))
      throw InternalError("the body of a shard_map takes " + to_string(block) + " for a block of " +
                          to_string(whole));
  }
  std::vector<Type> results;
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    const Type& block = body.type(body.outputs[i]);
    std::string what = "output " + std::to_string(i);
    check_spec(s.out_specs[i], s.mesh, block.shape.rank(), what, a.loc);
    AxisSet named = s.out_specs[i].axes();
    if (s.typed)
      for (const auto& axis : block.varying)
        if (own.contains(axis) && !named.contains(axis))
          Message("shard_map")
              .problem(to_string(s.out_specs[i]) +
                       " says that the result is the same on all devices along '" + axis +
                       "', but " + given(body, body.outputs[i]))
              .rule("a spec names every axis over which the value varies")
              .at(what)
              .from(a.loc)
              .advice("psum, pmean or an invariant all_gather over '" + axis +
                      "', or name the axis in the spec")
              .raise<ShardingError>();
    results.emplace_back(block.dtype, whole_shape(block.shape, s.out_specs[i], s.mesh), block.weak);
    results.back().varying = s.outer(block.varying);
  }
  return results;
}

// Mapped functions check their results when they are traced, and the rules of ops preserve what was
// proven. Only a user-written derivative can violate it.
[[noreturn]] void undeclared(const ShardMap& s, const std::string& axis) {
  Message(s.typed ? "shard_map" : "pmap")
      .problem("a result is declared the same on all devices, but its derivative differs along '" +
               axis + "'")
      .rule(
          "the derivative of what all devices share is shared too, so a custom rule gives devices "
          "the same for it")
      .advice("pmean or psum over '" + axis +
              "' in the custom derivative, or declare the result as mapped: 0 in out_axes")
      .raise<ShardingError>();
}

// The result's axes of variation outside this region, including those whose names its own axes
// hide. Along its own axes a result must match its spec: if the spec omits an axis, one copy is
// stored for all devices, so a wrong spec would give wrong numbers.
std::vector<AxisSet> nonuniform(const VaryArgs& a) {
  ShardMap s(a.attrs);
  const AxisSet own = s.axes();
  AxisSet hidden;
  std::vector<AxisSet> in = s.input_axes();
  for (std::size_t i = 0; i < in.size(); ++i)
    for (const std::string& axis : a.inputs[i]) (own.contains(axis) ? hidden : in[i]).insert(axis);
  std::vector<AxisSet> results = output_uniformity(*s.body, in);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const AxisSet named = s.out_specs[i].axes();
    AxisSet outer = hidden;
    for (const std::string& axis : results[i])
      if (!own.contains(axis))
        outer.insert(axis);
      else if (!named.contains(axis))
        undeclared(s, axis);
    results[i] = std::move(outer);
  }
  return results;
}

void evaluate(const EvalArgs& a) {
  ShardMap s(a.attrs);
  std::vector<std::vector<HostArray>> inputs(static_cast<std::size_t>(s.mesh.size()));
  for (std::size_t d = 0; d < inputs.size(); ++d)
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
      inputs[d].push_back(
          block_of(a.inputs[i], s.in_specs[i], s.mesh, static_cast<std::int64_t>(d)));
  std::vector<std::vector<HostArray>> outputs = evaluate_spmd(*s.body, s.mesh, inputs);
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    std::vector<HostArray> blocks;
    for (auto& device : outputs) blocks.push_back(device[i]);
    HostArray whole = assemble(blocks, s.out_specs[i], s.mesh);
    std::memcpy(a.outputs[i].bytes, whole.bytes, static_cast<std::size_t>(whole.size_bytes()));
  }
}

std::vector<OpExample> examples() {
  Builder b("per_device");
  Value x = b.input(Type(f32, {2, 3})), w = b.input(Type(f32, {3}));
  Value y = ops::mul(x, ops::broadcast_in_dim(w, {2, 3}, {1}));
  Values out{y, ops::psum(ops::reduce_sum(y, {0, 1}), {"i"}, 2)};
  return {{{Type(f32, {4, 3}), Type(f32, {3})},
           RegionAttrs::make(b.finish(out), MeshRef(DeviceMesh{{{"i"}, {2}}, {}}),
                             {Spec::cut(0, "i"), Spec()}, {Spec::cut(0, "i"), Spec()}, false)}};
}

}  // namespace

}  // namespace spmd

namespace ops {

Values shard_map(Builder& b, ProgramPtr body, std::span<const Value> inputs, const MeshRef& mesh,
                 Specs in_specs, Specs out_specs, bool typed) {
  return spmd::emit_shard_map(
      b, {std::move(body), mesh, {}, std::move(in_specs), std::move(out_specs), typed}, inputs);
}

void register_shard_map(Registry& r) {
  Op op;
  op.name = "shard_map";
  op.doc =
      "Runs `body` once on each device of a mesh. An input is cut into blocks by its spec, major "
      "axis first; the body sees its "
      "device's block. The blocks of a result are put together by its spec; along axes that it "
      "does not name the devices hold "
      "the same. With `manual` it is for one device along these axes alone, and the partitioner "
      "divides it along the others. In a typed body the types say which values vary, and "
      "derivatives follow from "
      "them. In an untyped one every "
      "device differentiates its own computation: the cotangent of a result that several devices "
      "hold is shared out among "
      "them, that of an input which several devices read is summed.";
  op.attrs = {
      {RegionAttrs::kBody, AttrKind::program, "the per-device program"},
      {RegionAttrs::kMesh, AttrKind::mesh, "named axes, devices along each, and the devices"},
      {RegionAttrs::kManual, AttrKind::strings,
       "axes of the mesh that the body is for; absent: all of them"},
      {RegionAttrs::kInSpecs, AttrKind::specs, "how each input is cut"},
      {RegionAttrs::kOutSpecs, AttrKind::specs, "how the blocks of each result lie"},
      {RegionAttrs::kTyped, AttrKind::boolean, "whether types carry varying axes"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::control;
  op.infer = spmd::infer;
  op.jvp_both = spmd::shard_map_jvp;
  op.partial_eval = spmd::shard_map_partial_eval;
  op.transpose = spmd::shard_map_transpose;
  op.batch = spmd::shard_map_batch;
  op.uniform = spmd::nonuniform;
  op.flow = [](const Attrs& attrs) {
    return Flow{.kind = Flow::Kind::region,
                .programs = {RegionAttrs(attrs).body},
                .axes = spmd::ShardMap(attrs).mesh.axes};
  };
  op.evaluate = spmd::evaluate;
  op.waived = {{"jvp", "jvp_both: its body is differentiated whole"},
               {"sharding", "it says itself how its operands are cut"},
               {"emit", "the executor runs its body"},
               {"cost", "its body has its own"},
               {"stablehlo", "it is exported as a manual computation of Shardy"}};
  op.examples = spmd::examples;
  r.add(std::move(op));
}

}  // namespace ops

}  // namespace tessera::inline v0
