#include "api/devices/members.h"

#include "api/devices/nested.h"
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

[[noreturn]] void unbound(const char* function, const std::string& name, const SourceLoc& loc) {
  std::string bound;
  AxisSet seen;
  const auto& axes = AxisScope::bound();
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    if (a->name.empty() || seen.contains(a->name)) continue;
    seen.insert(a->name);
    bound += (bound.empty() ? "'" : ", '") + a->name + "' (" + kind_name(a->kind) + ", size " +
             std::to_string(a->size) + ")";
  }
  Message(function)
      .problem("there is no axis '" + name + "' here")
      .rule(bound.empty() ? "no axis is bound: a name is bound inside a function given to pmap "
                            "or vmap"
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
    if (std::find(m.names.begin(), m.names.end(), name) != m.names.end())
      Message(function)
          .problem("axis '" + name + "' is named twice")
          .rule("each axis that is reduced or exchanged over counts once")
          .from(loc)
          .advice("name each axis once")
          .raise<CollectiveError>();
    m.names.push_back(name);
    m.size *= bound->size;
    if (bound->kind == BoundAxis::Kind::vmap) m.of_vmap = name;
    if (bound->kind == BoundAxis::Kind::shard_map) {
      m.typed.insert(name);
      m.typed_names.push_back(name);
    } else {
      m.untyped_names.push_back(name);
      m.untyped_size *= bound->size;
    }
  }
  return m;
}

}  // namespace tessera::inline v0::detail
