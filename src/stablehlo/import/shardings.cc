// Shardy's meshes and shardings.
#include "spmd/place/blocks.h"
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <set>

namespace tessera::inline v0::stablehlo {

namespace {

MeshRef checked(const ModuleSyntax& module, const MeshSyntax& m, const std::string& platform) {
  constexpr std::int64_t kMost = 1 << 20;
  constexpr std::size_t kMostAxes = 32;
  DeviceMesh mesh;
  // A mesh without axes is a single device with any number.
  if (m.axes.empty() && m.devices.size() == 1 && m.devices[0] >= 0) return MeshRef(mesh);
  if (m.axes.size() > kMostAxes)
    fail(*module.source, m.at,
         {"the mesh has " + std::to_string(m.axes.size()) + " axes",
          "a mesh has at most " + std::to_string(kMostAxes) + " axes"});
  std::int64_t n = 1;
  for (std::size_t i = 0; i < m.axes.size(); ++i) {
    if (std::find(mesh.axes.begin(), mesh.axes.end(), m.axes[i]) != mesh.axes.end())
      fail(*module.source, m.at, {"the mesh has two axes " + shown(m.axes[i])});
    if (m.sizes[i] < 1 || m.sizes[i] > kMost / n)
      fail(*module.source, m.at,
           {"the axis " + shown(m.axes[i]) + " has size " + std::to_string(m.sizes[i]),
            "a mesh has a device at least, and at most " + std::to_string(kMost)});
    n *= m.sizes[i];
    mesh.axes.push_back(m.axes[i]);
    mesh.sizes.push_back(m.sizes[i]);
  }
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  for (std::int64_t d : m.devices) {
    if (d < 0 || d >= n || seen[static_cast<std::size_t>(d)] ||
        m.devices.size() != static_cast<std::size_t>(n))
      fail(*module.source, m.at,
           {"the mesh's device_ids are no order of its " + std::to_string(n) + " devices"});
    seen[static_cast<std::size_t>(d)] = true;
    mesh.devices.push_back(static_cast<int>(d));
  }
  for (int d = 0; m.devices.empty() && d < static_cast<int>(n); ++d) mesh.devices.push_back(d);
  mesh.platform = platform;
  return MeshRef(std::move(mesh));
}

// A key for a mesh that is written inline in a sharding.
std::string sharding_key(const MeshSyntax& m) {
  std::string key = "mesh<";
  for (std::size_t i = 0; i < m.axes.size(); ++i)
    key += shown(m.axes[i]) + "=" + std::to_string(m.sizes[i]) + ",";
  for (const std::int64_t d : m.devices) key += std::to_string(d) + ";";
  return key + ">";
}

std::string named(const AttributeSyntax& sharding) {
  return sharding.text.empty() ? "the mesh" : "the mesh @" + std::string(sharding.text);
}

// The first sharding of a manual computation, including those in regions of operations.
const AttributeSyntax* sharding_of_computation(const RegionSyntax& region) {
  for (const OperationSyntax& op : region.operations) {
    if (op.name == "sdy.manual_computation")
      for (const char* key : {"in_shardings", "out_shardings"})
        if (const AttributeSyntax* list = op.find(key); list && !list->items.empty())
          if (list->items[0].kind == AttributeSyntax::sharding) return &list->items[0];
    for (const RegionSyntax& inside : op.regions)
      if (const AttributeSyntax* found = sharding_of_computation(inside)) return found;
  }
  return nullptr;
}

}  // namespace

MeshRef Importer::mesh_of(const AttributeSyntax& sharding) const {
  if (sharding.kind != AttributeSyntax::sharding)
    fail(*module.source, sharding.at, {"a sharding should stand here"});
  if (const AttributeSyntax* own = stablehlo::find(sharding.entries, "mesh")) {
    const MeshSyntax m = mesh_syntax(*own);
    const std::string key = sharding_key(m);
    const auto known = meshes_.find(key);
    return known != meshes_.end()
               ? known->second
               : meshes_.emplace(key, checked(module, m, options.platform)).first->second;
  }
  if (const auto known = meshes_.find(sharding.text); known != meshes_.end()) return known->second;
  const auto it = module.meshes.find(sharding.text);
  if (it == module.meshes.end())
    fail(*module.source, sharding.at,
         {"there is no mesh @" + std::string(sharding.text) + " in this module"});
  return meshes_.emplace(std::string(sharding.text), checked(module, it->second, options.platform))
      .first->second;
}

std::vector<MeshRef> Importer::meshes_over(std::int64_t count) const {
  std::vector<MeshRef> found;
  for (const auto& [name, syntax] : module.meshes) try {
      const MeshRef mesh = checked(module, syntax, options.platform);
      if (mesh->size() == count && !mesh->axes.empty()) found.push_back(mesh);
    } catch (const IoError&) {  // importing something that uses the mesh reports the error
    }
  return found;
}

Importer::Cut Importer::cut_of(const AttributeSyntax& sharding, int rank) const {
  const MeshRef mesh = mesh_of(sharding);
  if (sharding.items.size() != static_cast<std::size_t>(rank))
    fail(*module.source, sharding.at,
         {"this sharding has " + std::to_string(sharding.items.size()) +
          " dimensions, and the array " + std::to_string(rank)});
  Cut cut;
  Spec::Dims dims;
  std::set<std::string_view> cuts, others;
  const auto known = [&](const AttributeSyntax& axis) {
    if (mesh->find(axis.text) < 0)
      fail(*module.source, axis.at, {named(sharding) + " has no axis " + shown(axis.text)});
  };
  for (std::size_t d = 0; d < sharding.items.size(); ++d) {
    dims.emplace_back();
    for (const AttributeSyntax& axis : sharding.items[d].items) {
      if (axis.kind == AttributeSyntax::unit) {
        cut.open.push_back(static_cast<std::int64_t>(d));
        continue;
      }
      known(axis);
      if (!axis.values.empty())
        fail(*module.source, axis.at,
             {"a part of the axis " + shown(axis.text), "dimensions are cut by whole axes",
              "give the part a name of its own in the mesh"});
      if (!cuts.insert(axis.text).second)
        fail(*module.source, axis.at, {"the axis " + shown(axis.text) + " cuts two dimensions"});
      dims.back().emplace_back(axis.text);
    }
  }
  for (const char* key : {"replicated", "unreduced"}) {
    const AttributeSyntax* along = stablehlo::find(sharding.entries, key);
    if (!along) continue;
    for (const AttributeSyntax& axis : along->items) {
      known(axis);
      if (cuts.count(axis.text) && axis.values.empty())
        fail(*module.source, axis.at,
             {"the axis " + shown(axis.text) + " cuts a dimension, and is " + key + " too"});
      if (axis.values.empty() && !others.insert(axis.text).second)
        fail(*module.source, axis.at,
             {"the axis " + shown(axis.text) + " is named twice behind the dimensions"});
      if (key != std::string_view("unreduced")) continue;
      cut.unreduced.emplace_back(axis.text);
      cut.combiner = along->text == "max"   ? Combiner::max
                     : along->text == "min" ? Combiner::min
                                            : Combiner::add;
    }
  }
  cut.spec = Spec(std::move(dims));
  return cut;
}

std::optional<DeclaredSharding> Importer::declared_sharding(const Attributes& attributes,
                                                            int rank) const {
  const AttributeSyntax* sharding = sharding_in(attributes);
  if (!sharding) return std::nullopt;
  try {
    if (sharding->kind == AttributeSyntax::string) return declared_by_tiles(*sharding, rank);
    MeshRef mesh = mesh_of(*sharding);
    if (mesh->axes.empty()) {
      const AttributeSyntax* own = stablehlo::find(sharding->entries, "mesh");
      const MeshSyntax m = own ? mesh_syntax(*own) : module.meshes.find(sharding->text)->second;
      DeviceMesh one;
      one.devices.push_back(m.devices.empty() ? 0 : static_cast<int>(m.devices[0]));
      mesh = MeshRef(std::move(one));
    }
    Cut cut = cut_of(*sharding, rank);
    return DeclaredSharding{mesh, cut.spec, std::move(cut.open), std::move(cut.unreduced),
                            cut.combiner};
  } catch (const IoError&) {
    return std::nullopt;
  }
}

const MeshRef& Importer::partitioned_over(const MeshRef& mesh) const {
  if (!partitioned_over_) {
    const AttributeSyntax* first = nullptr;
    for (const FunctionSyntax& f : module.functions)
      if (!first) first = sharding_of_computation(f.body);
    partitioned_over_ = first ? mesh_of(*first) : mesh;
  }
  return *partitioned_over_;
}

Value Importer::constrained_whole(Value x, const AttributeSyntax& sharding) const {
  if (sharding.kind != AttributeSyntax::sharding || options.devices == 0)
    return constrained(x, sharding);
  const MeshRef mesh = mesh_of(sharding);
  const Cut cut = cut_of(sharding, x.rank());
  if (cut.unreduced.empty()) return constrained(x, sharding);
  return mesh->size() == options.devices ? lying(x, mesh, cut.spec, cut.open) : x;
}

// Inside a manual computation only the other axes can be constrained. JAX leaves every value there
// unconstrained.
Value Importer::lying(Value x, const MeshRef& mesh, const Spec& spec, const Ints& open) const {
  if (const MeshRef& chosen = partitioned_over(mesh); chosen != mesh) {
    const std::optional<Spec> there = spmd::same_cut_over(*chosen, *mesh, spec);
    return there ? lying(x, chosen, *there, open) : x;
  }
  if (!devices) return ops::sharding_constraint(x, mesh, spec, open);
  const Strings& manual = devices->manual;
  if (!devices->typed || devices->mesh != *mesh || manual.size() == mesh->axes.size()) return x;
  Spec::Dims dims = spec.dims();
  for (auto& axes : dims)
    std::erase_if(axes, [&](const std::string& axis) {
      return std::find(manual.begin(), manual.end(), axis) != manual.end();
    });
  const bool free =
      std::all_of(dims.begin(), dims.end(), [](const auto& axes) { return axes.empty(); });
  if (free && static_cast<int>(open.size()) == x.rank()) return x;
  return ops::sharding_constraint(x, mesh, Spec(std::move(dims)), open);
}

const AttributeSyntax* Importer::sharding_in(const Attributes& attributes) {
  const AttributeSyntax* ours = stablehlo::find(attributes, "sdy.sharding");
  return ours ? ours : stablehlo::find(attributes, "mhlo.sharding");
}

Value Importer::constrained(Value x, const AttributeSyntax& sharding, const Ints& open) const {
  if (sharding.kind == AttributeSyntax::string) return constrained_by_tiles(x, sharding, open);
  if (sharding.kind != AttributeSyntax::sharding || options.devices == 0) return x;
  const MeshRef mesh = mesh_of(sharding);
  if (mesh->size() != options.devices || mesh->axes.empty()) return x;
  const Cut cut = cut_of(sharding, x.rank());
  // A value that may stay a partial result is one already where that is cheapest.
  if (!cut.unreduced.empty()) return x;
  // The per-device values already have this sharding.
  const auto own = own_values_.find({x.builder, x.var});
  if (own != own_values_.end() && own->second.mesh == mesh && own->second.spec == cut.spec)
    return x;
  return lying(x, mesh, cut.spec, cut.open);
}

namespace rules {

Values sharding_constraint(Reading& r) {
  r.need_operands(1);
  return {r.importer.constrained(r.in[0], r.need("sharding"))};
}

namespace {

// Checks that each axis of the mesh is listed at most once, by dimension or not.
void check_axes(Reading& r, const AttributeSyntax& sharding, const AttributeSyntax& list,
                std::set<std::string_view>& named) {
  const MeshRef mesh = r.importer.mesh_of(sharding);
  for (const AttributeSyntax& item : list.items) {
    if (item.kind == AttributeSyntax::list) {
      check_axes(r, sharding, item, named);
      continue;
    }
    if (mesh->find(item.text) < 0)
      fail(*r.importer.module.source, item.at, {"the mesh has no axis " + shown(item.text)});
    if (item.values.empty() && !named.insert(item.text).second)
      fail(*r.importer.module.source, item.at,
           {std::string(r.op.name) + " names the axis " + shown(item.text) + " twice"});
  }
}

}  // namespace

// Shardy's collectives only change the sharding of a global array. In one that reduces, the
// devices' values are partial results of a sum, which is the global array.
Values redistributed(Reading& r) {
  r.need_operands(1);
  const AttributeSyntax& sharding = r.need("out_sharding");
  for (const char* key : {"gathering_axes", "slicing_axes", "params", "reduction_axes",
                          "reduce_scatter_axes", "axes"})
    if (const AttributeSyntax* axes = r.find(key)) {
      std::set<std::string_view> named;
      check_axes(r, sharding, *axes, named);
    }
  return {r.importer.constrained(r.in[0], sharding)};
}

Values edge(Reading& r) {
  r.need_operands(1);
  const AttributeSyntax* sharding = r.find("sharding");
  return {sharding ? r.importer.constrained(r.in[0], *sharding) : r.in[0]};
}

// A member of a group of arrays that should have equal shardings. It is tied to the first member by
// an equation, and from here on both are read through equations like that, so that the tie is kept
// if the program needs only one of them.
Values sharding_group(Reading& r) {
  r.need_operands(1);
  const Value x = r.in[0];
  const auto [found, is_first] = r.importer.sharding_groups.emplace(r.integer("group_id"), x);
  const Value first = found->second;
  if (is_first || r.importer.options.devices == 0 || first == x || first.builder != x.builder ||
      first.type() != x.type())
    return {};
  found->second = ops::shard_alike(first, x);
  r.scope.level().read_instead(first, found->second);
  r.scope.level().read_instead(x, ops::shard_alike(x, first));
  return {};
}

Values named_computation(Reading& r) {
  r.need_regions(1);
  std::vector<Bound> arguments = r.operands;
  const auto asked = [&](const char* key, std::vector<Bound>& values) {
    const AttributeSyntax* list = r.find(key);
    if (!list) return;
    if (list->items.size() != values.size())
      r.refuse(std::string(key) + " has " + std::to_string(list->items.size()) + " shardings for " +
               std::to_string(values.size()) + " values");
    for (std::size_t i = 0; i < values.size(); ++i)
      for (Value& v : values[i].leaves) v = r.importer.constrained(v, list->items[i]);
  };
  asked("in_shardings", arguments);
  std::vector<Bound> results = r.importer.in_place(r, r.op.regions[0], arguments);
  asked("out_shardings", results);
  Values out;
  for (const Bound& b : results) out.insert(out.end(), b.leaves.begin(), b.leaves.end());
  return out;
}

}  // namespace rules

}  // namespace tessera::inline v0::stablehlo
