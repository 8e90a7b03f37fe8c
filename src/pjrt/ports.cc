#include "pjrt/ports.h"

#include "api/trace/follow.h"
#include "ir/nested.h"
#include "ops/control/nested.h"
#include "pjrt/error.h"
#include "spmd/place/blocks.h"
#include "spmd/region/shard_map.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tessera::inline v0::pjrt {

namespace {

// The mesh of the arrays whose shardings the module does not declare.
MeshRef common_mesh(const stablehlo::Signature& signature, std::int64_t devices) {
  for (const auto* list : {&signature.inputs, &signature.outputs})
    for (const stablehlo::NamedType& t : *list)
      if (t.sharding && t.sharding->mesh->size() == devices && !t.sharding->mesh->axes.empty())
        return t.sharding->mesh;
  return MeshRef(DeviceMesh{{{"device"}, {devices}}, {}});
}

// The mesh with its devices listed.
MeshRef with_devices(const MeshRef& mesh) {
  if (!mesh->devices.empty()) return mesh;
  DeviceMesh listed = *mesh;
  listed.devices.resize(static_cast<std::size_t>(mesh->size()));
  std::iota(listed.devices.begin(), listed.devices.end(), 0);
  return MeshRef(std::move(listed));
}

void lay_out(Port& port, const MeshRef& mesh, const Spec& spec) {
  port.layout = runtime::intern({with_devices(mesh), spec, true});
  port.block = Type(port.whole.dtype, block_shape(port.whole.shape, spec, *mesh));
  port.sharding = sharding_proto(*mesh, spec, port.whole.shape.rank());
}

// The declared sharding, if its mesh has all devices.
const stablehlo::DeclaredSharding* declared_over(const stablehlo::NamedType& t,
                                                 std::int64_t devices) {
  return t.sharding && t.sharding->mesh->size() == devices ? &*t.sharding : nullptr;
}

std::string proto_of(const stablehlo::DeclaredSharding& s, int rank) {
  const std::string_view how = s.combiner == Combiner::add ? "sum" : name_of(s.combiner);
  return sharding_proto(*s.mesh, s.spec, rank, s.unreduced, how);
}

// An array of partial results has an extra dimension, with a row for each device. The caller's
// blocks do not have it.
void take_row(Port& port) { port.block.shape.erase(port.block.shape.begin()); }

// If the devices have partial results or unrelated values, the runtime stores one array with a row
// for each device, and callers see the declared sharding.
void lay_out_rows(Port& port, const stablehlo::DeclaredSharding& terms) {
  const stablehlo::DeclaredSharding rows = stablehlo::rows_of(terms);
  const int rank = port.whole.shape.rank();
  port.whole = stablehlo::rows_of(port.whole, terms);
  lay_out(port, rows.mesh, rows.spec);
  take_row(port);
  port.sharding = proto_of(terms, rank);
}

Port port_of(const Machine& machine, const stablehlo::NamedType& t) {
  Port port{&element_of(t.element)};
  port.whole = port.block = t.type;
  port.sharding = replicated_proto();
  port.memory = machine.memories.at(0)->description;
  port.order = order_of_layout(t.layout, t.type.shape.size());
  if (t.memory_kind.empty()) return port;
  const auto& kinds = machine.descriptions.at(0)->memories;
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const PJRT_MemoryDescription* m) {
    return m->kind == t.memory_kind;
  });
  if (kind == kinds.end()) refuse(t.name + " is in a memory of unknown kind, " + t.memory_kind);
  port.memory = *kind;
  return port;
}

Port token() {
  Port port{&element_of(std::string_view("token")), true};
  port.whole = port.block = Type(DType::boolean, Shape{0});
  port.sharding = replicated_proto();
  return port;
}

}  // namespace

void place_arguments(Compiled& c, const stablehlo::Signature& signature) {
  const auto devices = static_cast<std::int64_t>(c.device_count());
  const MeshRef common = common_mesh(signature, devices);
  for (const std::int64_t input : signature.arguments) {
    if (input < 0) {
      c.arguments.push_back({token()});
      continue;
    }
    const stablehlo::NamedType& t = signature.inputs.at(static_cast<std::size_t>(input));
    Argument a{port_of(*c.machine, t)};
    const stablehlo::DeclaredSharding* const declared = declared_over(t, devices);
    if (devices > 1 && signature.per_device) {
      lay_out(a, common, Spec::cut(0, common->axes.at(0)));
      take_row(a);
    } else if (devices > 1 && declared && declared->has_terms()) {
      lay_out_rows(a, *declared);
    } else if (devices > 1) {
      lay_out(a, declared ? declared->mesh : common, declared ? declared->spec : Spec());
    }
    c.arguments.push_back(std::move(a));
  }
}

namespace {

// The spec in which the program returns a result: that of the per-device program that computes it.
struct Placed {
  MeshRef mesh;
  Spec spec;
};
std::optional<Placed> place_of_result(const Program& program, const Compiled& c, std::size_t r) {
  const Var v = program.outputs.at(r);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (program.inputs[i] != v) continue;
    std::size_t input = 0;
    for (const Argument& a : c.arguments)
      if (!a.is_token && input++ == i && a.layout) return Placed{a.layout->mesh, a.layout->spec};
    return std::nullopt;
  }
  for (const Equation& e : program.equations) {
    const auto at = std::find(e.outputs.begin(), e.outputs.end(), v);
    if (at == e.outputs.end()) continue;
    const std::optional<Flow> flow = flow_of(e);
    if (!flow || flow->kind != Flow::Kind::region) return std::nullopt;
    const spmd::ShardMap map(e.attrs);
    return Placed{map.device_mesh,
                  map.out_specs.at(static_cast<std::size_t>(at - e.outputs.begin()))};
  }
  return std::nullopt;
}

// The mesh of the first per-device program in a program.
std::optional<MeshRef> mesh_of_regions(const Program& program) {
  for (const Equation& e : program.equations) {
    const std::optional<Flow> flow = flow_of(e);
    if (flow && flow->kind == Flow::Kind::region) return spmd::ShardMap(e.attrs).device_mesh;
  }
  return std::nullopt;
}

// Whether each device has the same block of an array under both specs.
bool are_same_blocks(const Shape& whole, const MeshRef& mesh, const Spec& spec, const Placed& p) {
  const Shape block = block_shape(whole, spec, *mesh), other = block_shape(whole, p.spec, *p.mesh);
  if (!(block == other)) return false;
  const MeshRef listed = with_devices(mesh), there = with_devices(p.mesh);
  for (std::size_t at = 0; at < listed->devices.size(); ++at) {
    const auto found = std::find(there->devices.begin(), there->devices.end(), listed->devices[at]);
    if (found == there->devices.end() ||
        !(block_start(block, spec, *mesh, static_cast<std::int64_t>(at)) ==
          block_start(block, p.spec, *p.mesh, found - there->devices.begin())))
      return false;
  }
  return true;
}

}  // namespace

void place_results(Compiled& c, const stablehlo::Signature& signature,
                   const std::vector<stablehlo::NamedType>& outputs, const Program& program) {
  const auto devices = static_cast<std::int64_t>(c.device_count());
  for (const std::int64_t output : signature.results) {
    if (output < 0) {
      c.results.push_back(token());
      continue;
    }
    const auto r = static_cast<std::size_t>(output);
    const stablehlo::NamedType& t = signature.outputs.at(r);
    Port port = port_of(*c.machine, t);
    if (devices > 1) {
      auto placed = place_of_result(program, c, r);
      if (placed && placed->mesh->size() != devices) placed = std::nullopt;
      const stablehlo::DeclaredSharding* const declared = declared_over(t, devices);
      const auto& own = outputs.at(r).own_values;
      const bool is_free =
          !own && (!declared || (!declared->has_terms() && !declared->open.empty()));
      if (is_free || signature.per_device) {
        if (placed) lay_out(port, placed->mesh, placed->spec);
        if (signature.per_device) take_row(port);
      } else {
        if (own)
          lay_out_rows(port, *own);
        else if (declared->has_terms())
          lay_out_rows(port, *declared);
        else
          lay_out(port, declared->mesh, declared->spec);
        // The caller relies on the declared sharding. The program may return the result in another
        // one, for example because the partitioner cannot express the declared one.
        const MeshRef mesh = port.layout->mesh;
        port.is_moved = !are_same_blocks(port.whole.shape, mesh, port.layout->spec,
                                         placed.value_or(Placed{mesh, Spec()}));
      }
      // The caller compares the declared sharding with the reported one, including parts that a
      // spec cannot hold.
      if (own)
        port.sharding = sharding_proto(*own->mesh, own->spec, t.type.shape.rank());
      else if (declared && !declared->unreduced.empty())
        port.sharding = proto_of(*declared, t.type.shape.rank());
    }
    c.results.push_back(std::move(port));
  }
}

namespace {

// `how` with undeclared results replicated where one of the module's meshes cannot express their
// sharding, because the caller may name it by any of these meshes. Null if there are no such
// results.
std::shared_ptr<const spmd::ProgramShardings> with_results_on_all_meshes(
    const Compiled& c, const stablehlo::Signature& signature, const Program& program,
    const spmd::ProgramShardings& how) {
  auto asked = std::make_shared<spmd::ProgramShardings>(how);
  asked->outputs.resize(program.outputs.size());
  bool differs = false;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    if (signature.outputs[i].sharding) continue;
    const auto placed = place_of_result(program, c, i);
    if (!placed) continue;
    const MeshRef there = with_devices(placed->mesh);
    const auto expresses = [&](const MeshRef& mesh) {
      return spmd::same_cut_over(*mesh, *there, placed->spec).has_value();
    };
    if (std::all_of(signature.meshes.begin(), signature.meshes.end(), expresses)) continue;
    asked->outputs[i] = spmd::RequestedSpec{};
    differs = true;
  }
  return differs ? asked : nullptr;
}

// How the program is partitioned for arguments in these places; null if it runs as it is. Results
// that are declared as unreduced become arrays of partial results.
std::shared_ptr<const spmd::ProgramShardings> cutting_of(const Compiled& c, const Program& program,
                                                         const stablehlo::Signature& signature,
                                                         const detail::Places& places) {
  const auto devices = static_cast<std::int64_t>(c.device_count());
  auto how = detail::follow(program, nullptr, places, c.name);
  std::optional<spmd::ProgramShardings> asked;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const stablehlo::DeclaredSharding* const declared =
        declared_over(signature.outputs[i], devices);
    if (!declared || !declared->has_terms()) continue;
    if (!asked) {
      asked.emplace();
      if (how)
        asked = *how;
      else
        asked->mesh = mesh_of_regions(program).value_or(with_devices(declared->mesh));
      asked->outputs.resize(program.outputs.size());
    }
    const auto rows = spmd::same_cut_over(*asked->mesh, *with_devices(declared->mesh),
                                          stablehlo::rows_of(*declared).spec);
    if (!rows)
      unimplemented("result " + std::to_string(i) + " of the program '" + c.name +
                    "' is unreduced along axes of another mesh than the program's");
    Spec::Dims dims = rows->dims();
    asked->outputs[i] = spmd::RequestedSpec{
        Spec({dims.begin() + 1, dims.end()}), {}, dims.at(0), declared->combiner};
  }
  return asked ? detail::follow(program, &*asked, places, c.name) : how;
}

}  // namespace

Divided divided(const Compiled& c, const stablehlo::Signature& signature, const ProgramPtr& whole) {
  detail::Places places;
  for (const Argument& a : c.arguments)
    if (!a.is_token) places.push_back(a.layout->plain ? a.layout->plain : a.layout);
  places.resize(whole->inputs.size());
  Divided d{whole, cutting_of(c, *whole, signature, places)};
  if (!d.how) return d;
  d.program = spmd::partition_program(whole, *d.how);
  if (auto other = with_results_on_all_meshes(c, signature, *d.program, *d.how))
    d = {spmd::partition_program(whole, *other), std::move(other)};
  return d;
}

void take_arguments(Compiled& c, const stablehlo::Signature& signature) {
  std::vector<bool> served(c.results.size());
  const auto type = [&](std::size_t i) -> const stablehlo::NamedType* {
    const std::int64_t input = signature.arguments[i];
    return input < 0 ? nullptr : &signature.inputs[static_cast<std::size_t>(input)];
  };
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const stablehlo::NamedType* t = type(i);
    if (!t || !t->result) continue;
    c.arguments[i].is_taken = true;
    if (static_cast<std::size_t>(*t->result) < served.size())
      served[static_cast<std::size_t>(*t->result)] = true;
  }
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const stablehlo::NamedType* t = type(i);
    if (!t || t->result || !t->donated) continue;
    for (std::size_t r = 0; r < c.results.size() && !c.arguments[i].is_taken; ++r) {
      const Port& result = c.results[r];
      if (served[r] || result.is_token || result.block.bytes() != c.arguments[i].block.bytes())
        continue;
      served[r] = c.arguments[i].is_taken = true;
    }
  }
}

}  // namespace tessera::inline v0::pjrt
