#include "explain/program_on_mesh.h"

#include "ir/nested.h"
#include "ir/op.h"
#include "ir/region_attrs.h"
#include "processes/processes.h"
#include "runtime/backend.h"
#include "transform/simplify.h"

#include <algorithm>
#include <set>

namespace tessera::inline v0::explain {

namespace {

// The only region in the program; null if there is none or several.
const Equation* lone_region(const Program& p) {
  const Equation* found = nullptr;
  for (const Equation& eqn : p.equations) {
    const std::optional<Flow> flow = flow_of(eqn);
    if (!flow || flow->kind != Flow::Kind::region) continue;
    if (found) return nullptr;
    found = &eqn;
  }
  return found;
}

// The mesh of all regions in the program, including loops and branches; without axes if they
// differ.
void find_mesh(const Program& p, std::optional<MeshRef>& mesh) {
  for (const Equation& eqn : p.equations) {
    const std::optional<Flow> flow = flow_of(eqn);
    if (!flow) continue;
    if (flow->kind == Flow::Kind::region) {
      const MeshRef& own = RegionAttrs(eqn.attrs).mesh;
      mesh = !mesh || *mesh == own ? own : MeshRef(DeviceMesh{});
      continue;
    }
    for (const ProgramPtr& nested : flow->programs) find_mesh(*nested, mesh);
  }
}

// The spec with which regions read or produce a value, if all of them use the same and nothing else
// reads it.
std::optional<Spec> spec_in_regions(const Program& p, Var v, bool input) {
  std::optional<Spec> spec;
  for (const Equation& eqn : p.equations) {
    const std::vector<Var>& ends = input ? eqn.inputs : eqn.outputs;
    const std::optional<Flow> flow = flow_of(eqn);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] != v) continue;
      if (!flow || flow->kind != Flow::Kind::region) return std::nullopt;
      const RegionAttrs region(eqn.attrs);
      const Spec& own = (input ? region.in_specs : region.out_specs)[i];
      if (spec && *spec != own) return std::nullopt;
      spec = own;
    }
  }
  return spec;
}

}  // namespace

spmd::Links links_of(const DeviceMesh& mesh, const spmd::ProgramShardings* cutting,
                     const PlanOptions& options) {
  std::vector<spmd::Link> links;
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    const auto it = options.links.find(mesh.axes[i]);
    if (it == options.links.end() && cutting && !cutting->links.by_axis().empty()) {
      links.push_back(cutting->links.of(static_cast<int>(i)));
      continue;
    }
    const LinkSpeed& speed = it != options.links.end()            ? it->second
                             : spread_along(mesh, i).machines > 1 ? options.between_machines
                                                                  : options.other_links;
    links.push_back({speed.latency, speed.bandwidth});
  }
  return spmd::Links(std::move(links));
}

MessageSize message_size_of(const MeshRef& mesh, const spmd::ProgramShardings* cutting) {
  if (!cutting || cutting->links.by_axis().empty())
    return [](const std::vector<std::string>&) { return kMessageBytes; };
  return [mesh, links = cutting->links](const std::vector<std::string>& axes) {
    double most = 0;
    for (const std::string& axis : axes) {
      const spmd::Link link = links.of(mesh->find(axis));
      most = std::max(most, link.latency * link.bandwidth);
    }
    return static_cast<std::int64_t>(std::min(most, 1e15));
  };
}

// The maximum over all lines of devices along the axis.
Spread spread_along(const DeviceMesh& mesh, std::size_t axis) {
  Spread most;
  if (processes::count() == 1) return most;
  std::int64_t stride = 1;
  for (std::size_t a = axis + 1; a < mesh.sizes.size(); ++a) stride *= mesh.sizes[a];
  for (std::size_t first = 0; first < mesh.devices.size(); ++first) {
    if (static_cast<std::int64_t>(first) / stride % mesh.sizes[axis]) continue;
    std::set<int> processes, machines;
    for (std::int64_t k = 0; k < mesh.sizes[axis]; ++k) {
      const int device = mesh.devices[first + static_cast<std::size_t>(k * stride)];
      const int process = runtime::host_backend().process_of(device);
      if (process >= processes::count()) return {};  // the plan is for devices that do not exist
      processes.insert(process);
      machines.insert(processes::machine_of(process));
    }
    most.processes = std::max(most.processes, std::ssize(processes));
    most.machines = std::max(most.machines, std::ssize(machines));
  }
  return most;
}

ProgramPtr ProgramOnMesh::of_device() const {
  const Equation* region = lone_region(*simplified);
  return region ? flow_of(*region)->body() : simplified;
}

ProgramOnMesh program_on_mesh(const ProgramPtr& program, const spmd::ProgramShardings* cutting,
                              const PlanOptions& options) {
  std::optional<spmd::Partitioned> made;
  if (cutting) made = spmd::partitioned(program, *cutting);
  const ProgramPtr simplified = simplify(made ? made->program : program);
  std::optional<MeshRef> found;
  if (!cutting) find_mesh(*simplified, found);
  const MeshRef mesh = cutting ? cutting->mesh : found ? *found : MeshRef(DeviceMesh{});
  ProgramOnMesh d{mesh,
                  spmd::AtomMesh(*mesh, spmd::AtomMesh::Parts::axes),
                  links_of(*mesh, cutting, options),
                  message_size_of(mesh, cutting),
                  std::move(made),
                  program,
                  simplified,
                  {},
                  {}};
  // Values that are not inputs or outputs of a region are whole.
  const auto placed = [&](Var v, bool input) {
    const int rank = simplified->types[v].shape.rank();
    if (!mesh->axes.empty())
      if (const std::optional<Spec> spec = spec_in_regions(*simplified, v, input))
        return d.atoms.placement(*spec, rank);
    return spmd::Placement::replicated(rank);
  };
  if (d.made) {
    d.inputs = d.made->inputs;
    d.outputs = d.made->outputs;
  } else {
    for (Var v : simplified->inputs) d.inputs.push_back(placed(v, true));
    for (Var v : simplified->outputs) d.outputs.push_back(placed(v, false));
  }
  return d;
}

}  // namespace tessera::inline v0::explain
