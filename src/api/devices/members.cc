#include "api/devices/members.h"

#include "api/devices/nested.h"
#include "api/trace/map_axes.h"
#include "api/trace/scope_mesh.h"
#include "api/trace/trace.h"

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

std::string kind_name(BoundAxis::Kind kind) {
  switch (kind) {
    case BoundAxis::Kind::vmap: return "vmap";
    case BoundAxis::Kind::pmap: return "pmap";
    case BoundAxis::Kind::automatic: return "automatic";
    case BoundAxis::Kind::shard_map: break;
  }
  return "shard_map";
}

bool has_axis(const Mesh& mesh, const std::string& name) {
  const std::vector<std::string> names = mesh.axis_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void unbound(const char* function, const std::string& name, const SourceLoc& loc) {
  std::string bound;
  AxisSet seen;
  const auto& axes = AxisScope::bound();
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    const std::string spoken(spoken_name(a->name));
    if (spoken.empty() || seen.contains(spoken)) continue;
    seen.insert(spoken);
    bound += (bound.empty() ? "'" : ", '") + spoken + "' (" + kind_name(a->kind) + ", size " +
             std::to_string(a->size) + ")";
  }
  if (const Mesh& mesh = scope_mesh(); !mesh.empty() && has_axis(mesh, name))
    Message(function)
        .problem("axis '" + name + "' of " + to_string(mesh) + " is bound by no function here")
        .rule(
            "over a mesh jit works with whole values, and communicates by itself; a collective is "
            "written in a function for one device, which shard_map runs")
        .from(loc)
        .advice("ts::shard_map(f, {.mesh = mesh, .in_specs = {P(\"" + name +
                "\")}, .out_specs = P()}) around the function f that calls " + function +
                ", or the operation on the whole value, as ts::sum")
        .raise<CollectiveError>();
  Message(function)
      .problem("there is no axis '" + name + "' here")
      .rule(bound.empty() ? "no axis is bound: a name is bound inside a function given to pmap, "
                            "vmap or shard_map"
                          : "the bound axes are " + bound)
      .from(loc)
      .advice(bound.empty()
                  ? "call it inside pmap(f, {.axis_name = \"" + name + "\"}), or vmap likewise"
                  : "use one of these names, or name the axis: .axis_name = \"" + name + "\"")
      .raise<CollectiveError>();
}

[[noreturn]] void automatic(const char* function, const std::string& name, const SourceLoc& loc) {
  Strings manual;
  for (const BoundAxis& a : AxisScope::bound())
    if (a.kind == BoundAxis::Kind::shard_map && AxisScope::find(a.name) == &a)
      manual.push_back(a.name);
  Message(function)
      .problem("axis '" + name + "' is automatic here")
      .rule("a collective names axes that shard_map takes as manual, " + axes_list(manual) +
            "; along the others values are whole, and are partitioned with what is around")
      .from(loc)
      .advice("add \"" + name +
              "\" to the axis_names of the shard_map, or call it in a shard_map over it inside")
      .raise<CollectiveError>();
}

}  // namespace

Members members(const char* function, const AxisNames& axes, const SourceLoc& loc) {
  Members m;
  for (const std::string& name : axes.get()) {
    const BoundAxis* bound = name.empty() ? nullptr : AxisScope::find(name);
    if (!bound) unbound(function, name, loc);
    if (bound->kind == BoundAxis::Kind::automatic) automatic(function, name, loc);
    const std::string& in_program = bound->name;
    if (std::find(m.names.begin(), m.names.end(), in_program) != m.names.end())
      Message(function)
          .problem("axis '" + name + "' is named twice")
          .rule("each axis that is reduced or exchanged over counts once")
          .from(loc)
          .advice("name each axis once")
          .raise<CollectiveError>();
    m.names.push_back(in_program);
    m.size *= bound->size;
    if (bound->kind == BoundAxis::Kind::vmap) m.of_vmap = name;
    if (bound->kind == BoundAxis::Kind::shard_map) {
      m.typed.insert(in_program);
      m.typed_names.push_back(in_program);
    } else {
      m.untyped_names.push_back(in_program);
      m.untyped_size *= bound->size;
    }
  }
  return m;
}

}  // namespace tessera::inline v0::detail
