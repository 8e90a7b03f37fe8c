#include "transform/map_nested.h"

namespace tessera::inline v0 {

Attrs map_nested(const Attrs& attrs, const std::function<ProgramPtr(const ProgramPtr&)>& f,
                 bool& changed) {
  Attrs result = attrs;
  for (const auto& [name, value] : attrs) {
    if (const auto* q = std::get_if<ProgramPtr>(&value)) {
      if (!*q) continue;
      ProgramPtr r = f(*q);
      if (r == *q) continue;
      changed = true;
      result.set(name, std::move(r));
    } else if (const auto* qs = std::get_if<Programs>(&value)) {
      Programs rs;
      for (const ProgramPtr& one : *qs) rs.push_back(f(one));
      if (rs == *qs) continue;
      changed = true;
      result.set(name, std::move(rs));
    }
  }
  return result;
}

ProgramPtr map_nested(const ProgramPtr& p, const std::function<ProgramPtr(const ProgramPtr&)>& f) {
  std::shared_ptr<Program> q;
  for (std::size_t i = 0; i < p->equations.size(); ++i) {
    bool changed = false;
    Attrs attrs = map_nested(p->equations[i].attrs, f, changed);
    if (!changed) continue;
    if (!q) q = std::make_shared<Program>(*p);
    q->equations[i].attrs = std::move(attrs);
  }
  return q ? ProgramPtr(q) : p;
}

}  // namespace tessera::inline v0
