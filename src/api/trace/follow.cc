#include "api/trace/follow.h"

#include "base/hash.h"
#include "base/message.h"
#include "base/process.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "runtime/backend.h"
#include "runtime/footprint.h"
#include "runtime/kept.h"
#include "spmd/place/blocks.h"
#include "spmd/region/shard_map.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tessera::inline v0::detail {

namespace {

bool spreads(const runtime::ArrayDataPtr& a) { return a->layout->devices().size() > 1; }
const runtime::LayoutPtr& plain_of(const runtime::ArrayDataPtr& a) {
  return a->layout->plain ? a->layout->plain : a->layout;
}

/// The mesh and the constraints that a program itself specifies.
struct Said {
  std::optional<MeshRef> mesh;  // of the first constraint or per-device program
  bool constrained = false;
  bool partial = false;  // a per-device program leaves some axes to the partitioner
  bool apart = false;    // per-device programs are on several meshes or cannot be nested
};
void look(const Program& p, Said& said) {
  for (const Equation& eqn : p.equations) {
    if (eqn.op->constrains) {
      said.constrained = true;
      if (!said.mesh) said.mesh = eqn.op->constrains(eqn.attrs).mesh;
    }
    if (!eqn.op->flow) continue;
    const Flow flow = eqn.op->flow(eqn.attrs);
    if (flow.kind == Flow::Kind::region) {
      const spmd::ShardMap map(eqn.attrs);
      if (!said.mesh) said.mesh = map.device_mesh;
      said.partial = said.partial || map.is_partial();
      said.apart = said.apart || !map.typed || map.device_mesh != *said.mesh;
      continue;
    }
    for (const ProgramPtr& nested : flow.programs) look(*nested, said);
  }
}
/// Whether the program consists only of per-device programs, which are already partitioned.
bool is_cut(const Program& p) {
  return !p.equations.empty() &&
         std::all_of(p.equations.begin(), p.equations.end(), [](const Equation& eqn) {
           return eqn.op->flow && eqn.op->flow(eqn.attrs).kind == Flow::Kind::region;
         });
}

constexpr std::size_t kListed = 4;  // devices of an array that errors list

std::vector<int> sorted_devices(const DeviceMesh& mesh) {
  std::vector<int> devices = mesh.devices;
  std::sort(devices.begin(), devices.end());
  return devices;
}

/// "CpuDevice(id=0), CpuDevice(id=1)", and the number of further devices.
std::string listed(const DeviceMesh& mesh, const runtime::Backend& backend) {
  std::string text;
  for (std::size_t d = 0; d < std::min(mesh.devices.size(), kListed); ++d)
    text += (d ? ", " : "") + runtime::device_text(backend.platform(), mesh.devices[d]);
  if (mesh.devices.size() > kListed)
    text += " and " + std::to_string(mesh.devices.size() - kListed) + " more";
  return text;
}

/// "CpuDevice(id=0)", by the platform and the devices of a layout.
std::string listed(const runtime::Layout& l) { return listed(*l.mesh, *l.backend); }

[[noreturn]] void refuse_platforms(const runtime::Backend& one, const runtime::Backend& other,
                                   std::string_view name) {
  Message(name)
      .problem("the function is over devices of '" + one.platform() + "' and of '" +
               other.platform() + "'")
      .rule(
          "a program runs on one platform; its maps over devices and its constraints name its "
          "devices")
      .from(runtime::CallerLine::now())
      .advice("a function for each platform, and device_put(x, device) between them")
      .raise<ShardingError>();
}

[[noreturn]] void refuse_inputs(const runtime::Backend& own,
                                std::span<const runtime::ArrayDataPtr> inputs,
                                std::string_view name) {
  Message m{name};
  m.problem("the function is over devices of '" + own.platform() +
            "', and inputs are committed to another platform");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const runtime::Layout& l = *inputs[i]->layout; l.committed && l.backend != &own)
      m.offender("input " + std::to_string(i) + ", " + to_string(inputs[i]->type) + ", is on " +
                 listed(l));
  m.rule("inputs that are not committed follow; nothing else is moved between platforms")
      .from(runtime::CallerLine::now())
      .advice("move the inputs: device_put(x, devices(\"" + own.platform() +
              "\")[0]), or device_get(x), which is not committed")
      .raise<ShardingError>();
}

/// Checks that committed inputs are on the mesh's devices. `own`: the mesh comes from a constraint
/// or per-device program inside.
void need_the_devices_of(const spmd::ProgramShardings& how, bool own, const Program& program,
                         const Places& places, std::string_view name) {
  const DeviceMesh& mesh = *how.mesh;
  const std::vector<int> all = sorted_devices(mesh);
  const auto agrees = [&](const runtime::LayoutPtr& l) {
    return !l || l->mesh->devices == mesh.devices || sorted_devices(*l->mesh) == all;
  };
  if (std::all_of(places.begin(), places.end(), agrees)) return;
  Message m{name};
  m.problem(own ? "inputs are committed to other devices than the program's"
                : "the inputs are committed to different devices");
  bool first = true;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    const runtime::Layout& l = *places[i];
    if (own && std::exchange(first, false))
      m.offender("a constraint or shard_map inside is over " + spmd::mesh_text(how) + ", " +
                 listed(mesh, *l.backend));
    m.offender("input " + std::to_string(i) + ", " + to_string(program.type(program.inputs[i])) +
               ", lies by " + to_string(l.spec) + " on " + listed(l));
  }
  m.rule(
       "a computation runs on one set of devices; inputs that are not committed follow those that "
       "are")
      .from(runtime::CallerLine::now())
      .advice(own ? "move the inputs: device_put(x, mesh, spec) with that mesh"
                  : "move one of them: device_put(x, y.sharding())")
      .raise<ShardingError>();
}

bool stays(const Program& program, const Said& said, bool spread) {
  if (said.partial) return false;
  return said.apart || !(said.constrained || (spread && !is_cut(program)));
}

spmd::ProgramShardings cutting_for(const Program& program, const Said& said,
                                   const spmd::ProgramShardings* asked, const Places& places,
                                   std::string_view name) {
  spmd::ProgramShardings how;
  if (asked) {
    how = *asked;
  } else if (said.mesh) {
    how.mesh = *said.mesh;
    how.abstract = how.mesh->devices.empty();
  } else {
    how.mesh = (*std::find_if(places.begin(), places.end(), [](const runtime::LayoutPtr& l) {
                 return l && l->devices().size() > 1;
               }))->mesh;
  }
  if (!asked && !how.abstract)
    need_the_devices_of(how, said.mesh.has_value(), program, places, name);
  how.inputs.resize(program.inputs.size());
  // If the axes of this mesh cannot express an array's sharding, the array is resharded as the
  // partitioner chooses.
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i] || how.inputs[i]) continue;
    if (std::optional<Spec> spec =
            spmd::same_cut_over(*how.mesh, *places[i]->mesh, places[i]->spec))
      how.inputs[i] = spmd::RequestedSpec{std::move(*spec)};
  }
  return how;
}

/// Programs that have been partitioned before, by content and places.
struct Followed final : runtime::Kept {
  ProgramPtr program, cut;
  Places places;
};
struct FollowedPrograms {
  std::mutex mutex;
  std::unordered_multimap<std::size_t, std::shared_ptr<const Followed>> all;

  // Never destroyed, because threads may still run during exit.
  static FollowedPrograms& instance() {
    static auto* programs = new FollowedPrograms;
    return *programs;
  }
  std::shared_ptr<const Followed> find(std::size_t hash, const Program& p,
                                       std::span<const runtime::ArrayDataPtr> inputs) {
    Locked lock(mutex);
    const auto [first, last] = all.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (lie_at(it->second->places, inputs) && same_structure(*it->second->program, p))
        return it->second;
    return nullptr;
  }
  void insert(std::size_t hash, const std::shared_ptr<const Followed>& made) {
    {
      Locked lock(mutex);
      all.emplace(hash, made);
    }
    const std::int64_t bytes = runtime::footprint(*made->program) + runtime::footprint(*made->cut);
    runtime::keep(made, bytes, [this, hash, which = made.get()] { drop(hash, which); });
  }
  void drop(std::size_t hash, const Followed* which) {
    std::shared_ptr<const Followed> gone;
    Locked lock(mutex);
    const auto [first, last] = all.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (it->second.get() == which) {
        gone = std::move(it->second);
        all.erase(it);
        return;
      }
  }
};

}  // namespace

Places places_of(std::span<const runtime::ArrayDataPtr> inputs) {
  if (std::none_of(inputs.begin(), inputs.end(), spreads)) return {};
  Places places;
  for (const runtime::ArrayDataPtr& a : inputs)
    places.push_back(spreads(a) || a->layout->committed ? plain_of(a) : nullptr);
  return places;
}

runtime::Backend* platform_of_meshes(const Program& program, runtime::Backend* own,
                                     std::string_view name) {
  for (const Equation& eqn : program.equations) {
    for (const auto& [key, value] : eqn.attrs) {
      const auto* mesh = std::get_if<MeshRef>(&value);
      if (!mesh || (*mesh)->devices.empty()) continue;
      runtime::Backend& found = runtime::backend_of(**mesh);
      if (own && own != &found) refuse_platforms(*own, found, name);
      own = &found;
    }
    for_each_nested(eqn.attrs,
                    [&](const ProgramPtr& q) { own = platform_of_meshes(*q, own, name); });
  }
  return own;
}

runtime::Backend& platform_for(runtime::Backend* own, std::span<const runtime::ArrayDataPtr> inputs,
                               std::string_view name) {
  if (!own) return runtime::backend_for(name, inputs);
  for (const runtime::ArrayDataPtr& a : inputs)
    if (a->layout->committed && a->layout->backend != own) refuse_inputs(*own, inputs, name);
  return *own;
}

std::shared_ptr<const spmd::ProgramShardings> follow(const Program& program,
                                                     const spmd::ProgramShardings* asked,
                                                     const Places& places, std::string_view name) {
  Said said;
  if (!asked) {
    look(program, said);
    if (stays(program, said, !places.empty())) return nullptr;
  }
  return std::make_shared<const spmd::ProgramShardings>(
      cutting_for(program, said, asked, places, name));
}

void need_devices(std::string_view function, const spmd::ProgramShardings& how,
                  const SourceLoc& loc) {
  if (!how.abstract) return;
  Message(function)
      .problem(spmd::mesh_text(how) + " has no devices")
      .rule("a partitioned program runs on devices; what is made for an abstract mesh is planned")
      .from(loc)
      .advice("a Mesh of devices to run it, explain(...) or lower(...).plan() to look at it")
      .raise<ShardingError>();
}

ProgramPtr follow_again(const ProgramPtr& program, std::span<const runtime::ArrayDataPtr> inputs) {
  Said said;
  look(*program, said);
  const bool spread = std::any_of(inputs.begin(), inputs.end(), spreads);
  if (stays(*program, said, spread)) return program;
  std::size_t hash = hash_of(*program);
  if (spread)
    for (const runtime::ArrayDataPtr& a : inputs)
      if (spreads(a)) mix(hash, reinterpret_cast<std::uintptr_t>(plain_of(a).get()));
  FollowedPrograms& programs = FollowedPrograms::instance();
  if (const auto found = programs.find(hash, *program, inputs)) {
    found->touch();
    return found->cut;
  }
  auto made = std::make_shared<Followed>();
  made->program = program;
  made->places = places_of(inputs);
  const spmd::ProgramShardings how =
      cutting_for(*program, said, nullptr, made->places, program->name);
  need_devices(program->name, how, runtime::CallerLine::now());
  made->cut = spmd::partition_program(program, how);
  programs.insert(hash, made);
  return made->cut;
}

}  // namespace tessera::inline v0::detail
