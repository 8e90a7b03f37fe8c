#include "ir/type.h"

#include "ir/text_name.h"

#include <algorithm>

namespace tessera::inline v0 {

bool AxisSet::contains(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

void AxisSet::insert(std::string_view name) {
  auto at = std::lower_bound(names_.begin(), names_.end(), name);
  if (at == names_.end() || *at != name) names_.insert(at, std::string(name));
}

void AxisSet::erase(std::string_view name) {
  auto at = std::lower_bound(names_.begin(), names_.end(), name);
  if (at != names_.end() && *at == name) names_.erase(at);
}

Type::Type(const Type& other) = default;
Type::Type(Type&& other) noexcept = default;
Type& Type::operator=(const Type& other) = default;
Type& Type::operator=(Type&& other) noexcept = default;
Type::~Type() = default;

AxisSet& AxisSet::operator|=(const AxisSet& o) {
  for (const auto& n : o) insert(n);
  return *this;
}

namespace {
void append_axes(std::string& s, const char* what, const AxisSet& axes) {
  if (axes.empty()) return;
  s += '{';
  s += what;
  s += ':';
  const char* sep = " ";
  for (const auto& a : axes) {
    s += sep;
    s += name_text(a);
    sep = ", ";
  }
  s += '}';
}
}  // namespace

std::string to_string(const Type& t) {
  std::string s(short_name_of(t.dtype));
  s += '[';
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    if (i) s += ',';
    s += std::to_string(t.shape[i]);
  }
  s += ']';
  if (t.weak) s += '*';
  append_axes(s, "varying", t.varying);
  return s;
}

}  // namespace tessera::inline v0
