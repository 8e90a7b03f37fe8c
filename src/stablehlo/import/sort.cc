// Sorts with any comparator. A comparator that compares one key of each side, or several in
// lexicographic order, becomes a sort by these keys, which needs no calls of the comparator.
#include "ir/nested.h"
#include "ops/movement/movement.h"
#include "ops/movement/order_by.h"
#include "stablehlo/import/rules.h"
#include "stablehlo/import/total_order.h"
#include "transform/simplify.h"

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

// The equations that compute the program's outputs, without duplicates and in depth-first order of
// their operands, so that programs that compute a key in the same way become equal.
ProgramPtr alone(const Program& p) {
  auto q = std::make_shared<Program>(*merge_common(prune(p)));
  std::vector<std::size_t> made_by(q->types.size(), q->equations.size());
  for (std::size_t i = 0; i < q->equations.size(); ++i)
    for (const Var v : q->equations[i].outputs) made_by[v] = i;
  std::vector<bool> listed(q->equations.size(), false);
  std::vector<Equation> ordered;
  std::vector<Var> waiting(q->outputs.rbegin(), q->outputs.rend());
  while (!waiting.empty()) {
    const std::size_t i = made_by[waiting.back()];
    if (i == q->equations.size() || listed[i]) {
      waiting.pop_back();
      continue;
    }
    const Equation& e = q->equations[i];
    const std::size_t before = waiting.size();
    for (std::size_t k = e.inputs.size(); k-- > 0;)
      if (const std::size_t j = made_by[e.inputs[k]]; j < q->equations.size() && !listed[j])
        waiting.push_back(e.inputs[k]);
    if (waiting.size() > before) continue;
    listed[i] = true;
    ordered.push_back(e);
  }
  q->equations = std::move(ordered);
  return q;
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
    if (same_structure(key, *alone(*b.finish(out)))) return i;
  }
  return std::nullopt;
}

// A key whose ascending order is the descending order of `key`.
Value turned_round(Value key) {
  if (!is_floating(key.dtype())) return ops::not_(key);
  return ops::not_(total_order(ops::add(key, ops::zeros_like(key))));  // -0 becomes 0
}

// The array by which to sort: one of the operands, or a computed one.
struct Key {
  std::optional<std::size_t> operand;
  Value array;
};

struct Comparison {
  UseSyntax left, right;
  std::string_view direction;
  bool total;  // orders floats with -0 below 0, and NaNs beyond the infinities
};

std::optional<Comparison> comparison(const RegionSyntax& region, const UseSyntax& use) {
  const OperationSyntax* op = definition(region, use);
  if (!op || op->name != "stablehlo.compare" || op->operands.size() != 2) return std::nullopt;
  const AttributeSyntax* direction = op->find("comparison_direction");
  const AttributeSyntax* type = op->find("compare_type");
  if (!direction) return std::nullopt;
  return Comparison{op->operands[0], op->operands[1], direction->text,
                    type && type->text == "TOTALORDER"};
}

bool is_order(const std::optional<Comparison>& c) {
  return c && (c->direction == "LT" || c->direction == "GT");
}

// Whether `equal` compares for equality what `order` compares.
bool are_alike(const std::optional<Comparison>& equal, const Comparison& order) {
  const auto same = [](const UseSyntax& a, const UseSyntax& b) {
    return a.name == b.name && a.index == b.index;
  };
  return equal && equal->direction == "EQ" && equal->total == order.total &&
         same(equal->left, order.left) && same(equal->right, order.right);
}

// The operands of an operation of this name; null if another one makes the value.
const List<UseSyntax>* operands_of(const RegionSyntax& region, const UseSyntax& value,
                                   std::string_view name, std::size_t count) {
  const OperationSyntax* op = definition(region, value);
  return op && op->name == name && op->operands.size() == count ? &op->operands : nullptr;
}

// A comparison, and what decides if it finds both sides equal.
struct Decision {
  Comparison order;
  UseSyntax rest;
};

// or(order, and(equal, rest)), with the operands in any order, or select(equal, rest, order).
std::optional<Decision> decision(const RegionSyntax& region, const UseSyntax& value) {
  if (const auto* chosen = operands_of(region, value, "stablehlo.select", 3)) {
    const auto order = comparison(region, (*chosen)[2]);
    if (is_order(order) && are_alike(comparison(region, (*chosen)[0]), *order))
      return Decision{*order, (*chosen)[1]};
  }
  const auto* either = operands_of(region, value, "stablehlo.or", 2);
  for (std::size_t i = 0; either && i < 2; ++i) {
    const auto order = comparison(region, (*either)[i]);
    const auto* both = operands_of(region, (*either)[1 - i], "stablehlo.and", 2);
    for (std::size_t k = 0; is_order(order) && both && k < 2; ++k)
      if (are_alike(comparison(region, (*both)[k]), *order))
        return Decision{*order, (*both)[1 - k]};
  }
  return std::nullopt;
}

// The comparisons of a lexicographic order, most significant first; empty if the value is made in
// any other way, or of too many comparisons.
std::vector<Comparison> lexicographic(const RegionSyntax& region, UseSyntax value) {
  constexpr std::size_t kMost = 64;
  std::vector<Comparison> all;
  while (all.size() < kMost) {
    if (const auto last = comparison(region, value); is_order(last)) {
      all.push_back(*last);
      return all;
    }
    const std::optional<Decision> d = decision(region, value);
    if (!d) return {};
    all.push_back(d->order);
    value = d->rest;
  }
  return {};
}

// The key of each element whose ascending order is that of a comparison; nothing if there is none.
std::optional<Key> key_of(Reading& r, const RegionSyntax& region, const Comparison& compare) {
  const RegionProgram left = up_to(r, region, compare.left),
                      right = up_to(r, region, compare.right);
  const std::size_t pairs = r.in.size();
  const ProgramPtr left_key = alone(*left.program);
  if (left_key->outputs.size() != 1 || left.captured != right.captured ||
      reads_right(*left_key, pairs) ||
      !same_structure(*left_key, *sides_swapped(*alone(*right.program), pairs)))
    return std::nullopt;
  const bool ascends = compare.direction == "LT";
  if (ascends && left.captured.empty())
    if (const auto operand = ordered_operand(r, *left_key, compare.total)) return Key{operand, {}};
  Values both;
  for (const Value& x : r.in) both.insert(both.end(), {x, x});
  for (const Value& x : spread(left.captured, r.in[0].shape())) both.push_back(x);
  Value key = elementwise(r.b, *left_key, both, r.in[0].shape())[0];
  if (compare.total && is_floating(key.dtype())) key = total_order(key);
  return Key{{}, ascends ? key : turned_round(key)};
}

// The keys whose lexicographic order is that of the comparator; empty if there are none.
std::vector<Key> keys_of(Reading& r, const RegionSyntax& region) {
  const OperationSyntax& end = region.operations.back();
  std::vector<Key> keys;
  if (end.operands.size() != 1) return keys;
  for (const Comparison& c : lexicographic(region, end.operands[0])) {
    std::optional<Key> key = key_of(r, region, c);
    if (!key) return {};
    keys.push_back(std::move(*key));
  }
  return keys;
}

Values sorted_by_keys(const Values& in, const std::vector<Key>& keys, int along) {
  Values all;
  std::vector<std::optional<std::size_t>> place(in.size());  // of each operand in `all`
  for (const Key& key : keys) {
    if (!key.operand) {
      all.push_back(key.array);
    } else if (!place[*key.operand]) {
      place[*key.operand] = all.size();
      all.push_back(in[*key.operand]);
    }
  }
  const int count = static_cast<int>(all.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (place[i]) continue;
    place[i] = all.size();
    all.push_back(in[i]);
  }
  const Values sorted = ops::sort(all, along, count);
  Values out;
  for (const auto& at : place) out.push_back(sorted[*at]);
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
