#include "spmd/partition/program_shardings.h"

#include "ops/build.h"
#include "spmd/partition/partition.h"

namespace tessera::inline v0::spmd {

namespace {
std::vector<std::optional<RequestedPlacement>> placed(
    const std::vector<std::optional<RequestedSpec>>& specs, const std::vector<Type>& types,
    const AtomMesh& mesh) {
  std::vector<std::optional<RequestedPlacement>> out;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::optional<RequestedPlacement>& w = out.emplace_back();
    if (!specs[i]) continue;
    const int rank = types[i].shape.rank();
    w = RequestedPlacement{mesh.placement(specs[i]->spec, rank)};
    for (const std::string& axis : specs[i]->unreduced)
      for (const Atom a : mesh.atoms_of(mesh.mesh().find(axis))) w->placement.unreduced.insert(a);
    if (!w->placement.unreduced.empty()) w->placement.combiner = specs[i]->combiner;
    w->open = specs[i]->open;
    w->open.resize(static_cast<std::size_t>(rank), false);
  }
  return out;
}

Value constrained(Value x, const std::vector<std::optional<RequestedSpec>>& wanted, std::size_t i,
                  const MeshRef& mesh) {
  if (i >= wanted.size() || !wanted[i]) return x;
  Ints open;
  for (std::size_t d = 0; d < wanted[i]->open.size(); ++d)
    if (wanted[i]->open[d]) open.push_back(static_cast<std::int64_t>(d));
  return ops::sharding_constraint(x, mesh, wanted[i]->spec, open);
}
}  // namespace

ProgramPtr constrained(const Program& program, const ProgramShardings& how, const SourceLoc& loc) {
  Builder b(program.name);
  b.loc = loc;
  Values inputs;
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    inputs.push_back(
        constrained(b.input(program.type(program.inputs[i])), how.inputs, i, how.mesh));
  Values results = b.inline_program(program, inputs);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = constrained(results[i], how.outputs, i, how.mesh);
  return b.finish(results);
}

namespace {
bool divides(const DeviceMesh& mesh, const Spec& spec, const Shape& shape) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[static_cast<std::size_t>(d)] % mesh.size_of(spec.axes_of(d)) != 0) return false;
  }
  return true;
}
}  // namespace

bool can_be_left_whole(const Program& program, const ProgramShardings& how) {
  const auto even = [&](const std::vector<std::optional<RequestedSpec>>& wanted,
                        const std::vector<Type>& types) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] &&
          (!wanted[i]->unreduced.empty() || !divides(*how.mesh, wanted[i]->spec, types[i].shape)))
        return false;
    return true;
  };
  return even(how.inputs, program.input_types()) && even(how.outputs, program.output_types());
}

std::string mesh_text(const ProgramShardings& how) {
  std::string s = how.abstract ? "AbstractMesh(" : "Mesh(";
  for (std::size_t i = 0; i < how.mesh->axes.size(); ++i)
    s += (i ? ", '" : "'") + how.mesh->axes[i] + "': " + std::to_string(how.mesh->sizes[i]);
  s += ")";
  return how.mesh->platform.empty() ? s : s + " of '" + how.mesh->platform + "'";
}

Partitioned partitioned(const ProgramPtr& program, const ProgramShardings& how) {
  const AtomMesh mesh(*how.mesh, AtomMesh::Parts::axes);
  std::vector<Type> inputs;
  for (Var v : program->inputs) inputs.push_back(program->type(v));
  PartitionOptions options;
  options.wanted.inputs = placed(how.inputs, inputs, mesh);
  options.wanted.outputs = placed(how.outputs, program->output_types(), mesh);
  options.links = how.links.relative();
  return partition(program, how.mesh, options);
}

ProgramPtr partition_program(const ProgramPtr& program, const ProgramShardings& how) {
  return partitioned(program, how).program;
}

}  // namespace tessera::inline v0::spmd
