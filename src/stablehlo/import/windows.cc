#include "stablehlo/import/windows.h"

#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// Small enough that sums of products of such numbers do not overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 31;

// Whether the operation only constrains the sharding of its operand, which has no effect on a
// scalar.
bool only_places(const OperationSyntax& op) {
  if (op.operands.size() != 1 || op.defs.size() != 1) return false;
  if (op.name == "sdy.sharding_constraint") return true;
  const AttributeSyntax* target = op.find("call_target_name");
  return op.name == "stablehlo.custom_call" && target && target->text == "Sharding";
}

// The operation that `region` applies to its arguments, if it returns the result (perhaps after
// sharding constraints); else null.
const OperationSyntax* only_operation(const RegionSyntax& region) {
  if (region.arguments.size() != 2 || region.operations.size() < 2) return nullptr;
  const OperationSyntax& op = region.operations[0];
  if (op.operands.size() != 2 || op.defs.size() != 1) return nullptr;
  std::string_view given = op.defs[0].name;
  for (std::size_t i = 1; i < region.operations.size(); ++i) {
    const OperationSyntax& next = region.operations[i];
    if (next.operands.size() != 1 || next.operands[0].name != given) return nullptr;
    if (i + 1 == region.operations.size()) break;
    if (!only_places(next)) return nullptr;
    given = next.defs[0].name;
  }
  return &op;
}

}  // namespace

std::string_view applied(const RegionSyntax& region) {
  const OperationSyntax* op = only_operation(region);
  if (!op) return {};
  const std::string_view a = region.arguments[0].name, b = region.arguments[1].name;
  const std::string_view x = op->operands[0].name, y = op->operands[1].name;
  return (x == a && y == b) || (x == b && y == a) ? op->name : std::string_view();
}

bool gives_argument(const RegionSyntax& region, std::size_t k) {
  if (region.operations.size() != 1 || region.operations[0].operands.size() != 1) return false;
  return region.operations[0].operands[0].name == region.arguments[k].name;
}

std::string compared(const RegionSyntax& region) {
  const OperationSyntax* op = only_operation(region);
  if (!op || op->name != "stablehlo.compare") return {};
  if (op->operands[0].name != region.arguments[0].name ||
      op->operands[1].name != region.arguments[1].name)
    return {};
  const AttributeSyntax* direction = op->find("comparison_direction");
  return direction ? std::string(direction->text) : std::string();
}

ops::WindowDims window_dims(Reading& r, int rank) {
  const auto n = static_cast<std::size_t>(rank);
  const auto list = [&](const char* name) {
    const Ints v = r.ints_or(name, Ints(n, 1));
    if (v.size() != n)
      r.refuse(std::string(name) + " has " + std::to_string(v.size()) +
               " entries for an array of " + std::to_string(rank) + " dimensions");
    for (std::int64_t x : v)
      if (x < 1 || x > kMost)
        r.refuse(std::string(name) + " has " + std::to_string(x), "it is 1 or more, below 2^31");
    return v;
  };
  ops::WindowDims d;
  d.window = list("window_dimensions");
  d.strides = list("window_strides");
  d.base_dilation = list("base_dilations");
  d.window_dilation = list("window_dilations");
  const IntLists padding = r.rows_or("padding", IntLists(n, Ints{0, 0}));
  if (padding.size() != n)
    r.refuse("padding has " + std::to_string(padding.size()) + " rows for an array of " +
             std::to_string(rank) + " dimensions");
  for (const Ints& row : padding) {
    for (std::int64_t x : row)
      if (x < -kMost || x > kMost) r.refuse("padding has " + std::to_string(x), "it is below 2^31");
    d.pad_low.push_back(row[0]);
    d.pad_high.push_back(row[1]);
  }
  return d;
}

Shape windows_of(Reading& r, const Shape& x, const ops::WindowDims& d) {
  Shape out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] > kMost || d.base_dilation[i] > kMost / std::max<std::int64_t>(x[i], 1) ||
        d.window_dilation[i] > kMost / d.window[i])
      r.refuse("its windows are too large");
    const std::int64_t dilated = x[i] == 0 ? 0 : (x[i] - 1) * d.base_dilation[i] + 1;
    const std::int64_t all = dilated + d.pad_low[i] + d.pad_high[i];
    const std::int64_t window = (d.window[i] - 1) * d.window_dilation[i] + 1;
    out.push_back(all < window ? 0 : (all - window) / d.strides[i] + 1);
  }
  return out;
}

bool is_unpadded(const ops::WindowDims& d) {
  const auto all = [](const Ints& v, std::int64_t limit) {
    return std::all_of(v.begin(), v.end(), [&](std::int64_t x) { return x <= limit; });
  };
  return all(d.pad_low, 0) && all(d.pad_high, 0) && all(d.base_dilation, 1);
}

}  // namespace tessera::inline v0::stablehlo::rules
