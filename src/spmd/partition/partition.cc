#include "spmd/partition/partition.h"

#include "base/message.h"
#include "ir/nested.h"
#include "ops/build.h"
#include "spmd/partition/body_writer.h"
#include "spmd/partition/uncut_pieces.h"
#include "spmd/region/shard_map.h"
#include "transform/simplify.h"

#include <algorithm>
#include <string>

namespace tessera::inline v0::spmd {

namespace {

constexpr std::string_view kInput = "input", kOutput = "output";

void check_end(const AtomMesh& mesh, const Type& whole, const Placement& p, std::string_view what,
               std::size_t number) {
  auto refuse = [&](std::string problem, std::string rule, std::string advice) {
    Message("jit")
        .problem(std::move(problem))
        .rule(std::move(rule))
        .at(std::string(what) + " " + std::to_string(number))
        .advice(std::move(advice))
        .raise<ShardingError>();
  };
  if (!p.unreduced.empty() && what == kInput)
    refuse(to_string(whole) + " is asked for as " + mesh.to_string(p),
           "what goes into a program is whole", "ask for it reduced");
  if (!mesh.divides(whole.shape, p))
    refuse(to_string(whole) + " is asked for as " + mesh.to_string(p),
           "the devices along an axis divide the dimension that it cuts",
           "pad the dimension, or cut another one");
}

// The spec of an output, with the dimension of its partial results if there are any.
Spec spec_with_rows(const AtomMesh& mesh, const Placement& p) {
  if (p.unreduced.empty()) return mesh.spec(p);
  Placement whole = p;
  whole.unreduced = {};
  whole.combiner = Combiner::add;
  whole.dims.insert(whole.dims.begin(), p.unreduced.atoms());
  return mesh.spec(whole);
}

// A device's partial result as its row of all of them.
Value as_row(Value part, const AtomMesh& mesh, const Placement& p) {
  AxisSet along;
  for (const std::string& axis : mesh.names(p.unreduced.atoms())) along.insert(axis);
  Shape row = part.shape();
  row.insert(row.begin(), 1);
  return part.builder->vary_over(ops::reshape(part, row), along);
}

}  // namespace

namespace {
/// For example "Mesh('x': 4)". Lists the devices only if nothing else distinguishes the mesh from
/// `beside`.
std::string text_of(const DeviceMesh& mesh, const DeviceMesh& beside) {
  std::string text = "Mesh(";
  for (std::size_t i = 0; i < mesh.axes.size(); ++i)
    text += (i ? ", '" : "'") + mesh.axes[i] + "': " + std::to_string(mesh.sizes[i]);
  text += ")";
  if (mesh.devices.empty()) return "Abstract" + text;
  if (mesh.axes != beside.axes || mesh.sizes != beside.sizes) return text;
  constexpr std::size_t kListed = 8;
  for (std::size_t d = 0; d < std::min(mesh.devices.size(), kListed); ++d)
    text += (d ? ", " : " of devices ") + std::to_string(mesh.devices[d]);
  return mesh.devices.size() > kListed ? text + ", ..." : text;
}

/// Checks that constraints and per-device programs use the mesh that the program is partitioned
/// over.
void need_one_mesh(const Program& program, const MeshRef& mesh) {
  for (const Equation& eqn : program.equations) {
    const auto refuse = [&](std::string problem, const char* rule, const char* advice) {
      Message("jit")
          .problem(std::move(problem))
          .rule(rule)
          .from(eqn.loc)
          .advice(advice)
          .raise<ShardingError>();
    };
    const auto inside = [&](const char* what, const MeshRef& other) {
      return what + text_of(*other, *mesh) + " inside a program that is partitioned over " +
             text_of(*mesh, *other);
    };
    if (eqn.op->constrains)
      if (const MeshRef other = eqn.op->constrains(eqn.attrs).mesh; other != mesh)
        refuse(inside("a value is asked to lie on ", other),
               "a program is partitioned over one mesh",
               "the same mesh for constraints, functions inside and the jit around them");
    const std::optional<Flow> flow = flow_of(eqn);
    if (!flow) continue;
    if (flow->kind == Flow::Kind::region) {
      const ShardMap s(eqn.attrs);
      if (!s.typed)
        refuse(
            "a pmap, or a shard_map without types, is inside a program that is partitioned",
            "values of a partitioned program are typed with the axes along which they may differ",
            "shard_map with check_vma, or call it outside");
      if (s.device_mesh != mesh)
        refuse(inside("there is a shard_map over ", s.device_mesh),
               "a program is partitioned over one mesh",
               "the same mesh for the shard_map and the jit around it");
    }
    for (const ProgramPtr& nested : flow->programs) need_one_mesh(*nested, mesh);
  }
}
}  // namespace

Partitioned partition(const ProgramPtr& whole_program, const MeshRef& mesh_ref,
                      const PartitionOptions& options) {
  need_one_mesh(*whole_program, mesh_ref);
  const AtomMesh mesh(*mesh_ref, AtomMesh::Parts::axes);
  // If only a few elements of a sort are read, each device offers candidates instead of all devices
  // sorting everything.
  const ProgramPtr program =
      without_uncut_pieces(run_pass({"ends", shorten_ends}, whole_program), mesh);
  const Propagation where = propagate(*program, mesh, options.wanted);
  PartitionWork work(mesh, where, options);
  Partitioned result;
  Builder body(program->name);
  BodyWriter writer(work, body, 1, false);
  Specs in_specs, out_specs;
  std::vector<BodyWriter::Slot> in;
  for (std::size_t i = 0; i < program->inputs.size(); ++i) {
    const Type& whole = program->types[program->inputs[i]];
    const Placement& p = where.input(i);
    check_end(mesh, whole, p, kInput, i);
    in.push_back(writer.input(whole, work.placements.id(p)));
    in_specs.push_back(mesh.spec(p));
    result.inputs.push_back(p);
  }
  const std::vector<BodyWriter::Slot> out = writer.walk(0, in);
  Values results;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Placement& p = where.output(i);
    check_end(mesh, program->types[program->outputs[i]], p, kOutput, i);
    const Value part = writer.at(out[i], work.placements.id(p));
    results.push_back(p.unreduced.empty() ? part : as_row(part, mesh, p));
    out_specs.push_back(spec_with_rows(mesh, p));
    result.outputs.push_back(p);
  }
  const ProgramPtr local = body.finish_pruned(results);
  Builder b(program->name);
  Values operands;
  for (Var v : program->inputs) operands.push_back(b.input(program->types[v]));
  result.program = b.finish(ops::shard_map(b, local, operands, mesh_ref, std::move(in_specs),
                                           std::move(out_specs), true));
  result.collectives = std::move(work.causes);
  result.whole = program;
  result.where = where;
  return result;
}

std::string to_string(const AtomMesh& mesh, const CollectiveCause& c) {
  std::string text = name_of(c.kind);
  for (const std::string& axis : c.axes) text += " '" + axis + "'";
  text += " of " + tessera::to_string(c.whole) + " for " + c.op + ": " + mesh.to_string(c.from) +
          " -> " + mesh.to_string(c.to) + ", " + std::to_string(c.bytes) + " B";
  if (c.times != 1) text += " " + std::to_string(c.times) + " times";
  if (c.in_while) text += " a turn";
  return text;
}

}  // namespace tessera::inline v0::spmd
