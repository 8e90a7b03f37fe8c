#include "platforms/maps.h"

#include "base/message.h"
#include "ir/builder.h"
#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ir/region_attrs.h"
#include "ops/build.h"
#include "platforms/axes_inside.h"
#include "transform/map_nested.h"
#include "transform/replace_equations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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

// Axes by the axes that stand for them.
using Renaming = std::map<std::string, Strings>;

Strings renamed(const Strings& axes, const Renaming& names) {
  Strings out;
  for (const std::string& axis : axes) {
    const auto at = names.find(axis);
    const Strings parts = at == names.end() ? Strings{axis} : at->second;
    for (const std::string& part : parts)  // all axes of size 1 may have become one
      if (std::find(out.begin(), out.end(), part) == out.end()) out.push_back(part);
  }
  return out;
}

Spec renamed(const Spec& spec, const Renaming& names) {
  Spec::Dims dims;
  for (const Spec::Axes& axes : spec.dims()) dims.push_back(renamed(axes, names));
  return Spec(std::move(dims));
}

// The program with other axes in its collectives.
ProgramPtr renamed(const ProgramPtr& p, const Renaming& names) {
  std::shared_ptr<Program> out;
  for (std::size_t i = 0; i < p->equations.size(); ++i) {
    const Equation& e = p->equations[i];
    Renaming inside = names;
    std::erase_if(inside, [&](const auto& entry) { return hides(e, entry.first); });
    bool changed = false;
    Attrs attrs = map_nested(
        e.attrs, [&](const ProgramPtr& q) { return renamed(q, inside); }, changed);
    if (const auto collective = CollectiveAttrs::find(e.attrs)) {
      Strings axes = renamed(collective->axes, names);
      if (axes != collective->axes) {
        attrs = CollectiveAttrs::with_axes(std::move(attrs), std::move(axes),
                                           collective->has_size() ? collective->size() : 0);
        changed = true;
      }
    }
    if (!changed) continue;
    if (!out) out = std::make_shared<Program>(*p);
    out->equations[i].attrs = std::move(attrs);
  }
  return out ? ProgramPtr(out) : p;
}

// Replaces maps nested in other maps, from the inside outwards: the outer map runs over a mesh that
// has the inner maps' axes as well, and the inner bodies are inlined. `before` has each new mesh
// with the one it replaces.
class Flattening {
 public:
  Flattening(int device_count, std::string_view name) : device_count_(device_count), name_(name) {}

  ProgramPtr flat(const ProgramPtr& p) {
    const ProgramPtr inner = map_nested(p, [&](const ProgramPtr& q) { return flat(q); });
    return replace_equations(inner, [&](const Program& whole, const Equation& eqn) {
      return is_map(eqn) ? joined(whole, eqn) : nullptr;
    });
  }
  std::vector<std::pair<MeshRef, MeshRef>> before;

 private:
  // Whether a nested map adds axes. One over other axes of the same mesh does not.
  static bool adds_axes(const Equation& inner, const MeshShape& around) {
    return is_map(inner) && RegionAttrs(inner.attrs).mesh->axes != around.axes;
  }

  // The different meshes of maps inside `p`, which have no maps inside any more.
  static void find_shapes(const Program& p, const MeshShape& around,
                          std::vector<MeshShape>& found) {
    for (const Equation& e : p.equations) {
      if (adds_axes(e, around)) {
        const MeshShape& own = *RegionAttrs(e.attrs).mesh;
        if (std::find(found.begin(), found.end(), own) == found.end()) found.push_back(own);
      } else {
        for_each_nested(e.attrs, [&](const ProgramPtr& q) { find_shapes(*q, around, found); });
      }
    }
  }

  std::shared_ptr<Program> joined(const Program& whole, const Equation& eqn) {
    const RegionAttrs region(eqn.attrs);
    std::vector<MeshShape> shapes;
    find_shapes(*region.body, *region.mesh, shapes);
    if (shapes.empty()) return nullptr;
    const AxesInside inside(shapes, *region.mesh);
    const MeshRef mesh = wider(*region.mesh, inside);
    before.emplace_back(mesh, region.mesh);
    const ProgramPtr body = inlined(region.body, *region.mesh, inside, *mesh);
    return parts_for(whole, eqn, [&](Builder& b, const Values& operands) -> std::optional<Values> {
      return ops::shard_map(b, body, operands, mesh, region.in_specs, region.out_specs,
                            region.typed);
    });
  }

  // The body without maps that add axes: every device of `wide` runs their bodies.
  static ProgramPtr inlined(const ProgramPtr& p, const MeshShape& around, const AxesInside& inside,
                            const MeshShape& wide) {
    const ProgramPtr nested =
        map_nested(p, [&](const ProgramPtr& q) { return inlined(q, around, inside, wide); });
    return replace_equations(nested, [&](const Program& whole, const Equation& eqn) {
      if (!adds_axes(eqn, around)) return std::shared_ptr<Program>();
      const RegionAttrs region(eqn.attrs);
      Renaming names;
      for (const std::string& axis : region.mesh->axes)
        names[axis] = inside.parts_of(*region.mesh, axis);
      const ProgramPtr body = renamed(region.body, names);
      return parts_for(whole, eqn, [&](Builder& b, const Values& operands) {
        Values blocks;
        for (std::size_t i = 0; i < operands.size(); ++i)
          blocks.push_back(block_of(operands[i], renamed(region.in_specs[i], names), wide));
        Values out = b.inline_program(*body, blocks);
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = whole_of(out[i], renamed(region.out_specs[i], names), wide);
        return std::optional(std::move(out));
      });
    });
  }

  // The mesh with the added axes as its minor ones. The first device along them is the one of the
  // original mesh; the others are unused devices of the platform, in order of id.
  MeshRef wider(const DeviceMesh& mesh, const AxesInside& inside) const {
    const MeshShape& added = inside.all();
    DeviceMesh out{{mesh.axes, mesh.sizes}, {}, mesh.platform};
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
        if (next == free.end()) need_devices(mesh, inside);
        out.devices.push_back(*next++);
      }
    }
    return MeshRef(std::move(out));
  }

  [[noreturn]] void need_devices(const MeshShape& mesh, const AxesInside& inside) const {
    const std::string around = std::to_string(mesh.size()),
                      each = std::to_string(inside.all().size()),
                      all = std::to_string(mesh.size() * inside.all().size());
    Message(name_)
        .problem("maps inside a map over " + around + (mesh.size() == 1 ? " device" : " devices") +
                 " need " + each + " for each of these, " + all +
                 " together, and the platform has " + std::to_string(device_count_))
        .rule(inside.multiplies()
                  ? "a plug-in compiles the maps of a program over one mesh; maps inside it share "
                    "devices if the number of one divides that of the other, and need the product "
                    "otherwise"
                  : "each device runs the maps inside it on devices of its own")
        .advice("use vmap inside")
        .raise<DeviceError>();
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
