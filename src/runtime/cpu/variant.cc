#include "runtime/cpu/variant.h"

#include "processes/processes.h"
#include "runtime/cpu/execute.h"
#include "runtime/host/devices.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

// Finds, for each instance of a slot, a position in the region's mesh that belongs to this process.
void find_places(const Tape& tape, const Region& region, const Slot& slot, const Layout& layout,
                 ArgumentPlan& plan) {
  std::map<std::int64_t, std::int64_t> places;  // the first position of each instance
  for (std::size_t k = 0; k < layout.shards(); ++k) {
    const std::int64_t place = layout.place(k);
    Coords c;
    std::int64_t rest = place, instance = 0;
    for (std::size_t a = region.axes.size(); a-- > 0;) {
      c.at[region.axes[a]] = rest % region.mesh->sizes[a];
      rest /= region.mesh->sizes[a];
    }
    for (std::size_t a = 0; a < tape.axes.size(); ++a)
      if (slot.mask >> a & 1) instance = instance * tape.axes[a].size + c.at[a];
    places.try_emplace(instance, place);
  }
  for (const auto& [instance, place] : places) {
    plan.instance.push_back(slot.place(instance));
    plan.position.push_back(place);
  }
}
std::vector<std::int64_t> instances_of_shards(const Region& region, const Slot& slot,
                                              const Layout& layout) {
  std::vector<std::int64_t> instances;
  for (std::size_t k = 0; k < layout.shards(); ++k) {
    Coords c;
    std::int64_t rest = layout.place(k), index = 0;
    for (std::size_t a = region.axes.size(); a-- > 0;) {
      c.at[region.axes[a]] = rest % region.mesh->sizes[a];
      rest /= region.mesh->sizes[a];
    }
    for (const AxisStride& s : slot.instance) index += c.at[s.axis] * s.stride;
    instances.push_back(slot.place(index));
  }
  return instances;
}

LayoutPtr layout_of(const Region& r, const Spec& spec, bool committed) {
  return intern(Layout{r.mesh, spec, committed});
}

bool calls_libraries(const Tape& tape) {
  for (const Phase& phase : tape.phases)
    for (const Step& step : phase.steps) {
      if (const auto* work = std::get_if<RoutineStep>(&step.kind); work && work->routine->library)
        return true;
      if (const ControlStep* control = step.control())
        for (const auto& body : control->bodies)
          if (calls_libraries(*body)) return true;
    }
  return false;
}

}  // namespace

std::shared_ptr<const Variant> make_variant(std::shared_ptr<const Tape> planned,
                                            std::vector<bool> uniform, std::size_t inputs) {
  auto v = std::make_shared<Variant>();
  v->uniform = std::move(uniform);
  v->tape = std::move(planned);
  const Tape& tape = *v->tape;
  v->libraries = calls_libraries(tape);
  v->of_input.resize(inputs);
  for (const Region& r : tape.regions)
    for (int d : r.mesh->devices) {
      v->last_device = std::max(v->last_device, d);
      v->between = v->between || !is_local(d);
    }
  if (processes::count() > 1 && !tape.regions.empty()) {
    const MeshRef& mesh = tape.regions[0].mesh;
    std::set<int> owners;
    for (const int d : mesh->devices) owners.insert(process_of(d));
    if (owners.size() == 1)
      v->whole = intern(on_device(mesh->devices[0], true));
    else if (std::ssize(owners) < processes::count())
      v->whole = intern(Layout{mesh, Spec(), true});
  }
  for (std::size_t i = 0; i < tape.arguments.size(); ++i) {
    const Argument& a = tape.arguments[i];
    v->of_input[a.input].push_back(i);
    ArgumentPlan plan;
    if (a.region >= 0) {
      const Region& r = tape.regions[static_cast<std::size_t>(a.region)];
      plan.committed = layout_of(r, a.spec, true);
      plan.uncommitted = layout_of(r, a.spec, false);
      find_places(tape, r, tape.slots[static_cast<std::size_t>(a.slot)], *plan.committed, plan);
      if (!a.source.empty()) {
        for (std::int64_t& p : plan.position) p = a.source[static_cast<std::size_t>(p)];
      }
      plan.blocks.emplace(a.type, *r.mesh, a.spec);
      if (plan.blocks->contiguous())
        for (std::int64_t p : plan.position)
          plan.offset.push_back(plan.blocks->offset_of(plan.blocks->block_of(p)));
    }
    v->arguments.push_back(std::move(plan));
  }
  for (const Result& r : tape.results) {
    ResultPlan plan;
    if (r.region >= 0) {
      const Region& region = tape.regions[static_cast<std::size_t>(r.region)];
      plan.layout = layout_of(region, r.spec, true);
    }
    if (r.slot >= 0) {
      const Slot& s = tape.slots[static_cast<std::size_t>(r.slot)];
      plan.bytes = s.bytes * tape.stored(s);
      if (r.region >= 0) {
        const Region& region = tape.regions[static_cast<std::size_t>(r.region)];
        plan.instance = instances_of_shards(region, s, *plan.layout);
        spmd::Blocks blocks(r.type, *region.mesh, r.spec);
        plan.uniform = blocks.count() > 1 && s.mask == 0;
      }
    }
    v->results.push_back(std::move(plan));
  }
  return v;
}

}  // namespace tessera::inline v0::runtime
