// Shardy's meshes, shardings and programs for each device.
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <set>

namespace tessera::inline v0::stablehlo {

MeshRef Importer::mesh_of(const AttributeSyntax& sharding) const {
  const auto it = module.meshes.find(sharding.text);
  if (it == module.meshes.end())
    fail(*module.source, sharding.at,
         {"there is no mesh @" + std::string(sharding.text) + " in this module"});
  const MeshSyntax& m = it->second;
  constexpr std::int64_t kMost = 1 << 20;
  DeviceMesh mesh;
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
  return MeshRef(std::move(mesh));
}

Importer::Cut Importer::cut_of(const AttributeSyntax& sharding, int rank) const {
  if (sharding.kind != AttributeSyntax::sharding)
    fail(*module.source, sharding.at, {"a sharding should stand here"});
  const MeshRef mesh = mesh_of(sharding);
  if (sharding.items.size() != static_cast<std::size_t>(rank))
    fail(*module.source, sharding.at,
         {"this sharding has " + std::to_string(sharding.items.size()) +
          " dimensions, and the array " + std::to_string(rank)});
  Cut cut;
  Spec::Dims dims;
  std::set<std::string_view> used;
  for (std::size_t d = 0; d < sharding.items.size(); ++d) {
    dims.emplace_back();
    for (const AttributeSyntax& axis : sharding.items[d].items) {
      if (axis.kind == AttributeSyntax::unit) {
        cut.open.push_back(static_cast<std::int64_t>(d));
        continue;
      }
      if (mesh->find(axis.text) < 0)
        fail(*module.source, axis.at,
             {"the mesh @" + std::string(sharding.text) + " has no axis " + shown(axis.text)});
      if (!used.insert(axis.text).second)
        fail(*module.source, axis.at, {"the axis " + shown(axis.text) + " cuts two dimensions"});
      dims.back().emplace_back(axis.text);
    }
  }
  cut.spec = Spec(std::move(dims));
  return cut;
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
  Cut cut = cut_of(sharding, x.rank());
  return ops::sharding_constraint(x, mesh, cut.spec, cut.open);
}

namespace rules {

Values sharding_constraint(Reading& r) {
  r.need_operands(1);
  // The text has it without a name.
  return {
      r.importer.constrained(r.in[0], r.find("sharding") ? r.need("sharding") : r.need("value"))};
}

namespace {

// Of shardings that are texts, the first that cuts an array names the devices.
MeshRef mesh_of_tiles(Reading& r, const AttributeSyntax& in, const AttributeSyntax& out) {
  for (std::size_t i = 0; i < in.items.size(); ++i)
    if (const std::optional<MeshRef> m = r.importer.mesh_of_tiles(in.items[i], r.in[i].rank()))
      return *m;
  for (std::size_t i = 0; i < out.items.size(); ++i)
    if (const std::optional<MeshRef> m =
            r.importer.mesh_of_tiles(out.items[i], r.result(i).shape.rank()))
      return *m;
  r.refuse("no array that it takes or gives is cut", "the devices are those of a cut array");
}

}  // namespace

// What it reads from outside is the same on all devices.
Values manual_computation(Reading& r) {
  r.need_regions(1);
  if (r.importer.devices) r.refuse("it stands inside a program for each device");
  const AttributeSyntax &in = r.need("in_shardings"), &out = r.need("out_shardings");
  const RegionSyntax& region = r.op.regions[0];
  if (in.items.size() != r.in.size() || region.arguments.size() != r.in.size() ||
      out.items.size() != r.op.result_types.size())
    r.refuse("it does not have a sharding for each operand and result");
  if (in.items.empty() && out.items.empty()) r.refuse("it has neither operands nor results");
  const AttributeSyntax& any = in.items.empty() ? out.items[0] : in.items[0];
  const bool tiles = any.kind == AttributeSyntax::string;
  const MeshRef mesh = tiles ? mesh_of_tiles(r, in, out) : r.importer.mesh_of(any);
  Strings axes;
  if (tiles) axes = mesh->axes;
  for (const AttributeSyntax& a : tiles ? List<AttributeSyntax>() : r.need("manual_axes").items) {
    if (mesh->find(a.text) < 0)
      fail(*r.importer.module.source, a.at, {"the mesh has no axis " + shown(a.text)});
    if (std::find(axes.begin(), axes.end(), a.text) != axes.end())
      fail(*r.importer.module.source, a.at,
           {"manual_axes names the axis " + shown(a.text) + " twice"});
    axes.emplace_back(a.text);
  }
  const auto spec = [&](const AttributeSyntax& a, int rank) {
    if (tiles) return r.importer.spec_of_tiles(a, rank, mesh);
    if (!(r.importer.mesh_of(a) == mesh)) r.refuse("its shardings are over several meshes");
    return r.importer.cut_of(a, rank).spec;
  };
  Specs ins, outs;
  for (std::size_t i = 0; i < r.in.size(); ++i) {
    ins.push_back(spec(in.items[i], r.in[i].rank()));
    const Type block = r.importer.type(region.arguments[i].type);
    for (int d = 0; d < r.in[i].rank(); ++d)
      if (r.in[i].shape()[d] % mesh->size_of(ins.back().axes_of(d)))
        r.refuse("the devices do not divide dimension " + std::to_string(d) + " of operand " +
                 std::to_string(i));
    if (block != Type(r.in[i].dtype(), block_shape(r.in[i].shape(), ins.back(), *mesh)))
      r.refuse("argument " + std::to_string(i) + " of its region is no block of its operand");
  }
  for (std::size_t i = 0; i < out.items.size(); ++i)
    outs.push_back(spec(out.items[i], r.result(i).shape.rank()));
  r.importer.devices = Devices{1, mesh->size(), *mesh};
  RegionProgram body = r.importer.region(r, region);
  r.importer.devices.reset();
  Values operands = r.in;
  operands.insert(operands.end(), body.captured.begin(), body.captured.end());
  ins.resize(operands.size());
  if (axes.size() == mesh->axes.size())
    return ops::shard_map(r.b, body.program, operands, mesh, ins, outs, false);
  return r.b.emit("shard_map", operands,
                  {{"body", ProgramPtr(body.program)},
                   {"mesh", mesh},
                   {"manual", axes},
                   {"in_specs", ins},
                   {"out_specs", outs},
                   {"typed", false}});
}

}  // namespace rules

}  // namespace tessera::inline v0::stablehlo
