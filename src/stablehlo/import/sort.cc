// Sorts with any comparator. A comparator that compares a key of each side becomes a sort by that
// key, which needs no calls of the comparator.
#include "ir/nested.h"
#include "ops/movement/movement.h"
#include "ops/movement/order_by.h"
#include "stablehlo/import/canonical.h"
#include "stablehlo/import/rules.h"
#include "stablehlo/import/total_order.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::stablehlo::rules {

namespace {

const OperationSyntax* definition(const RegionSyntax& region, const UseSyntax& use) {
  for (const OperationSyntax& op : region.operations)
    for (const DefSyntax& d : op.defs)
      if (d.name == use.name) return &op;
  return nullptr;
}

// The region up to a value that one of its operations reads, as a program that returns it.
RegionProgram up_to(Reading& r, const RegionSyntax& region, const UseSyntax& value) {
  Memory memory;
  RegionSyntax part = region;
  part.operations = List<OperationSyntax>::copy(memory, region.operations);
  part.operations.edit_last().operands = List<UseSyntax>::copy(memory, &value, 1);
  return r.importer.settled_region(r, part);
}

// Whether the program reads the right-hand elements: inputs 1, 3, ... of `pairs` pairs.
bool reads_right(const Program& p, std::size_t pairs) {
  const auto is_right = [&](Var v) {
    for (std::size_t i = 1; i < 2 * pairs; i += 2)
      if (p.inputs[i] == v) return true;
    return false;
  };
  for (const Equation& e : p.equations)
    if (std::any_of(e.inputs.begin(), e.inputs.end(), is_right)) return true;
  return std::any_of(p.outputs.begin(), p.outputs.end(), is_right);
}

ProgramPtr sides_swapped(const Program& p, std::size_t pairs) {
  auto q = std::make_shared<Program>(p);
  for (std::size_t i = 0; i < 2 * pairs; i += 2) std::swap(q->inputs[i], q->inputs[i + 1]);
  return q;
}

// Scalars that a comparator captures, broadcast to arrays.
Values spread(const Values& captured, const Shape& shape) {
  Values out;
  for (const Value& v : captured) out.push_back(ops::broadcast_in_dim(v, shape, {}));
  return out;
}

// The operand that the key is equal to, ignoring the normalisation that JAX writes for floats: -0
// equals 0, and all NaNs are equal and come last. Our sort has this order. Nothing for other keys.
std::optional<std::size_t> ordered_operand(Reading& r, const Program& key, bool total) {
  for (std::size_t i = 0; i < r.in.size(); ++i) {
    const DType dtype = r.in[i].dtype();
    if (key.outputs[0] == key.inputs[2 * i] && (!is_floating(dtype) || !total)) return i;
    if (!is_floating(dtype) || !total) continue;
    Builder b;
    Values in;
    for (const Var v : key.inputs) in.push_back(b.input(key.type(v)));
    const Value x = in[2 * i], zero = ops::constant(b, scalar_literal(dtype, 0.0)),
                nan = ops::constant(
                    b, scalar_literal(dtype, std::numeric_limits<double>::quiet_NaN()));
    const Value unsigned_zero = ops::select(ops::eq(x, zero), zero, x);
    const Values out{ops::select(ops::ne(x, x), nan, unsigned_zero)};
    if (same_structure(key, *canonical(*b.finish(out)))) return i;
  }
  return std::nullopt;
}

// A key whose ascending order is the descending order of `key`.
Value turned_round(Value key) {
  if (!is_floating(key.dtype())) return ops::not_(key);
  return ops::not_(total_order(ops::add(key, ops::zeros_like(key))));  // -0 becomes 0
}

// An array by which to sort: one of the operands, or a computed one.
struct Key {
  std::optional<std::size_t> operand;
  Value array;
};

// The key that a comparison compares for both sides. Nothing if it compares something else, or not
// in one of these directions.
std::optional<Key> key_of(Reading& r, const RegionSyntax& region, const OperationSyntax& compare,
                          std::initializer_list<std::string_view> directions) {
  const AttributeSyntax* direction = compare.find("comparison_direction");
  const AttributeSyntax* type = compare.find("compare_type");
  if (compare.name != "stablehlo.compare" || compare.operands.size() != 2 || !direction ||
      std::find(directions.begin(), directions.end(), direction->text) == directions.end())
    return std::nullopt;
  const RegionProgram left = up_to(r, region, compare.operands[0]),
                      right = up_to(r, region, compare.operands[1]);
  const std::size_t pairs = r.in.size();
  const ProgramPtr left_key = canonical(*left.program);
  if (left_key->outputs.size() != 1 || left.captured != right.captured ||
      reads_right(*left_key, pairs) ||
      !same_structure(*left_key, *sides_swapped(*canonical(*right.program), pairs)))
    return std::nullopt;
  const bool descends = direction->text == "GT", total = type && type->text == "TOTALORDER";
  if (!descends && left.captured.empty())
    if (const auto operand = ordered_operand(r, *left_key, total)) return Key{operand, {}};
  Values both;
  for (const Value& x : r.in) both.insert(both.end(), {x, x});
  for (const Value& x : spread(left.captured, r.in[0].shape())) both.push_back(x);
  Value key = elementwise(r.b, *left_key, both, r.in[0].shape())[0];
  if (total && is_floating(key.dtype())) key = total_order(key);
  return Key{{}, descends ? turned_round(key) : key};
}

// The keys whose ascending order is that of the comparator, the most significant one first; empty
// if there are none. A comparator by several keys is (a < b or (a == b and so on for the next key)).
std::vector<Key> keys_of(Reading& r, const RegionSyntax& region) {
  std::vector<Key> keys;
  const OperationSyntax& end = region.operations.back();
  if (end.operands.size() != 1) return {};
  const OperationSyntax* op = definition(region, end.operands[0]);
  while (op && op->name == "stablehlo.or" && op->operands.size() == 2) {
    const OperationSyntax* less = definition(region, op->operands[0]);
    const OperationSyntax* both = definition(region, op->operands[1]);
    if (!less || !both || both->name != "stablehlo.and" || both->operands.size() != 2) return {};
    const OperationSyntax* equal = definition(region, both->operands[0]);
    const std::optional<Key> key = key_of(r, region, *less, {"LT"});
    const std::optional<Key> same = equal ? key_of(r, region, *equal, {"EQ"}) : std::nullopt;
    if (!key || !key->operand || !same || same->operand != key->operand) return {};
    keys.push_back(*key);
    op = definition(region, both->operands[1]);
  }
  const std::optional<Key> last = op ? key_of(r, region, *op, {"LT", "GT"}) : std::nullopt;
  if (!last) return {};
  keys.push_back(*last);
  return keys;
}

// Sorts by keys, which are moved to the front for the sort.
Values sorted_by_keys(const Values& in, const std::vector<Key>& keys, int along) {
  Values all;
  std::vector<std::size_t> place(in.size(), in.size());  // of each operand among the keys
  for (const Key& k : keys) {
    if (k.operand) place[*k.operand] = std::min(place[*k.operand], all.size());
    all.push_back(k.operand ? in[*k.operand] : k.array);
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (place[i] < in.size()) continue;
    place[i] = all.size();
    all.push_back(in[i]);
  }
  const Values sorted = ops::sort(all, along, static_cast<int>(keys.size()));
  Values out;
  for (const std::size_t p : place) out.push_back(sorted[p]);
  return out;
}

// Sorts by a comparator. A scalar that it captures becomes another array to compare, whose
// right-hand element is not read.
Values sorted_by(Reading& r, const RegionProgram& comparator, int along) {
  const std::size_t pairs = r.in.size();
  auto p = std::make_shared<Program>(*comparator.program);
  Values keys = r.in;
  for (const Value& v : spread(comparator.captured, r.in[0].shape())) keys.push_back(v);
  for (std::size_t i = 0; i < comparator.captured.size(); ++i) {
    const Var unread = static_cast<Var>(p->types.size());
    p->types.push_back(p->types[p->inputs[2 * (pairs + i)]]);
    p->inputs.insert(p->inputs.begin() + static_cast<std::ptrdiff_t>(2 * (pairs + i) + 1), unread);
  }
  const Value order = ops::order_by(keys, p, along);
  Values out;
  for (const Value& x : r.in) out.push_back(ops::take_along(x, order, along));
  return out;
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
  const RegionProgram p = r.importer.settled_region(r, region);
  std::vector<Type> want, got = p.program->input_types();
  got.resize(got.size() - p.captured.size());
  for (const Value& x : r.in) want.insert(want.end(), 2, Type(x.dtype(), {}));
  if (got != want || p.program->output_types() != std::vector<Type>{Type(DType::boolean, {})})
    r.refuse("its comparator does not take two scalars of each operand and give one tensor<i1>");
  for (const Value& v : p.captured)
    if (v.rank() != 0)
      r.refuse("its comparator reads " + to_string(v.type()) + " from outside",
               "a comparator reads scalars from outside and no arrays");
  const int along = static_cast<int>(dimension);
  const std::vector<Key> keys = keys_of(r, region);
  return keys.empty() ? sorted_by(r, p, along) : sorted_by_keys(r.in, keys, along);
}

}  // namespace tessera::inline v0::stablehlo::rules
