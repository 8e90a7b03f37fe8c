#include "ir/spec.h"

#include "base/hash.h"

namespace tessera::inline v0 {

namespace {
Spec::Dims without_trailing(Spec::Dims dims) {
  while (!dims.empty() && dims.back().empty()) dims.pop_back();
  return dims;
}
}  // namespace

std::size_t hash_of(const Spec::Cuts& cuts) {
  std::size_t h = 0;
  mix(h, cuts.dims);
  return h;
}

Spec::Spec(Dims dims) : cuts_(Cuts{without_trailing(std::move(dims))}) {}

Spec Spec::cut(int d, std::string axis) {
  Dims dims(static_cast<std::size_t>(d) + 1);
  dims.back().push_back(std::move(axis));
  return Spec(std::move(dims));
}

AxisSet Spec::axes() const {
  AxisSet all;
  for (const Axes& dim : dims())
    for (const std::string& a : dim) all.insert(a);
  return all;
}

const Spec::Axes& Spec::axes_of(int d) const {
  static const auto& none = *new Axes;
  return d < static_cast<int>(dims().size()) ? dims()[static_cast<std::size_t>(d)] : none;
}

std::string to_string(const Spec& spec) {
  std::string s = "P(";
  bool first = true;
  for (const Spec::Axes& axes : spec.dims()) {
    if (!first) s += ", ";
    first = false;
    if (axes.empty()) s += "none";
    if (axes.size() > 1) s += '(';
    for (std::size_t i = 0; i < axes.size(); ++i) s += (i ? ", '" : "'") + axes[i] + "'";
    if (axes.size() > 1) s += ')';
  }
  return s + ")";
}

}  // namespace tessera::inline v0
