#include "platforms/maps.h"

#include "base/message.h"
#include "ir/builder.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ir/region_attrs.h"
#include "ops/build.h"
#include "transform/map_nested.h"
#include "transform/replace_equations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace tessera::inline v0::platforms {

namespace {

bool is_map(const Equation& e) {
  const std::optional<Flow> flow = flow_of(e);
  return flow && flow->kind == Flow::Kind::region;
}

void find_meshes(const Equation& e, std::vector<MeshRef>& found) {
  if (is_map(e)) found.push_back(RegionAttrs(e.attrs).mesh);
  if (e.op->constrains) found.push_back(e.op->constrains(e.attrs).mesh);
  for_each_nested(e.attrs, [&](const ProgramPtr& q) {
    for (const Equation& inner : q->equations) find_meshes(inner, found);
  });
}

// This device's block of a whole value.
Value block_of(Value x, const Spec& spec, const MeshShape& mesh) {
  if (spec.replicated()) return x;
  const Shape block = block_shape(x.shape(), spec, mesh);
  Values starts;
  for (int d = 0; d < block.rank(); ++d) {
    const Spec::Axes& axes = spec.axes_of(d);
    Value start = axes.empty() ? ops::scalar(*x.builder, DType::int32, 0)
                               : ops::axis_index(*x.builder, axes, mesh.size_of(axes));
    if (!axes.empty())
      start = ops::mul(start, ops::scalar(*x.builder, DType::int32, static_cast<double>(block[d])));
    starts.push_back(start);
  }
  return ops::dynamic_slice(x, starts, Ints(block.begin(), block.end()));
}

// Gathers the blocks of all devices into the whole value.
Value whole_of(Value block, const Spec& spec, const MeshShape& mesh) {
  for (std::size_t d = 0; d < spec.dims().size(); ++d)
    if (const Spec::Axes& axes = spec.dims()[d]; !axes.empty())
      block = ops::all_gather(block, axes, mesh.size_of(axes), static_cast<int>(d), true);
  return block;
}

// Replaces maps nested in other maps: the outer map runs over a mesh that has the inner maps' axes
// as well, and the inner bodies are inlined. `before` has each new mesh with the one it replaces.
class Flattening {
 public:
  Flattening(int device_count, std::string_view name) : device_count_(device_count), name_(name) {}

  ProgramPtr flat(const ProgramPtr& p) {
    const ProgramPtr outer = replace_equations(p, [&](const Program& whole, const Equation& eqn) {
      return is_map(eqn) ? joined(whole, eqn) : nullptr;
    });
    return map_nested(outer, [&](const ProgramPtr& q) { return flat(q); });
  }
  std::vector<std::pair<MeshRef, MeshRef>> before;

 private:
  // Whether a nested map adds axes. One over other axes of the same mesh does not.
  static bool adds_axes(const Equation& inner, const MeshShape& around) {
    return is_map(inner) && RegionAttrs(inner.attrs).mesh->axes != around.axes;
  }

  // The axes that maps inside `p` add, which must be the same for all of them.
  void add_axes(const Program& p, const MeshShape& around, std::optional<MeshShape>& added) const {
    for (const Equation& e : p.equations) {
      if (adds_axes(e, around)) {
        MeshShape own = *RegionAttrs(e.attrs).mesh;
        std::optional<MeshShape> further;
        add_axes(*RegionAttrs(e.attrs).body, own, further);
        if (further) {
          own.axes.insert(own.axes.end(), further->axes.begin(), further->axes.end());
          own.sizes.insert(own.sizes.end(), further->sizes.begin(), further->sizes.end());
        }
        if (added && !(*added == own))
          Message(name_)
              .problem("maps inside one map are over " + std::to_string(added->size()) + " and " +
                       std::to_string(own.size()) + " devices")
              .rule(
                  "a plug-in compiles maps inside one map if all are over axes of equal names "
                  "and sizes")
              .advice("use vmap inside, or a call of pmap for each of them")
              .raise<DeviceError>();
        added = std::move(own);
      } else {
        for_each_nested(e.attrs, [&](const ProgramPtr& q) { add_axes(*q, around, added); });
      }
    }
  }

  std::shared_ptr<Program> joined(const Program& whole, const Equation& eqn) {
    const RegionAttrs region(eqn.attrs);
    std::optional<MeshShape> added;
    add_axes(*region.body, *region.mesh, added);
    if (!added) return nullptr;
    const MeshRef mesh = wider(*region.mesh, *added);
    before.emplace_back(mesh, region.mesh);
    const ProgramPtr body = inlined(region.body, *region.mesh);
    return parts_for(whole, eqn, [&](Builder& b, const Values& operands) -> std::optional<Values> {
      return ops::shard_map(b, body, operands, mesh, region.in_specs, region.out_specs,
                            region.typed);
    });
  }

  // The body without maps that add axes: every device runs their bodies.
  ProgramPtr inlined(const ProgramPtr& p, const MeshShape& around) const {
    const ProgramPtr nested =
        map_nested(p, [&](const ProgramPtr& q) { return inlined(q, around); });
    return replace_equations(nested, [&](const Program& whole, const Equation& eqn) {
      if (!adds_axes(eqn, around)) return std::shared_ptr<Program>();
      const RegionAttrs region(eqn.attrs);
      return parts_for(whole, eqn, [&](Builder& b, const Values& operands) {
        Values blocks;
        for (std::size_t i = 0; i < operands.size(); ++i)
          blocks.push_back(block_of(operands[i], region.in_specs[i], *region.mesh));
        Values out = b.inline_program(*region.body, blocks);
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = whole_of(out[i], region.out_specs[i], *region.mesh);
        return std::optional(std::move(out));
      });
    });
  }

  // The mesh with the added axes as its minor ones. The first device along them is the one of the
  // original mesh; the others are unused devices of the platform, in order of id.
  MeshRef wider(const DeviceMesh& mesh, const MeshShape& added) const {
    DeviceMesh out{{mesh.axes, mesh.sizes}, {}};
    out.axes.insert(out.axes.end(), added.axes.begin(), added.axes.end());
    out.sizes.insert(out.sizes.end(), added.sizes.begin(), added.sizes.end());
    const std::vector<int> own = devices_of(mesh);
    std::vector<int> free;
    for (int d = 0; d < device_count_; ++d)
      if (std::find(own.begin(), own.end(), d) == own.end()) free.push_back(d);
    auto next = free.begin();
    for (const int d : own) {
      out.devices.push_back(d);
      for (std::int64_t k = 1; k < added.size(); ++k) {
        if (next == free.end())
          Message(name_)
              .problem("maps inside one another need " + std::to_string(out.size()) + " devices")
              .rule("the platform has " + std::to_string(device_count_))
              .advice("use vmap inside")
              .raise<DeviceError>();
        out.devices.push_back(*next++);
      }
    }
    return MeshRef(std::move(out));
  }

  const int device_count_;
  const std::string_view name_;
};

}  // namespace

std::vector<MeshRef> meshes_of(const Program& p) {
  std::vector<MeshRef> found;
  for (const Equation& e : p.equations) find_meshes(e, found);
  return found;
}
std::vector<MeshRef> meshes_of(const Equation& eqn) {
  std::vector<MeshRef> found;
  find_meshes(eqn, found);
  return found;
}

std::vector<int> devices_of(const DeviceMesh& mesh) {
  std::vector<int> all = mesh.devices;
  if (all.empty()) {
    all.resize(static_cast<std::size_t>(mesh.size()));
    std::iota(all.begin(), all.end(), 0);
  }
  return all;
}

FlatMaps flat_maps(const ProgramPtr& p, int device_count, std::string_view name) {
  Flattening flattening(device_count, name);
  ProgramPtr flat = flattening.flat(p);
  return {std::move(flat), std::move(flattening.before)};
}

}  // namespace tessera::inline v0::platforms
