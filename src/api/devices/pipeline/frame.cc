#include "api/devices/pipeline/frame.h"

#include "api/devices/mesh_data.h"
#include "api/trace/composite.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

Message at(const char* function, const SourceLoc& loc) { return Message(function).from(loc); }

std::int64_t size_of(const char* function, const Mesh& mesh, const std::string& axis,
                     const char* option, const SourceLoc& loc) {
  for (const Mesh::Axis& a : mesh.axes())
    if (a.name == axis) return a.size;
  std::string names;
  for (const std::string& name : mesh.axis_names())
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  at(function, loc)
      .problem(
          fmt::format("{} is '{}', and there is no such axis in {}", option, axis, to_string(mesh)))
      .rule("it is an axis of the mesh: " + names)
      .advice(fmt::format("one of these names, or a mesh with an axis '{}'", axis))
      .raise<ShardingError>();
}

void find_axes(const char* function, const PipelineOptions& options, const SourceLoc& loc,
               PipelineFrame& f) {
  f.mesh = need_scope_mesh(function, options.mesh, loc);
  f.axis = options.axis;
  f.batch_axis = options.batch_axis;
  f.stages = size_of(function, f.mesh, f.axis, ".axis", loc);
  if (f.batch_axis.empty()) return;
  f.replicas = size_of(function, f.mesh, f.batch_axis, ".batch_axis", loc);
  if (f.axis == f.batch_axis)
    at(function, loc)
        .problem(fmt::format(".axis and .batch_axis are both '{}'", f.axis))
        .rule("devices along one axis have stages, devices along the other have rows of the batch")
        .advice("a mesh with two axes, such as ts::Mesh({{\"stage\", 4}, {\"data\", 2}})")
        .raise<ShardingError>();
}

void find_microbatches(const char* function, const PipelineOptions& options, const SourceLoc& loc,
                       PipelineFrame& f) {
  f.microbatches = options.microbatches;
  // No batch has more rows than this, and the tables store microbatches as int32.
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  if (f.microbatches >= 1 && f.microbatches <= most) return;
  const std::int64_t others = f.stages - 1;
  at(function, loc)
      .problem(fmt::format(".microbatches is {}", f.microbatches))
      .rule(
          fmt::format("it is from 1 to {}; with m of them the {} stages are idle for {} / (m + {}) "
                      "of the time",
                      most, f.stages, others, others))
      .advice(fmt::format("{{.microbatches = {}}}", 4 * f.stages))
      .raise<ShardingError>();
}

/// The common leading size of the leaves of an argument; -1 if there are none.
struct Leading {
  std::int64_t size = -1;
  bool agree = true, scalar = false;
};
Leading leading_of(const Leaves& leaves) {
  Leading l;
  for (const Array& x : leaves) {
    if (x.ndim() == 0) {
      l.scalar = true;
      continue;
    }
    if (l.size < 0) l.size = x.shape(0);
    l.agree &= x.shape(0) == l.size;
  }
  return l;
}

void check_layers(const char* function, const Call& stage, const SourceLoc& loc,
                  const PipelineFrame& f) {
  const Leading l = leading_of(f.params);
  if (l.size >= 1 && l.agree && !l.scalar && l.size % f.stages == 0) return;
  Message m = at(function, loc);
  if (f.params.empty())
    m.problem("the parameters have no arrays")
        .rule("every leaf has the layers along its leading dimension: that is how many there are")
        .advice("ts::vmap of what makes the parameters of one layer, over a key for each")
        .raise<ShapeError>();
  list_leaves(m, stage, 0, "params");
  const std::string rule = fmt::format(
      "every leaf has the layers along its leading dimension, a multiple of the {} device{} along "
      "'{}'",
      f.stages, f.stages == 1 ? "" : "s", f.axis);
  if (l.scalar || !l.agree)
    m.problem(l.scalar ? "a parameter has no leading dimension"
                       : "the parameters differ in the number of layers")
        .rule(rule)
        .advice("stack the parameters of all layers: tree::map of ts::stack")
        .raise<ShapeError>();
  m.problem(fmt::format("{} layer{} on {} device{} along '{}'", l.size, l.size == 1 ? "" : "s",
                        f.stages, f.stages == 1 ? "" : "s", f.axis))
      .rule(l.size < 1
                ? rule
                : fmt::format("{}: {} % {} is {}", rule, l.size, f.stages, l.size % f.stages))
      .advice(fmt::format("{} layers, or an axis with another number of devices",
                          (std::max<std::int64_t>(l.size, 1) + f.stages - 1) / f.stages * f.stages))
      .raise<ShardingError>();
}

void check_rows(const char* function, const Call& stage, const Call* loss, const SourceLoc& loc,
                const PipelineFrame& f) {
  Leaves all = f.batch;
  all.insert(all.end(), f.targets.begin(), f.targets.end());
  const Leading l = leading_of(all);
  const std::int64_t parts = f.microbatches * f.replicas;
  if (!f.batch.empty() && l.size >= 1 && l.agree && !l.scalar && l.size % parts == 0) return;
  Message m = at(function, loc);
  if (f.batch.empty())
    m.problem("the batch has no arrays")
        .rule("what goes into the first layer has the rows along its leading dimension")
        .advice("pass the activation that the first layer takes")
        .raise<ShapeError>();
  list_leaves(m, stage, 1, "batch");
  if (loss) list_leaves(m, *loss, 1, "targets");
  if (l.scalar || !l.agree)
    m.problem(l.scalar ? "an array has no leading dimension"
                       : "the arrays differ in the number of rows")
        .rule("every leaf has the rows of the batch along its leading dimension")
        .advice("capture in the function what all rows share")
        .raise<ShapeError>();
  const std::string divisor =
      f.batch_axis.empty()
          ? fmt::format("the {} microbatches divide them", f.microbatches)
          : fmt::format("{} microbatches on each of {} devices along '{}' divide them",
                        f.microbatches, f.replicas, f.batch_axis);
  m.problem(fmt::format("the batch has {} row{}", l.size, l.size == 1 ? "" : "s"))
      .rule(l.size < 1 ? divisor
                       : fmt::format("{}: {} % {} is {}", divisor, l.size, parts, l.size % parts))
      .advice(fmt::format("{} rows, or another number of microbatches",
                          (std::max<std::int64_t>(l.size, 1) + parts - 1) / parts * parts))
      .raise<ShardingError>();
}

}  // namespace

std::string type_text(const Array& x) { return to_string(Type(x.dtype(), x.shape())); }

void list_leaves(Message& m, const Call& call, std::size_t argument, const std::string& name) {
  const std::vector<std::string> paths = call.describe_args().child(argument).paths(name);
  for (std::size_t i = call.arg_begin(argument); i < call.arg_ends[argument]; ++i)
    if (const Array& x = *call.args.leaves[i]; !x.is_empty())
      m.offender(paths[i - call.arg_begin(argument)] + ": " + type_text(x));
}

Leaves argument_leaves(const Call& call, std::size_t argument) {
  Leaves out;
  for (std::size_t i = call.arg_begin(argument); i < call.arg_ends[argument]; ++i)
    if (!call.args.leaves[i]->is_empty()) out.push_back(*call.args.leaves[i]);
  return out;
}

PipelineFrame pipeline_frame(const char* function, const Call& stage, const Call* loss,
                             const PipelineOptions& options, const SourceLoc& loc) {
  PipelineFrame f;
  find_axes(function, options, loc, f);
  find_microbatches(function, options, loc, f);
  check_arguments(stage, function, loc);
  f.params = argument_leaves(stage, 0);
  f.batch = argument_leaves(stage, 1);
  if (loss) {
    check_arguments(*loss, function, loc);
    f.targets = argument_leaves(*loss, 1);
    if (loss->arg_count() > 2) f.head = argument_leaves(*loss, 2);
  }
  check_layers(function, stage, loc, f);
  f.layers = f.params[0].shape(0) / f.stages;
  check_rows(function, stage, loss, loc, f);
  for (Array& x : f.batch)
    if (x.weak_type()) x = x.astype(x.dtype());
  return f;
}

Permutation PipelineFrame::onwards() const {
  Permutation pairs;
  for (std::int64_t i = 0; i + 1 < stages; ++i) pairs.emplace_back(i, i + 1);
  return pairs;
}

Permutation PipelineFrame::back() const {
  Permutation pairs;
  for (std::int64_t i = 0; i + 1 < stages; ++i) pairs.emplace_back(i + 1, i);
  return pairs;
}

Leaves own_values(const Leaves& leaves, const PipelineFrame& frame) {
  AxisSet axes{frame.axis};
  if (!frame.batch_axis.empty()) axes.insert(frame.batch_axis);
  return tree::map(
      [&](const Array& x) {
        return composite1("pipeline", {x}, SourceLoc(), [&](Builder& b, std::span<const Value> in) {
          return b.vary_over(in[0], axes);
        });
      },
      leaves);
}

}  // namespace tessera::inline v0::detail
