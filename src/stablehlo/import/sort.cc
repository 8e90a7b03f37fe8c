// Sorts by any comparator. One that compares a key of each side is a sort by that key, which takes no
// call of the comparator.
#include "ir/nested.h"
#include "ops/movement/order_by.h"
#include "stablehlo/import/rules.h"
#include "stablehlo/import/total_order.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

const OperationSyntax* definition(const RegionSyntax& region, const UseSyntax& use) {
  for (const OperationSyntax& op : region.operations)
    for (const DefSyntax& d : op.defs)
      if (d.name == use.name) return &op;
  return nullptr;
}

// The region up to a value that one of its operations reads.
ProgramPtr up_to(Reading& r, const RegionSyntax& region, const UseSyntax& value) {
  Memory memory;
  RegionSyntax part = region;
  part.operations = List<OperationSyntax>::copy(memory, region.operations);
  part.operations.edit_last().operands = List<UseSyntax>::copy(memory, &value, 1);
  return r.importer.closed_region(r, part);
}

// Whether the program reads its inputs number 1, 3, ...: those of the right side.
bool reads_right(const Program& p) {
  const auto is_right = [&](Var v) {
    for (std::size_t i = 1; i < p.inputs.size(); i += 2)
      if (p.inputs[i] == v) return true;
    return false;
  };
  for (const Equation& e : p.equations)
    if (std::any_of(e.inputs.begin(), e.inputs.end(), is_right)) return true;
  return std::any_of(p.outputs.begin(), p.outputs.end(), is_right);
}

ProgramPtr sides_swapped(const Program& p) {
  auto q = std::make_shared<Program>(p);
  for (std::size_t i = 0; i + 1 < q->inputs.size(); i += 2)
    std::swap(q->inputs[i], q->inputs[i + 1]);
  return q;
}

// In ascending order where the comparator is descending.
Value turned_round(Value key) {
  if (!is_floating(key.dtype())) return ops::not_(key);
  return ops::not_(total_order(ops::add(key, ops::zeros_like(key))));  // -0 becomes 0
}

// The key of each element, whose ascending order is the comparator's; none where it has none.
std::optional<Value> key_of(Reading& r, const RegionSyntax& region) {
  const OperationSyntax& end = region.operations.back();
  if (end.operands.size() != 1) return std::nullopt;
  const OperationSyntax* compare = definition(region, end.operands[0]);
  if (!compare || compare->name != "stablehlo.compare" || compare->operands.size() != 2)
    return std::nullopt;
  const AttributeSyntax* direction = compare->find("comparison_direction");
  const AttributeSyntax* type = compare->find("compare_type");
  if (!direction || (direction->text != "LT" && direction->text != "GT")) return std::nullopt;
  const ProgramPtr left = up_to(r, region, compare->operands[0]),
                   right = up_to(r, region, compare->operands[1]);
  if (left->outputs.size() != 1 || reads_right(*left) ||
      !same_structure(*left, *sides_swapped(*right)))
    return std::nullopt;
  Values both;
  for (const Value& x : r.in) both.insert(both.end(), {x, x});
  Value key = elementwise(r.b, *left, both, r.in[0].shape())[0];
  if (type && type->text == "TOTALORDER" && is_floating(key.dtype())) key = total_order(key);
  return direction->text == "LT" ? key : turned_round(key);
}

}  // namespace

Values sort(Reading& r) {
  r.need_regions(1);
  if (r.in.empty()) r.refuse("it has no operand");
  const RegionSyntax& region = r.op.regions[0];
  const int rank = r.in[0].rank();
  std::int64_t dimension = r.integer_or("dimension", -1);
  if (dimension < 0) dimension += rank;
  if (dimension < 0 || dimension >= rank)
    r.refuse("there is no dimension " + std::to_string(dimension) + " to sort along");
  for (const Value& x : r.in)
    if (x.shape() != r.in[0].shape()) r.refuse("its operands have different shapes");
  const ProgramPtr p = r.importer.closed_region(r, region);
  std::vector<Type> want;
  for (const Value& x : r.in) want.insert(want.end(), 2, Type(x.dtype(), {}));
  if (p->input_types() != want || p->output_types() != std::vector<Type>{Type(DType::boolean, {})})
    r.refuse("its comparator does not take two scalars of each operand and give one tensor<i1>");
  const int along = static_cast<int>(dimension);
  const std::optional<Value> key = key_of(r, region);
  if (!key) return ops::sort_by(r.in, p, along);
  Values with_key{*key};
  with_key.insert(with_key.end(), r.in.begin(), r.in.end());
  Values out = ops::sort(with_key, along, 1);
  out.erase(out.begin());
  return out;
}

}  // namespace tessera::inline v0::stablehlo::rules
