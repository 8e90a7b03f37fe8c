// Conversion between a shard_map equation's attributes and their parsed form.
#include "ops/control/agree.h"
#include "spmd/region/shard_map.h"

namespace tessera::inline v0::spmd {

namespace {
MeshShape along(const MeshShape& all, const Strings& axes) {
  if (axes.empty()) return all;
  MeshShape some{axes, {}};
  for (const std::string& axis : axes) some.sizes.push_back(all.size_of(axis));
  return some;
}
}  // namespace

ShardMap::ShardMap(const Attrs& attrs) : ShardMap(RegionAttrs(attrs)) {}

ShardMap::ShardMap(const RegionAttrs& a)
    : ShardMap(a.body, a.mesh, a.manual ? *a.manual : Strings{}, a.in_specs, a.out_specs, a.typed) {
}

ShardMap::ShardMap(ProgramPtr program, const MeshRef& devices, Strings manual_axes, Specs in,
                   Specs out, bool with_types)
    : body(std::move(program)),
      device_mesh(devices),
      manual(manual_axes.size() < devices->axes.size() ? std::move(manual_axes) : Strings{}),
      mesh(along(*devices, manual)),
      in_specs(std::move(in)),
      out_specs(std::move(out)),
      typed(with_types) {}

Attrs ShardMap::attrs() const {
  Attrs a = RegionAttrs::make(body, device_mesh, in_specs, out_specs, typed);
  if (is_partial()) a.set(RegionAttrs::kManual, manual);
  return a;
}

AxisSet ShardMap::axes() const {
  AxisSet all;
  for (const std::string& axis : mesh.axes) all.insert(axis);
  return all;
}

AxisSet ShardMap::outer(AxisSet set) const {
  for (const std::string& axis : mesh.axes) set.erase(axis);
  return set;
}

std::vector<std::string> ShardMap::unnamed(const Spec& spec) const {
  AxisSet named = spec.axes();
  std::vector<std::string> rest;
  for (const auto& a : mesh.axes)
    if (!named.contains(a)) rest.push_back(a);
  return rest;
}

std::vector<AxisSet> ShardMap::input_axes() const {
  std::vector<AxisSet> axes;
  for (const Spec& s : in_specs) axes.push_back(s.axes());
  return axes;
}

Values emit_shard_map(Builder& b, ShardMap s, std::span<const Value> inputs) {
  if (!s.typed) return b.emit("shard_map", inputs, s.attrs());
  std::vector<AxisSet> in, out;
  Values operands(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    in.push_back(s.body->type(s.body->inputs[i]).varying | operands[i].type().varying);
    operands[i] = b.vary_over(operands[i], s.outer(in[i]));
  }
  for (const Spec& spec : s.out_specs) out.push_back(spec.axes());
  s.body = ops::retyped(s.body, in, out);
  return b.emit("shard_map", operands, s.attrs());
}

}  // namespace tessera::inline v0::spmd
