#include "stablehlo/import/origins.h"

#include "base/lasting_text.h"
#include "base/named_scopes.h"
#include "stablehlo/import/name_stack.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr int kDeepestLocation = 64;

// Libraries such as Flax are installed in these folders; users want a line of their own code.
bool is_installed(std::string_view file) {
  return file.find("/site-packages/") != file.npos || file.find("/dist-packages/") != file.npos;
}

}  // namespace

// JAX's locations are a name stack around call sites, the innermost of which comes first:
//   "primitive:"("jit(f)/layer/add"(callsite("g"("model.py":3) at "f"("train.py":9))))
// A name around a line is that of a function, unless it is the only name, which then is the stack.
Origins::Found Origins::look(std::size_t location, int depth) {
  const LocationSyntax l = locations_->at(location, memory_);
  Found f;
  switch (l.kind) {
    case LocationSyntax::unknown: break;
    case LocationSyntax::file:
      f.innermost = {l.text, {}, l.line};
      if (!is_installed(l.text)) f.users = f.innermost;
      break;
    case LocationSyntax::name: {
      if (!l.parts.empty()) f = find(l.parts[0], depth);
      // This is the name of a primitive, which is also in the stack.
      if (l.text.ends_with(':')) break;
      f.names_function = f.name.empty() && !f.innermost.file.empty() && !f.names_function &&
                         f.innermost.function.empty();
      if (f.names_function) {
        f.innermost.function = l.text;
        if (!f.users.file.empty()) f.users.function = l.text;
      }
      f.name = l.text;
      break;
    }
    case LocationSyntax::call:
    case LocationSyntax::fused:
      for (const std::size_t part : l.parts) {
        const Found& p = find(part, depth);
        if (f.innermost.file.empty()) f.innermost = p.innermost;
        if (f.users.file.empty()) f.users = p.users;
        if (f.name.empty() && !p.names_function) f.name = p.name;
      }
      break;
  }
  return f;
}

const Origins::Found& Origins::find(std::size_t location, int depth) {
  static const auto* const nothing = new Found;
  if (depth >= kDeepestLocation) return *nothing;
  location = locations_->resolved(location);
  // A location that contains itself counts as unknown at the inner place.
  const auto [it, added] = found_.try_emplace(location);
  Found& f = it->second;
  if (added) f = look(location, depth + 1);
  return f;
}

const std::string& Origins::scopes_of(std::string_view name) {
  const auto [it, added] = scopes_.try_emplace(names_around(name));
  if (added) it->second = scopes_in(name);
  return it->second;
}

const Origin& Origins::of(std::size_t location) {
  if (!locations_ || location == 0) return none_;
  location = locations_->resolved(location);
  const auto [it, added] = origins_.try_emplace(location);
  if (!added) return it->second;
  const Found& f = find(location, 0);
  Origin& origin = it->second;
  if (!f.name.empty()) origin.scope = scopes_of(f.name);
  const Line& line = f.users.file.empty() ? f.innermost : f.users;
  if (line.file.empty() || line.line < 1 || line.line > std::numeric_limits<int>::max())
    return origin;
  origin.line.file = lasting_text(line.file);
  origin.line.function = lasting_text(f.names_function ? std::string_view() : line.function);
  origin.line.line = static_cast<int>(line.line);
  return origin;
}

BlockOrigins::BlockOrigins(Builder& builder, Origins& origins, const BlockOrigins*& innermost)
    : builder_(builder),
      origins_(origins),
      innermost_(innermost),
      outer_(innermost),
      at_hand_outside_(origin_at_hand()),
      line_outside_(builder.loc),
      scope_outside_(builder.scope) {
  if (outer_) {
    now_ = outer_->now_;
    const bool same_program = &outer_->builder_ == &builder;
    relative_to_ = same_program ? outer_->relative_to_ : now_.scope.size();
    if (!same_program) builder.loc = line_outside_ = now_.line;
  }
  innermost_ = this;
  origin_at_hand() = &now_;
}

BlockOrigins::~BlockOrigins() {
  origin_at_hand() = at_hand_outside_;
  innermost_ = outer_;
  builder_.loc = line_outside_;
  builder_.scope = scope_outside_;
}

void BlockOrigins::change(std::size_t location) {
  location_ = location;
  const Origin& origin = origins_.of(location);
  now_.line = origin.line || !outer_ ? origin.line : outer_->now_.line;
  now_.scope = scopes_within(outer_ ? outer_->now_.scope : std::string(), origin.scope);
  builder_.loc = now_.line;
  // All scopes begin with those that are left out and, if others follow, a slash.
  builder_.scope.assign(now_.scope,
                        std::min(relative_to_ + (relative_to_ ? 1 : 0), now_.scope.size()));
}

}  // namespace tessera::inline v0::stablehlo
