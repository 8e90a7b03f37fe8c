// combine_at, and scatter_by, which computes positions by a gather and then uses one combine_at.
#include "ops/indexing/combine_at.h"

#include "ops/batching.h"
#include "ops/indexing/indexing.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::ops {

Values combine_at(std::span<const Value> xs, Value places, std::span<const Value> updates,
                  const ProgramPtr& body) {
  Values in(xs.begin(), xs.end());
  in.push_back(places);
  in.insert(in.end(), updates.begin(), updates.end());
  return xs[0].builder->emit("combine_at", in, {{"body", body}});
}

// The position of each update is found by gathering from an array of the operand's flat positions.
Values scatter_by(std::span<const Value> xs, Value indices, std::span<const Value> updates,
                  const ScatterDims& dims, const ProgramPtr& body, const std::string& mode) {
  const Shape &shape = xs[0].shape(), &update = updates[0].shape();
  const std::int64_t count = shape.count(), changes = update.count();
  const DType place = count > 0x7fffffff ? DType::int64 : DType::int32;
  const WindowDimsOf w = window_dims_of(dims, update.rank(), shape.rank(), indices.rank());
  Ints sizes(shape.size(), 1);
  for (std::size_t k = 0; k < w.window.size(); ++k)
    sizes[static_cast<std::size_t>(w.operand_window[k])] =
        update[static_cast<std::size_t>(w.window[k])];
  Value flat = reshape(iota(*indices.builder, place, Shape{count}, 0), shape);
  // Out of bounds, "fill" gives the smallest integer, which is no valid position.
  Value places = gather(flat, indices, as_gather(dims), sizes, mode == "clip" ? "clip" : "fill");
  Values rows, changed;
  for (Value x : xs) rows.push_back(reshape(x, Shape{count}));
  for (Value u : updates) changed.push_back(reshape(u, Shape{changes}));
  Values out = combine_at(rows, reshape(places, Shape{changes}), changed, body);
  for (Value& x : out) x = reshape(x, shape);
  return out;
}

namespace {

// Holds an element of any dtype.
struct CombinedElement {
  alignas(16) std::byte bytes[16];
};

struct Operands {
  std::size_t count;  // number of arrays updated together
  explicit Operands(std::size_t inputs) : count(inputs / 2) {}
  std::size_t update(std::size_t i) const { return count + 1 + i; }
};

// The batch of rows; a row is the last dimension.
Shape shape_of_rows(const Shape& shape) {
  Shape rows = shape;
  if (rows.rank() > 0) rows.pop_back();
  return rows;
}

std::vector<Type> combine_at_infer(const InferArgs& a) {
  const Operands o(a.inputs.size());
  Message message(a.op.name);
  bool fits = o.count > 0 && a.inputs.size() % 2 == 1;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Type& t = a.inputs[i];
    const bool operand = i < o.count, places = i == o.count;
    const Type& like = a.inputs[operand || !fits ? 0 : o.count];
    fits = fits && t.shape.rank() > 0 && t.shape == like.shape &&
           shape_of_rows(t.shape) == shape_of_rows(a.inputs[0].shape) &&
           (operand || places || t.dtype == a.inputs[i - o.count - 1].dtype);
    message.offender((operand  ? "operand " + std::to_string(i)
                      : places ? std::string("places")
                               : "updates " + std::to_string(i - o.count - 1)) +
                     ": " + tessera::to_string(Type(t.dtype, t.shape)));
  }
  if (!fits)
    message.problem("the operands, the places and the updates do not fit together")
        .rule(
            "operands of one shape, then places and updates of another, all with the same "
            "dimensions before the last; an update has its operand's dtype")
        .from(a.loc)
        .advice("reshape them to one dimension")
        .raise<ShapeError>();
  check_index_dtype(a, a.inputs[o.count].dtype, "the places");
  std::vector<DType> elements, both;
  for (const Type& t : a.inputs.first(o.count)) elements.push_back(t.dtype);
  both = elements;
  both.insert(both.end(), elements.begin(), elements.end());
  check_body(a, *a.attrs.program("body"), both, elements, "it combines elements with updates");
  std::vector<Type> out;
  for (std::size_t i = 0; i < o.count; ++i)
    out.emplace_back(a.inputs[i].dtype, a.inputs[i].shape,
                     a.inputs[i].weak && a.inputs[o.update(i)].weak);
  return out;
}

BatchResult combine_at_batch(const BatchArgs& a) {
  Values rows;
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    rows.push_back(stacked_at(a.inputs[i], a.dims[i], 0, a.size));
  const Operands o(rows.size());
  const std::span<const Value> all(rows);
  Values out = combine_at(all.first(o.count), rows[o.count], all.subspan(o.count + 1),
                          a.attrs.program("body"));
  return {out, std::vector<int>(out.size(), 0)};
}

FactorRule combine_at_sharding(const ShardArgs& a) {
  FactorRule rule;
  const Operands o(a.inputs.size());
  const std::vector<int> operand = rule.factors(a.inputs[0].shape);
  std::vector<int> update = operand;
  update.back() = rule.factor(a.inputs[o.count].shape.back());
  rule.mark(FactorRule::Kind::need_repl, operand.back());
  rule.mark(FactorRule::Kind::need_repl, update.back());
  for (std::size_t i = 0; i < a.inputs.size(); ++i) rule.input(i < o.count ? operand : update);
  for (std::size_t i = 0; i < o.count; ++i) rule.output(operand);
  return rule;
}

void combine_at_evaluate(const EvalArgs& a) {
  const Operands o(a.inputs.size());
  for (std::size_t i = 0; i < o.count; ++i)
    if (a.inputs[i].count())
      std::memcpy(a.outputs[i].bytes, a.inputs[i].bytes,
                  static_cast<std::size_t>(a.inputs[i].size_bytes()));
  const std::int64_t n = a.inputs[0].shape.back(), m = a.inputs[o.count].shape.back();
  for (std::int64_t k = 0; k < a.inputs[o.count].count(); ++k) {
    const std::int64_t place = read_index(a.inputs[o.count], k), at = k / m * n + place;
    if (place < 0 || place >= n) continue;
    std::vector<HostArray> in;
    for (std::size_t i = 0; i < o.count; ++i) in.push_back(element_of(a.outputs[i], at));
    for (std::size_t i = 0; i < o.count; ++i) in.push_back(element_of(a.inputs[o.update(i)], k));
    const std::vector<HostArray> next = evaluate_body(*a.attrs.program("body"), in);
    for (std::size_t i = 0; i < o.count; ++i)
      std::memmove(element_of(a.outputs[i], at).bytes, next[i].bytes,
                   static_cast<std::size_t>(size_of(next[i].dtype)));
  }
}

// Tasks share the rows. Within a row the updates are sequential, because each depends on the
// current value at its position.
std::shared_ptr<const Routine> combine_at_call(const CallArgs& a) {
  const Operands o(a.inputs.size());
  auto body = compile_body(a.attrs.program("body"));
  if (!body) return nullptr;
  std::vector<std::int64_t> sizes;
  for (const Type& t : a.outputs) sizes.push_back(size_of(t.dtype));
  const std::int64_t rows = shape_of_rows(a.inputs[0].shape).count(), n = a.inputs[0].shape.back(),
                     m = a.inputs[o.count].shape.back();
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 5e-8 * static_cast<double>(rows * m);
  for (std::size_t i = 0; i < o.count; ++i)
    routine->in_place.emplace_back(static_cast<int>(i), static_cast<int>(i));
  const DType index = a.inputs[o.count].dtype;
  auto run_row = [=](const RoutineArgs& args, std::int64_t row) {
    const HostArray places(index, Shape{rows * m}, const_cast<void*>(args.inputs[o.count]));
    std::vector<const void*> in(2 * o.count);
    std::vector<CombinedElement> made(
        o.count);  // results must not overwrite operands that are still read
    std::vector<void*> out(o.count);
    for (std::size_t i = 0; i < o.count; ++i) {
      auto* to = static_cast<std::byte*>(args.outputs[i]) + row * n * sizes[i];
      const auto* from = static_cast<const std::byte*>(args.inputs[i]) + row * n * sizes[i];
      if (to != from && n > 0) std::memcpy(to, from, static_cast<std::size_t>(n * sizes[i]));
      out[i] = &made[i];
    }
    for (std::int64_t k = row * m; k < (row + 1) * m; ++k) {
      const std::int64_t place = read_index(places, k), at = row * n + place;
      if (place < 0 || place >= n) continue;
      for (std::size_t i = 0; i < o.count; ++i) {
        in[i] = static_cast<std::byte*>(args.outputs[i]) + at * sizes[i];
        in[o.count + i] = static_cast<const std::byte*>(args.inputs[o.update(i)]) + k * sizes[i];
      }
      (*body)(in.data(), out.data());
      for (std::size_t i = 0; i < o.count; ++i)
        std::memcpy(static_cast<std::byte*>(args.outputs[i]) + at * sizes[i], out[i],
                    static_cast<std::size_t>(sizes[i]));
    }
  };
  const std::int64_t per_task = std::max<std::int64_t>(1, 1024 / std::max<std::int64_t>(1, n + m));
  Stage s;
  s.tasks = (rows + per_task - 1) / per_task;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin * per_task; row < std::min(rows, end * per_task); ++row)
      run_row(args, row);
  };
  routine->stages.push_back(std::move(s));
  return routine;
}

ProgramPtr combine_at_example_body(DType dtype) {
  Builder b("threefold");
  Value x = b.input(Type(dtype, {})), y = b.input(Type(dtype, {}));
  return b.finish(Values{add(mul(x, full_like(x, 3)), y)});
}

}  // namespace

void register_combine_at(Registry& r) {
  Op op;
  op.name = "combine_at";
  op.doc =
      "Changes elements of one array or of several of one shape at places along the last dimension "
      "that are data, one after the other: the body (old..., updates...) gives the new ones. "
      "Operands: the arrays, the places of each row, an update of each array for each place. A "
      "place outside is passed over.";
  op.stablehlo = "scatter";
  op.attrs = {{"body", AttrKind::program, "of scalars"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = combine_at_call;
  op.infer = combine_at_infer;
  op.vary = vary_as_operands;
  op.batch = combine_at_batch;
  op.sharding = combine_at_sharding;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
    Cost c;
    c.flops = static_cast<double>(in.back().shape.count()) *
              static_cast<double>(attrs.program("body")->equations.size());
    for (const Type& t : in) c.bytes += static_cast<double>(t.bytes());
    for (const Type& t : out) c.bytes += static_cast<double>(t.bytes());
    return c;
  };
  op.evaluate = combine_at_evaluate;
  op.waived = {{"jvp", "a body has no one derivative at a place that it changes twice"},
               {"transpose", "it is linear in nothing"},
               {"updates", "what a body makes of a state is another value"},
               {"emit", "updates are applied in their order by a routine"}};
  op.examples = [] {
    const ProgramPtr floats = combine_at_example_body(DType::float32),
                     whole = combine_at_example_body(DType::int32);
    auto example = [](DType d, const Shape& x, const Shape& updates, const ProgramPtr& body) {
      OpExample e{{Type(d, x), Type(DType::int32, updates), Type(d, updates)}, {{"body", body}}};
      e.int_lo = -1;
      return e;
    };
    return std::vector<OpExample>{example(DType::float32, {4}, {7}, floats),
                                  example(DType::int32, {2, 3}, {2, 5}, whole)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
