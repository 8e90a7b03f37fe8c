// Calls, loops, branches and tuples.
#include "ir/op.h"
#include "stablehlo/import/counted_loop.h"
#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

Values leaves_of(const std::vector<Bound>& values) {
  Values out;
  for (const Bound& v : values) out.insert(out.end(), v.leaves.begin(), v.leaves.end());
  return out;
}

std::vector<Type> plain_types(const std::vector<Type>& types) {
  std::vector<Type> out;
  for (const Type& t : types) out.emplace_back(t.dtype, t.shape);
  return out;
}

// The program with its captures moved before its arguments.
ProgramPtr captures_first(const RegionProgram& p) {
  auto& inputs = p.program->inputs;
  std::rotate(inputs.begin(), inputs.end() - static_cast<std::ptrdiff_t>(p.captured.size()),
              inputs.end());
  return p.program;
}

// A branch as a program on the operands of all branches.
ProgramPtr on_all(const RegionProgram& branch, const Values& all) {
  Builder b;
  Values in, own;
  for (const Value& v : all) in.push_back(b.input(v.type()));
  for (const Value& v : branch.captured)
    own.push_back(in[static_cast<std::size_t>(std::find(all.begin(), all.end(), v) - all.begin())]);
  return b.finish(b.inline_program(*branch.program, own));
}

Values choose(Reading& r, Value index) {
  std::vector<RegionProgram> branches;
  Values all;
  for (const RegionSyntax& region : r.op.regions) {
    if (!region.arguments.empty())
      r.refuse("a branch has no arguments: it reads what it needs from outside");
    branches.push_back(r.importer.region(r, region));
    for (const Value& v : branches.back().captured)
      if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
  }
  Programs programs;
  for (const RegionProgram& p : branches) {
    programs.push_back(on_all(p, all));
    if (plain_types(programs.back()->output_types()) != plain_types(programs[0]->output_types()))
      r.refuse("its branches give values of different types");
  }
  return ops::cond(index, programs, all);
}

// The x for which an index is clamp(0, x, n - 1); nothing if the index is not made that way.
std::optional<Value> clamped_to(Reading& r, std::int64_t n) {
  const Equation* e = r.scope.level().made_by(r.in[0]);
  if (!e || e->op->stablehlo != "clamp") return std::nullopt;
  const std::optional<Ints> low = r.known_integers({&r.b, e->inputs[0]}),
                            high = r.known_integers({&r.b, e->inputs[2]});
  if (low != Ints{0} || high != Ints{n - 1}) return std::nullopt;
  return Value{&r.b, e->inputs[1]};
}

Value scalar_of(Reading& r, DType dtype, std::int64_t n) {
  return ops::constant(r.b, scalar_literal(dtype, n));
}

Check check(Check::Kind kind, double tolerance, double least = 0) {
  return {kind, tolerance, least, {}};
}

Values add_check(Reading& r, const Check& c) {
  Values pair = r.in;
  if (const AttributeSyntax* value = r.find("value"))
    pair.push_back(r.importer.constant(r.scope, *value));
  if (pair.size() != 2) r.refuse("a check takes two arrays");
  if (pair[0].type() != pair[1].type() &&
      Type(pair[0].dtype(), pair[0].shape()) != Type(pair[1].dtype(), pair[1].shape()))
    r.refuse("it compares " + to_string(pair[0].type()) + " with " + to_string(pair[1].type()));
  r.importer.add_check(r, c, pair[0], pair[1]);
  return {};
}

}  // namespace

Values call(Reading& r) {
  return leaves_of(r.importer.call(r, r.word_or("callee", ""), r.operands));
}

// From 0.12 on, JAX writes operations of CHLO as composites, with a decomposition for readers that
// do not know them. Our ops are as accurate, have their own derivatives, and are partitioned as
// such.
static std::optional<Values> chlo_composite(Reading& r) {
  const std::string name = r.word_or("name", "");
  const Import* import = name.starts_with("chlo.") ? import_of(name) : nullptr;
  if (!import) return std::nullopt;
  OperationSyntax op = r.op;
  op.name = name;
  op.attributes = {};
  if (const AttributeSyntax* attributes = r.find("composite_attributes"))
    op.attributes = attributes->entries;
  // Other composites with attributes have not been seen yet.
  if (!op.attributes.empty() && name != "chlo.top_k") return std::nullopt;
  Reading as_written(r.importer, r.scope, op);
  if (!as_written.flag_or("largest", true)) return std::nullopt;
  return import->rule(as_written);
}

Values composite(Reading& r) {
  if (std::optional<Values> own = own_composite(r)) return *std::move(own);
  if (std::optional<Values> known = chlo_composite(r)) return *std::move(known);
  return leaves_of(r.importer.call(r, r.word_or("decomposition", ""), r.operands));
}

// Evaluates an assertion that depends on the shapes of the arguments; "{0}" in the text stands for
// the first operand after the condition.
Values shape_assertion(Reading& r) {
  if (r.in.empty() || Type(r.in[0].dtype(), r.in[0].shape()) != Type(DType::boolean, {}))
    r.refuse("its condition is no tensor<i1>");
  const Known* holds = r.scope.level().settle(r.in[0]);
  if (!holds)
    r.refuse("its condition is not known before the program runs",
             "it follows from constants and the arguments' shapes");
  if ((*holds->literal.bytes)[0] != std::byte{0}) return {};
  std::string text =
      r.word_or("error_message", "the shapes are not those that it was exported for");
  for (std::size_t i = 1; i < r.in.size(); ++i) {
    const std::optional<Ints> n = r.known_integers(r.in[i]);
    const std::string mark = "{" + std::to_string(i - 1) + "}";
    for (std::size_t at = 0; n && n->size() == 1 && (at = text.find(mark, at)) != text.npos;)
      text.replace(at, mark.size(), std::to_string((*n)[0]));
  }
  throw BrokenAssertion(text);
}

namespace {

// A call whose results have dynamic dimensions takes the shape of each as an operand.
void take_shapes(Reading& r, const AttributeSyntax& which) {
  const Ints numbers = read_integers(r.importer.module, which);
  if (numbers.size() != r.op.result_types.size() || r.in.size() != r.operands.size())
    r.refuse("indices_of_shape_operands has " + std::to_string(numbers.size()) + " numbers for " +
             std::to_string(r.op.result_types.size()) + " results");
  r.check_dims(numbers, static_cast<int>(r.in.size()), "indices_of_shape_operands");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Type& declared = r.importer.declared(r.op.result_types[i]);
    const Ints dims = r.settled(static_cast<std::size_t>(numbers[i]));
    const Type t(declared.dtype, Shape(dims.begin(), dims.end()));
    if (!fits(declared, t))
      r.refuse("result " + std::to_string(i) + " is declared as " + text_of({declared}) +
               ", and an operand says " + text_of({t}));
    r.settled_results.push_back(t);
  }
  for (std::size_t k = r.in.size(); k-- > 0;)
    if (std::find(numbers.begin(), numbers.end(), static_cast<std::int64_t>(k)) != numbers.end()) {
      r.in.erase(r.in.begin() + static_cast<std::ptrdiff_t>(k));
      r.operands.erase(r.operands.begin() + static_cast<std::ptrdiff_t>(k));
    }
}

}  // namespace

Values custom_call(Reading& r) {
  if (const AttributeSyntax* which = r.find("indices_of_shape_operands")) take_shapes(r, *which);
  struct Row {
    const char* target;
    Rule rule;
  };
  static constexpr Row kRows[] = {
      {"check.expect_eq", check_equal},
      {"check.expect_close", check_close},
      {"check.expect_almost_eq", check_almost_equal},
      {"shape_assertion", shape_assertion},
      {"stablehlo.dynamic_top_k", dynamic_top_k},
      {"stablehlo.dynamic_reduce_window", dynamic_reduce_window},
      {"stablehlo.dynamic_rng_bit_generator", dynamic_rng_bit_generator},
      {"Sharding", tile_sharding},
      {"InspectSharding", pass},
      {"annotate_device_placement", pass},
      {"LayoutConstraint", pass},
      {"xla.sdy.FuncResultSharding", pass},
      {"dce_sink", nothing},
      {"AllocateBuffer", empty},
      {"ApproxTopK", approx_top_k},
      {"stablehlo.dynamic_approx_top_k", dynamic_approx_top_k},
      {"mhlo.topk", mhlo_operation},
      {"mhlo.erf", mhlo_operation},
      {"mhlo.tan", mhlo_operation},
      {"tridiagonal_solve_perturbed_ffi", tridiagonal_solve_perturbed},
      {"cu_tridiagonal_solve_perturbed", tridiagonal_solve_perturbed},
      {"hip_tridiagonal_solve_perturbed", tridiagonal_solve_perturbed},
      {"cpu_csr_sparse_dense_ffi", csr_times_dense},
      {"cu_threefry2x32_ffi", threefry},
      {"hip_threefry2x32_ffi", threefry},
      {"cu_lu_pivots_to_permutation", pivots_to_permutation},
      {"hip_lu_pivots_to_permutation", pivots_to_permutation},
  };
  const std::string target = r.word_or("call_target_name", "");
  for (const Row& row : kRows)
    if (target == row.target) return row.rule(r);
  if (const Rule rule = lapack_rule(target)) return rule(r);
  if (const Rule rule = older_lapack_rule(target)) return rule(r);
  if (const Rule rule = python_callback_rule(target)) return rule(r);
  r.refuse("the custom call " + shown(target) + " is not supported",
           "a custom call is code of another library",
           "export the function for a platform without it, or write this part with Tessera");
}

Values while_loop(Reading& r) {
  r.need_regions(2);
  std::vector<Type> carry;
  for (const Value& v : r.in) carry.emplace_back(v.dtype(), v.shape());
  const RegionProgram cond = r.importer.region(r, r.op.regions[0], carry),
                      body = r.importer.region(r, r.op.regions[1], carry);
  const auto arguments = [](const RegionProgram& p) {
    std::vector<Type> types = plain_types(p.program->input_types());
    types.resize(types.size() - p.captured.size());
    return types;
  };
  if (arguments(cond) != carry || arguments(body) != carry ||
      plain_types(body.program->output_types()) != carry)
    r.refuse("the types of what it carries are not those of its regions");
  if (plain_types(cond.program->output_types()) != std::vector<Type>{Type(DType::boolean, {})})
    r.refuse("its condition does not give one tensor<i1>");
  if (std::optional<Values> out = counted_loop(r, cond, body)) return *std::move(out);
  return ops::while_(captures_first(cond), captures_first(body), cond.captured, body.captured,
                     r.in);
}

Values if_else(Reading& r) {
  r.need_operands(1);
  r.need_regions(2);
  if (Type(r.in[0].dtype(), r.in[0].shape()) != Type(DType::boolean, {}))
    r.refuse("its operand is no tensor<i1>");
  // Compilers evaluate arguments in different orders, and equations should have one.
  const Value otherwise = scalar_of(r, DType::int32, 1), chosen = scalar_of(r, DType::int32, 0);
  return choose(r, ops::select(r.in[0], chosen, otherwise));
}

// An index out of range, including a negative one, selects the last branch.
Values case_of(Reading& r) {
  r.need_operands(1);
  if (r.op.regions.empty()) r.refuse("it has no branches");
  if (Type(r.in[0].dtype(), r.in[0].shape()) != Type(DType::int32, {}))
    r.refuse("its operand is no tensor<i32>");
  // Our op clamps the index itself.
  if (const std::optional<Value> i = clamped_to(r, static_cast<std::int64_t>(r.op.regions.size())))
    return choose(r, *i);
  const Value i = r.in[0],
              last = scalar_of(r, DType::int32, static_cast<std::int64_t>(r.op.regions.size()) - 1);
  const Value outside = ops::lt(i, scalar_of(r, DType::int32, 0));
  return choose(r, ops::select(outside, last, ops::min(i, last)));
}

Values get_tuple_element(Reading& r) {
  if (r.operands.size() != 1 || !r.operands[0].type ||
      (*r.operands[0].type)->kind != TypeData::tuple)
    r.refuse("its operand is no tuple");
  const List<TypeSyntax>& members = (*r.operands[0].type)->members;
  const std::int64_t index = r.integer("index");
  if (index < 0 || index >= static_cast<std::int64_t>(members.size()))
    r.refuse("the tuple has " + std::to_string(members.size()) + " elements, and no number " +
             std::to_string(index));
  std::size_t first = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(index); ++i)
    first += r.importer.leaf_types(members[i]).size();
  const std::size_t n = r.importer.leaf_types(members[static_cast<std::size_t>(index)]).size();
  return Values(r.in.begin() + static_cast<std::ptrdiff_t>(first),
                r.in.begin() + static_cast<std::ptrdiff_t>(first + n));
}

Values map(Reading& r) {
  r.need_regions(1);
  if (r.in.empty()) r.refuse("it has no operand");
  const ProgramPtr p = r.importer.closed_region(r, r.op.regions[0]);
  const Shape shape = r.in[0].shape();
  std::vector<Type> want;
  for (const Value& v : r.in) {
    if (v.shape() != shape) r.refuse("its operands have different shapes");
    want.emplace_back(v.dtype(), Shape());
  }
  if (plain_types(p->input_types()) != want)
    r.refuse("its region does not take an element of each operand");
  return elementwise(r.b, *p, r.in, shape);
}

// Computes the region at its start: the order of our programs follows from their data flow.
Values async_start(Reading& r) {
  r.need_regions(1);
  const RegionProgram body = r.importer.region(r, r.op.regions[0]);
  std::vector<Type> got, want = plain_types(body.program->input_types());
  for (const Value& v : r.in) got.emplace_back(v.dtype(), v.shape());
  want.resize(want.size() - body.captured.size());
  if (want != got) r.refuse("its region takes " + text_of(want) + ", and it has " + text_of(got));
  Values in = r.in;
  in.insert(in.end(), body.captured.begin(), body.captured.end());
  return r.b.inline_program(*body.program, in);
}

Values check_equal(Reading& r) { return add_check(r, check(Check::equal, 0)); }
Values check_close(Reading& r) {
  constexpr std::int64_t kUlps = 3;
  return add_check(
      r, check(Check::close, static_cast<double>(r.integer_or("max_ulp_difference", kUlps)),
               static_cast<double>(r.integer_or("min_ulp_difference", 0))));
}
Values check_almost_equal(Reading& r) {
  constexpr double kTolerance = 1e-3;
  return add_check(r, check(Check::almost_equal, r.real_or("tolerance", kTolerance)));
}

}  // namespace tessera::inline v0::stablehlo::rules
