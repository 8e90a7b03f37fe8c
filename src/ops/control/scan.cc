// scan: a loop over the leading dimension of its inputs that carries values from one iteration to
// the next.
#include "ir/op.h"
#include "ops/build.h"
#include "ops/control/agree.h"
#include "ops/control/nested.h"
#include "ops/control/scan_rules.h"

#include <cstring>

namespace tessera::inline v0::ops {

Values scan(ProgramPtr body, std::span<const Value> consts, std::span<const Value> carry,
            std::span<const Value> xs, std::int64_t length, bool reverse, Builder& b) {
  Values inputs(consts.begin(), consts.end());
  inputs.insert(inputs.end(), carry.begin(), carry.end());
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  agree_scan(b, body, inputs, consts.size(), carry.size());
  return b.emit("scan", inputs,
                ScanLayout::make(std::move(body), consts.size(), carry.size(), length, reverse));
}

namespace {

std::vector<Type> scan_infer(const InferArgs& a) {
  check_counts(a, {ScanLayout::kConsts, ScanLayout::kCarry});
  ScanLayout s(a.attrs);
  std::vector<Type> types(a.inputs.begin(), a.inputs.end());
  for (std::size_t i = s.first_x(); i < types.size(); ++i) {
    Shape& shape = types[i].shape;
    if (shape.empty() || shape[0] != s.length)
      Message("scan")
          .problem("input " + std::to_string(i - s.first_x()) + " has shape " +
                   to_string(a.inputs[i].shape))
          .rule("the leading dimension of each input is the length, " + std::to_string(s.length))
          .from(a.loc)
          .advice(
              "slicing the inputs to one length, or passing a value that every step sees whole as "
              "a carry")
          .raise<ShapeError>();
    shape.erase(shape.begin());
  }
  check_inputs(a, "body", *s.body, types);
  std::vector<Type> results = s.body->output_types();
  for (std::size_t i = 0; i < s.carry; ++i)
    check_same(a, "carry " + std::to_string(i), types[s.consts + i], results.at(i));
  for (std::size_t i = s.carry; i < results.size(); ++i)
    results[i].shape.insert(results[i].shape.begin(), s.length);
  return results;
}

// A carry varies over the axes of its initial value and of its value after any iteration.
std::vector<AxisSet> scan_vary(const VaryArgs& a) {
  ScanLayout s(a.attrs);
  std::vector<AxisSet> in(a.inputs.begin(), a.inputs.end());
  for (;;) {
    std::vector<AxisSet> out = vary_through(*s.body, in);
    bool grew = false;
    for (std::size_t i = 0; i < s.carry; ++i) {
      AxisSet all = in[s.consts + i] | out[i];
      grew = grew || !(all == in[s.consts + i]);
      in[s.consts + i] = out[i] = std::move(all);
    }
    if (!grew) return out;
  }
}

void scan_evaluate(const EvalArgs& a) {
  ScanLayout s(a.attrs);
  std::vector<HostArray> in(a.inputs.begin(), a.inputs.end());
  for (std::int64_t n = 0; n < s.length; ++n) {
    std::int64_t step = s.reverse ? s.length - 1 - n : n;
    for (std::size_t i = s.first_x(); i < in.size(); ++i) {
      const Type& type = s.body->types[s.body->inputs[i]];
      in[i] = HostArray(type.dtype, type.shape, a.inputs[i].bytes + step * type.bytes());
    }
    std::vector<HostArray> out = evaluate(*s.body, in);
    for (std::size_t i = 0; i < s.carry; ++i) in[s.consts + i] = out[i];
    for (std::size_t i = s.carry; i < out.size(); ++i)
      std::memcpy(a.outputs[i].bytes + step * out[i].size_bytes(), out[i].bytes,
                  static_cast<std::size_t>(out[i].size_bytes()));
  }
  for (std::size_t i = 0; i < s.carry; ++i)
    std::memcpy(a.outputs[i].bytes, in[s.consts + i].bytes,
                static_cast<std::size_t>(a.outputs[i].size_bytes()));
}

Flow scan_flow(const Attrs& attrs) {
  const ScanLayout s(attrs);
  return {.kind = Flow::Kind::scan,
          .programs = {s.body},
          .consts = s.consts,
          .carry = s.carry,
          .length = s.length,
          .reverse = s.reverse};
}

Attrs scan_with_flow(const Attrs&, const Flow& f) {
  return ScanLayout::make(f.body(), f.consts, f.carry, f.length, f.reverse);
}

std::vector<OpExample> scan_examples() {
  Type vector(DType::float32, {3}), matrix(DType::float32, {4, 3});
  Builder b("body");
  Value w = b.input(vector), c = b.input(vector), x = b.input(vector);
  Value next = add(mul(mul(c, c), w), x);
  Values out{next, mul(next, x)};
  ProgramPtr body = b.finish(out);
  auto example = [&](bool reverse) {
    return OpExample{{vector, vector, matrix}, ScanLayout::make(body, 1, 1, 4, reverse)};
  };
  return {example(false), example(true)};
}

}  // namespace

void register_scan(Registry& r) {
  Op op;
  op.name = "scan";
  op.doc =
      "Runs body(consts, carry, x) -> (carry, y) for each x along the leading dimension of xs, "
      "from the end where `reverse` is "
      "set; gives the last carry and the ys stacked, each y at the place of its x. The carry keeps "
      "its dtype and shape. Zero "
      "steps give the first carry.";
  op.attrs = {{ScanLayout::kBody, AttrKind::program, "(consts, carry, x) -> (carry, y)"},
              {ScanLayout::kConsts, AttrKind::integer, "how many operands every step sees"},
              {ScanLayout::kCarry, AttrKind::integer, "how many operands go from step to step"},
              {ScanLayout::kLength, AttrKind::integer, "number of steps"},
              {ScanLayout::kReverse, AttrKind::boolean, "from the last x to the first"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::control;
  op.infer = scan_infer;
  op.jvp_both = scan_jvp;
  op.partial_eval = scan_partial_eval;
  op.transpose = scan_transpose;
  op.batch = scan_batch;
  op.vary = scan_vary;
  op.updates = [](const UpdateArgs& a) -> std::vector<std::size_t> {
    // A carry is an update of its initial value.
    const ScanLayout s(a.attrs);
    if (a.output >= s.carry) return {};
    return {s.consts + a.output};
  };
  op.flow = scan_flow;
  op.with_flow = scan_with_flow;
  op.evaluate = scan_evaluate;
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs& attrs) {
    const ScanLayout s(attrs);
    Cost c = cost_of(*s.body);
    double steps = static_cast<double>(s.length);
    return Cost{c.flops * steps, c.bytes * steps};
  };
  op.waived = {{"jvp", "jvp_both makes primals and tangents in one loop"},
               {"sharding", "the partitioner walks the body"},
               {"emit", "the executor runs the body"},
               {"stablehlo", "exported as a while with a counter"}};
  op.examples = scan_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
