#include "api/devices/nested.h"

#include "api/trace/trace.h"

#include <algorithm>

namespace tessera::inline v0::detail {

std::string axes_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

namespace {
[[noreturn]] void no_axis_left(const char* function, BoundAxis::Kind kind, const SourceLoc& loc,
                               const char* advice = "use vmap inside") {
  Message(function)
      .problem("it is called inside a function that " +
               std::string(kind == BoundAxis::Kind::pmap ? "pmap" : "shard_map") +
               " already runs on devices")
      .rule("a device does not split up further")
      .from(loc)
      .advice(advice)
      .raise<CollectiveError>();
}
}  // namespace

void refuse_nested(const char* function, const SourceLoc& loc) {
  for (const BoundAxis& a : AxisScope::bound())
    if (a.kind != BoundAxis::Kind::vmap) no_axis_left(function, a.kind, loc);
}

std::optional<PmapsAround> pmaps_around(const SourceLoc& loc) {
  std::optional<PmapsAround> around;
  for (const BoundAxis& a : AxisScope::bound()) {
    if (a.kind == BoundAxis::Kind::vmap) continue;
    // An untyped shard_map binds its axes like pmap does, but has a mesh.
    const bool pmap = a.kind == BoundAxis::Kind::pmap && a.mesh.empty();
    if (!pmap) no_axis_left("pmap", BoundAxis::Kind::shard_map, loc);
    if (!around) around.emplace();
    around->devices *= a.size;
    around->platform = a.platform;
  }
  return around;
}

Around axes_around(const char* function, const SourceLoc& loc, const char* advice) {
  Around around;
  for (const BoundAxis& a : AxisScope::bound()) {
    if (a.kind == BoundAxis::Kind::vmap) continue;
    if (a.kind == BoundAxis::Kind::pmap) no_axis_left(function, a.kind, loc, advice);
    around.mesh = a.mesh;
    const bool automatic = a.kind == BoundAxis::Kind::automatic;
    std::erase(around.automatic, a.name);
    (automatic ? around.automatic : around.manual).push_back(a.name);
  }
  if (!around.mesh.empty() && around.automatic.empty())
    no_axis_left(function, BoundAxis::Kind::shard_map, loc, advice);
  return around;
}

void check_inside(const char* function, const Around& around, const Mesh& mesh,
                  const SourceLoc& loc) {
  if (around.mesh.empty() || around.mesh == mesh) return;
  Message(function)
      .problem("it is for " + to_string(mesh) + ", inside a shard_map over " +
               to_string(around.mesh))
      .rule("functions inside one another run on the axes of one mesh")
      .from(loc)
      .advice("leave the mesh out: inside, it is that of the shard_map")
      .raise<ShardingError>();
}

void check_inside(const char* function, const Around& around, const PartitionSpec& spec,
                  const SourceLoc& loc) {
  for (const PartitionSpec::Dim& dim : spec.dims())
    for (const std::string& axis : dim.axes())
      if (std::find(around.manual.begin(), around.manual.end(), axis) != around.manual.end())
        Message(function)
            .problem(to_string(spec) + " names '" + axis + "', which is manual here")
            .rule(
                "inside shard_map a value is a block along its manual axes; a spec may name the "
                "automatic ones, " +
                axes_list(around.automatic))
            .from(loc)
            .advice("leave '" + axis + "' out: the block is cut along it already")
            .raise<ShardingError>();
}

}  // namespace tessera::inline v0::detail
