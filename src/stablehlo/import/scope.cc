#include "stablehlo/import/scope.h"

namespace tessera::inline v0::stablehlo {

const Known* Level::known(Value v) const {
  const auto it = known_.find(v.var);
  return it == known_.end() ? nullptr : &it->second;
}

Value Level::write(const Known& k) {
  Value v = ops::constant(builder_, k.literal);
  if (k.literal.shape != k.shape) v = ops::broadcast_in_dim(v, k.shape, {});
  know(v, k);
  return v;
}

Value Level::here(Value v) {
  if (v.builder == &builder_) return v;
  const auto key = std::pair(v.builder, v.var);
  if (const auto it = inputs_.find(key); it != inputs_.end()) return it->second;
  const Value nearest = outer_->here(v);
  const Known* k = outer_->known(nearest);
  const Value mine = k ? write(*k) : builder_.input(nearest.type());
  if (!k) captured_.push_back(nearest);
  inputs_.emplace(key, mine);
  return mine;
}

void Scope::define(std::string_view name, std::size_t at, std::vector<Bound> values) {
  if (!names_.emplace(name, std::move(values)).second)
    fail(*module_.source, at, {"%" + std::string(name) + " is defined twice"});
}

Bound Scope::read(const UseSyntax& use) const {
  for (const Scope* s = this; s; s = s->outer_) {
    const auto it = s->names_.find(use.name);
    if (it == s->names_.end()) continue;
    if (use.index >= it->second.size())
      fail(*module_.source, use.at,
           {"%" + std::string(use.name) + " has no number " + std::to_string(use.index) +
                ": it stands for " + std::to_string(it->second.size()) +
                (it->second.size() == 1 ? " value" : " values"),
            "%x#1 is the second value of what defines %x"});
    Bound b = it->second[use.index];
    for (Value& v : b.leaves) v = level_.here(v);
    return b;
  }
  fail(*module_.source, use.at,
       {"%" + std::string(use.name) + " is not defined",
        "a value is defined before it is used, in its block or one around it"});
}

}  // namespace tessera::inline v0::stablehlo
