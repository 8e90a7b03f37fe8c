#include "ir/varying.h"

#include "ir/nested.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

bool has_programs(const Attrs& attrs) {
  return any_nested(attrs, [](const ProgramPtr&) { return true; });
}

}  // namespace

bool needs_equal_varying(const Op& op, const Attrs& attrs) {
  return !op.vary && !has_programs(attrs);
}

void type_varying(const Op& op, const Attrs& attrs, std::span<const Type> inputs,
                  std::span<Type> results) {
  const bool any =
      std::any_of(inputs.begin(), inputs.end(), [](const Type& t) { return !t.varying.empty(); });
  if (!op.vary && (!any || has_programs(attrs))) return;
  std::vector<AxisSet> in;
  for (const Type& t : inputs) in.push_back(t.varying);
  std::vector<AxisSet> out = varying_of(op, attrs, in);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].varying = i < out.size() ? out[i] : out.back();
}

}  // namespace tessera::inline v0
