#include <tessera/control_flow.h>
#include <tessera/manipulation.h>

#include "api/trace/body.h"
#include "api/trace/differentiate.h"
#include "api/trace/numbers.h"
#include "ops/build.h"

#include <limits>

namespace tessera::inline v0::detail {
namespace {

Values convert_all(Values v, std::span<const Type> types) {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (v[i].dtype() != types[i].dtype || v[i].type().weak != types[i].weak)
      v[i] = ops::convert(v[i], types[i].dtype, types[i].weak);
  return v;
}

Values add_inputs(Builder& b, std::span<const Array> arrays, const char* function) {
  Values in;
  for (const Array& a : arrays) in.push_back(b.input(need(a, function, {}).type));
  return in;
}

std::vector<Array> present_arrays(const Call& call, std::size_t begin, std::size_t end) {
  std::vector<Array> out;
  for (std::size_t i = begin; i < end; ++i)
    if (!call.args.leaves[i]->is_empty()) out.push_back(*call.args.leaves[i]);
  return out;
}

TracedFunction trace_condition(Call& condition, std::span<const Type> carry, const SourceLoc& loc) {
  TracedFunction f = trace_call(condition, "while_loop condition", "while_loop condition", carry);
  const bool present = !f.result_present.empty() && f.result_present[0];
  const Type t = present ? f.program->type(f.program->outputs[0]) : Type();
  if (!present || t.dtype != DType::boolean || t.shape.rank() != 0) {
    Message m("while_loop");
    m.problem("the condition gives " + (present ? visible_text(t) : std::string("an empty array")))
        .rule("the condition is one boolean scalar")
        .from(loc)
        .advice("compare, and reduce with ts::any or ts::all")
        .raise<ShapeError>();
  }
  return f;
}

}  // namespace

Outcome while_loop(Call& condition, Call& body, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const InFunction called("while_loop", loc);
  check_arguments(body, "while_loop", loc);
  const LoopBody loop = trace_loop_body("while_loop", body, leaf_types(body), 0, false, loc);
  const TracedFunction test = trace_condition(condition, loop.inputs, loc);

  std::vector<Array> arrays = test.captures;
  arrays.insert(arrays.end(), loop.function.captures.begin(), loop.function.captures.end());
  const std::size_t consts = arrays.size();
  const std::vector<Array> start = present_arrays(body, 0, body.args.leaves.size());
  arrays.insert(arrays.end(), start.begin(), start.end());

  Builder b("while_loop");
  b.loc = loc;
  const Values in = add_inputs(b, arrays, "while_loop");
  const std::span<const Value> all(in);
  const Values carry =
      convert_all(Values(in.begin() + static_cast<std::ptrdiff_t>(consts), in.end()), loop.inputs);
  const Values out = ops::while_(
      captures_first(test), captures_first(loop.function), all.first(test.captures.size()),
      all.subspan(test.captures.size(), loop.function.captures.size()), carry);
  return outcome(loop.function, apply(b.finish(out), arrays, loc));
}

Outcome fori_loop(std::int64_t lo, std::int64_t hi, Call& body, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const InFunction called("fori_loop", loc);
  check_arguments(body, "fori_loop", loc);
  std::int64_t steps = 0;
  if (hi > lo && (__builtin_sub_overflow(hi, lo, &steps) || steps > (std::int64_t{1} << 50)))
    Message("fori_loop")
        .problem("from " + std::to_string(lo) + " to " + std::to_string(hi) +
                 " there are more than 2^50 steps")
        .rule("with bounds that are C++ integers it is a scan, over an array of all indices")
        .from(loc)
        .advice("check the bounds; with bounds that are arrays it is a while_loop")
        .raise<ShapeError>();
  const auto narrow = [](std::int64_t v) {
    return v >= std::numeric_limits<std::int32_t>::min() &&
           v <= std::numeric_limits<std::int32_t>::max();
  };
  const DType dtype = narrow(lo) && narrow(hi) ? DType::int32 : DType::int64;
  std::vector<Type> types = leaf_types(body);
  types[0] = Type(dtype, {});
  const LoopBody loop = trace_loop_body("fori_loop", body, types, 1, false, loc);

  // The body takes (i, carry, captures); that of a scan takes (consts, carry, x).
  Builder step("fori_loop body");
  Values consts, carry;
  for (const Array& c : loop.function.captures) consts.push_back(step.input(c.impl()->type));
  for (std::size_t i = 0; i < loop.carry; ++i) carry.push_back(step.input(loop.inputs[1 + i]));
  Values operands{step.input(Type(dtype, {}))};
  operands.insert(operands.end(), carry.begin(), carry.end());
  operands.insert(operands.end(), consts.begin(), consts.end());
  const ProgramPtr scanned = step.finish(step.inline_program(*loop.function.program, operands));

  std::vector<Array> arrays = loop.function.captures;
  const std::vector<Array> start = present_arrays(body, body.arg_begin(1), body.arg_ends[1]);
  arrays.insert(arrays.end(), start.begin(), start.end());
  Builder b("fori_loop");
  b.loc = loc;
  const Values in = add_inputs(b, arrays, "fori_loop");
  const Values first =
      convert_all(Values(in.begin() + static_cast<std::ptrdiff_t>(consts.size()), in.end()),
                  std::span<const Type>(loop.inputs).subspan(1));
  Value index = ops::iota(b, dtype, {steps}, 0);
  if (lo != 0)
    index = ops::add(
        index, ops::broadcast_in_dim(ops::constant(b, scalar_literal(dtype, lo)), {steps}, {}));
  const Values xs{index};
  const Values out = ops::scan(scanned, std::span<const Value>(in).first(consts.size()), first, xs,
                               steps, false, b);
  return outcome(loop.function, apply(b.finish(out), arrays, loc));
}

Outcome fori_loop(const Array& lo, const Array& hi, Call& body, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const InFunction called("fori_loop", loc);
  const Type &l = need(lo, "fori_loop").type, &h = need(hi, "fori_loop").type;
  if (l.shape.rank() != 0 || h.shape.rank() != 0 || !is_integer(l.dtype) || !is_integer(h.dtype))
    Message("fori_loop")
        .problem("the bounds are " + visible_text(l) + " and " + visible_text(h))
        .rule("bounds are integer scalars")
        .from(loc)
        .advice("convert with astype(ts::i32), or pass C++ integers")
        .raise<ShapeError>();
  const DType both = promote(l.dtype, l.weak, h.dtype, h.weak).dtype;
  // Bounds of int64 and uint64 promote to a float. The counter is then int64, which a loop that
  // starts at an int64 never exceeds.
  const bool mixed = is_floating(both);
  const DType dtype = mixed ? DType::int64 : both;
  check_fits("fori_loop", Operand(lo, where), dtype);
  check_fits("fori_loop", Operand(hi, where), dtype);
  std::vector<Type> types = leaf_types(body);
  types[0] = Type(dtype, {});
  const LoopBody loop = trace_loop_body("fori_loop", body, types, 1, false, loc);
  const std::size_t captures = loop.function.captures.size();

  // The while loop carries i, then the carry. The only constant of its condition is hi.
  Builder test("fori_loop condition");
  {
    Value end = test.input(Type(dtype, {}));
    Value i = test.input(Type(dtype, {}));
    for (std::size_t k = 0; k < loop.carry; ++k) test.input(loop.inputs[1 + k]);
    const Values less{ops::lt(i, end)};
    const ProgramPtr condition = test.finish(less);

    Builder step("fori_loop body");
    Values consts, carried;
    for (const Array& c : loop.function.captures) consts.push_back(step.input(c.impl()->type));
    carried.push_back(step.input(Type(dtype, {})));
    for (std::size_t k = 0; k < loop.carry; ++k) carried.push_back(step.input(loop.inputs[1 + k]));
    Values operands = carried;
    operands.insert(operands.end(), consts.begin(), consts.end());
    Values next = step.inline_program(*loop.function.program, operands);
    next.insert(next.begin(),
                ops::add(carried[0], ops::constant(step, scalar_literal(dtype, std::int64_t{1}))));
    const ProgramPtr stepped = step.finish(next);

    std::vector<Array> arrays{hi, lo};
    arrays.insert(arrays.end(), loop.function.captures.begin(), loop.function.captures.end());
    const std::vector<Array> start = present_arrays(body, body.arg_begin(1), body.arg_ends[1]);
    arrays.insert(arrays.end(), start.begin(), start.end());
    Builder b("fori_loop");
    b.loc = loc;
    const Values in = add_inputs(b, arrays, "fori_loop");
    const auto within = [&](Value v) {
      if (!mixed || v.dtype() != DType::uint64) return v;
      return ops::min(v, ops::constant(b, scalar_literal(DType::uint64, std::int64_t{INT64_MAX})));
    };
    const Values bounds = convert_all({within(in[0]), within(in[1])},
                                      std::vector<Type>{Type(dtype, {}), Type(dtype, {})});
    Values carry =
        convert_all(Values(in.begin() + static_cast<std::ptrdiff_t>(2 + captures), in.end()),
                    std::span<const Type>(loop.inputs).subspan(1));
    carry.insert(carry.begin(), bounds[1]);
    Values out = ops::while_(condition, stepped, std::span<const Value>(bounds).first(1),
                             std::span<const Value>(in).subspan(2, captures), carry);
    out.erase(out.begin());
    return outcome(loop.function, apply(b.finish(out), arrays, loc));
  }
}

Batches in_batches(const TreeDef&, const std::vector<Array>& leaves, std::int64_t size,
                   std::source_location where) {
  const SourceLoc loc = line_of(where);
  if (size < 0)
    Message("map")
        .problem("batch_size is " + std::to_string(size))
        .rule("it is the number of elements that are worked on together; 0 takes one at a time")
        .from(loc)
        .advice("pass {.batch_size = 32}, or leave it out")
        .raise<ShapeError>();
  std::int64_t n = -1;
  bool agree = true;
  for (const Array& x : leaves) {
    if (x.is_empty()) continue;
    const std::int64_t here = x.ndim() == 0 ? -1 : x.shape()[0];
    if (n < 0) n = here;
    agree &= here == n;
  }
  Batches out;
  // Without batches, or if something is wrong, this is a plain map, which reports the error.
  if (size == 0 || n < 1 || !agree) return out;
  out.batched = true;
  const std::int64_t whole = n / size;
  for (const Array& x : leaves) {
    if (whole > 0) {
      Shape shape = x.is_empty() ? Shape() : x.shape();
      if (!x.is_empty()) {
        shape[0] = size;
        shape.insert(shape.begin(), whole);
      }
      out.whole.push_back(x.is_empty() ? x
                                       : x.get({until(whole * size)}, where).reshape(shape, where));
    }
    if (whole * size < n) out.rest.push_back(x.is_empty() ? x : x.get({from(whole * size)}, where));
  }
  return out;
}

Array merge_leading(const Array& x) {
  Shape shape = x.shape();
  shape[1] *= shape[0];
  shape.erase(shape.begin());
  return x.reshape(shape, std::source_location{});
}
Array joined(const Array& a, const Array& b) {
  return concatenate({a, b}, 0, std::source_location{});
}

namespace {

std::int64_t scan_length(const char* function, const Call& body, std::size_t first_leaf,
                         const ScanOptions& options, const SourceLoc& loc) {
  std::int64_t length = options.length;
  bool agree = true, scalar = false;
  for (std::size_t i = first_leaf; i < body.args.leaves.size(); ++i) {
    const Array& x = *body.args.leaves[i];
    if (x.is_empty()) continue;
    if (x.ndim() == 0) {
      scalar = true;
      continue;
    }
    if (length < 0) length = x.shape()[0];
    agree &= x.shape()[0] == length;
  }
  if (length < 0 && !scalar)
    Message(function)
        .problem("there are no inputs to step through and no length")
        .rule("the number of steps comes from the inputs' leading axes, or from length")
        .from(loc)
        .advice("pass {.length = n}")
        .raise<ShapeError>();
  if (agree && !scalar) return length;
  Message m(function);
  m.problem(scalar                ? "an input has no leading axis to step through"
            : options.length >= 0 ? "the inputs' leading axes do not have the length asked for, " +
                                        std::to_string(options.length)
                                  : "the inputs' leading axes differ in size");
  const std::vector<std::string> paths = body.describe_args().paths("args");
  for (std::size_t i = first_leaf; i < body.args.leaves.size(); ++i)
    if (!body.args.leaves[i]->is_empty())
      m.offender(paths[i] + " is " + visible_text(body.args.leaves[i]->impl()->type));
  m.rule("all inputs have one leading size: the number of steps")
      .from(loc)
      .advice("capture what every step sees whole instead of passing it as an input")
      .raise<ShapeError>();
}

}  // namespace

Outcome scan(const char* function, Call& body, std::size_t carry_args, const ScanOptions& options,
             std::source_location where) {
  const SourceLoc loc = line_of(where);
  const std::size_t first_x = carry_args == 0 ? 0 : body.arg_ends[carry_args - 1];
  const std::int64_t length = scan_length(function, body, first_x, options, loc);
  std::vector<Type> types;
  for (std::size_t i = 0; i < body.args.leaves.size(); ++i) {
    if (body.args.leaves[i]->is_empty()) continue;
    types.push_back(body.args.leaves[i]->impl()->type);
    if (i >= first_x) types.back().shape.erase(types.back().shape.begin());
  }
  const LoopBody loop =
      trace_loop_body(function, body, types, carry_args == 0 ? -1 : 0, carry_args != 0, loc);

  const std::size_t captures = loop.function.captures.size();
  std::vector<Array> arrays = loop.function.captures;
  const std::vector<Array> leaves = present_arrays(body, 0, body.args.leaves.size());
  arrays.insert(arrays.end(), leaves.begin(), leaves.end());
  Builder b(function);
  b.loc = loc;
  const Values in = add_inputs(b, arrays, function);
  const auto carry_begin = in.begin() + static_cast<std::ptrdiff_t>(captures);
  const auto carry_end = carry_begin + static_cast<std::ptrdiff_t>(loop.carry);
  const Values carry = convert_all(Values(carry_begin, carry_end),
                                   std::span<const Type>(loop.inputs).first(loop.carry));
  const Values xs(carry_end, in.end());
  const Values out =
      ops::scan(captures_first(loop.function), std::span<const Value>(in).first(captures), carry,
                xs, length, options.reverse, b);
  return outcome(loop.function, apply(b.finish(out), arrays, loc));
}

}  // namespace tessera::inline v0::detail
