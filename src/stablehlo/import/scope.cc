#include "stablehlo/import/scope.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace tessera::inline v0::stablehlo {

namespace {
constexpr std::uint32_t kNotKnown = static_cast<std::uint32_t>(-1);
}

const Known* Level::known(Value v) const {
  const std::uint32_t at = v.var < known_at_.size() ? known_at_[v.var] : kNotKnown;
  return at == kNotKnown ? nullptr : &all_known_[at];
}

void Level::know(Value v, Known known) {
  if (v.var >= known_at_.size()) known_at_.resize(v.var + std::size_t{1}, kNotKnown);
  known_at_[v.var] = static_cast<std::uint32_t>(all_known_.size());
  all_known_.push_back(std::move(known));
}

Value Level::write(const Known& k) {
  Value v = ops::constant(builder_, k.literal);
  if (k.literal.shape != k.shape) v = ops::broadcast_in_dim(v, k.shape, {});
  know(v, k);
  return v;
}

Value Level::here(Value v) {
  if (v.builder == &builder_) {
    for (auto it = instead_.find(v.var); it != instead_.end(); it = instead_.find(v.var))
      v = it->second;
    return v;
  }
  const auto key = std::pair(v.builder, v.var);
  if (const auto it = inputs_.find(key); it != inputs_.end()) return it->second;
  const Value nearest = outer_->here(v);
  const Known* k = outer_->known(nearest);
  const Value mine = k ? write(*k) : builder_.input(nearest.type());
  if (!k) captured_.push_back(nearest);
  if (!k) from_outside_.emplace(mine.var, nearest);
  inputs_.emplace(key, mine);
  return mine;
}

std::size_t NameTable::hash_of(std::string_view name) {
  std::size_t h = 0;
  for (const char c : name) h = h * 10 + static_cast<std::size_t>(c - '0');
  return h;
}

std::size_t NameTable::slot_of(std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  const auto is_here = [&](std::size_t at) {
    return slots_[at] == kNone || entries_[slots_[at]].name == name;
  };
  std::size_t at = hash_of(name) & mask;
  if (is_here(at)) return at;
  const std::size_t step = std::hash<std::string_view>{}(name) | 1;
  do at = (at + step) & mask;
  while (!is_here(at));
  return at;
}

void NameTable::make_slots(std::size_t names) {
  slots_.assign(std::bit_ceil(std::max<std::size_t>(2 * names, 16)), kNone);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    slots_[slot_of(entries_[i].name)] = static_cast<std::uint32_t>(i);
}

void NameTable::reserve(std::size_t names) {
  names += entries_.size();
  entries_.reserve(names);
  values_.reserve(names);
  if (2 * names > slots_.size()) make_slots(names);
}

bool NameTable::add(std::string_view name, std::span<const Bound> values) {
  if (2 * (entries_.size() + 1) > slots_.size()) make_slots(2 * entries_.size());
  const std::size_t at = slot_of(name);
  if (slots_[at] != kNone) return false;
  slots_[at] = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back({name, static_cast<std::uint32_t>(values_.size()),
                      static_cast<std::uint32_t>(values.size())});
  values_.insert(values_.end(), values.begin(), values.end());
  return true;
}

std::optional<std::span<const Bound>> NameTable::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t i = slots_[slot_of(name)];
  if (i == kNone) return std::nullopt;
  return std::span(values_).subspan(entries_[i].first, entries_[i].count);
}

void Scope::define(std::string_view name, std::size_t at, std::span<const Bound> values) {
  if (!names_.add(name, values))
    fail(*module_.source, at, {"%" + std::string(name) + " is defined twice"});
}

Bound Scope::read(const UseSyntax& use) const {
  for (const Scope* s = this; s; s = s->outer_) {
    const auto found = s->names_.find(use.name);
    if (!found) continue;
    if (use.index >= found->size())
      fail(*module_.source, use.at,
           {"%" + std::string(use.name) + " has no number " + std::to_string(use.index) +
                ": it stands for " + std::to_string(found->size()) +
                (found->size() == 1 ? " value" : " values"),
            "%x#1 is the second value of what defines %x"});
    Bound b = (*found)[use.index];
    for (Value& v : b.leaves) v = level_.here(v);
    return b;
  }
  fail(*module_.source, use.at,
       {"%" + std::string(use.name) + " is not defined",
        "a value is defined before it is used, in its block or one around it"});
}

}  // namespace tessera::inline v0::stablehlo
