// order_by: the order in which a comparator sorts rows.
#include "ops/movement/order_by.h"

#include "ops/factors.h"
#include "ops/movement/movement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera::inline v0::ops {

Value order_by(std::span<const Value> xs, const ProgramPtr& comparator, int dimension) {
  return xs[0].builder->emit1("order_by", xs,
                              {{"comparator", comparator}, {"dimension", std::int64_t{dimension}}});
}
Values sort_by(std::span<const Value> xs, const ProgramPtr& comparator, int dimension) {
  const Value order = order_by(xs, comparator, dimension);
  Values out;
  for (Value x : xs) out.push_back(take_along(x, order, dimension));
  return out;
}

namespace {

using Places = std::vector<std::int32_t>;

std::vector<Type> order_by_infer(const InferArgs& a) {
  Message message(a.op.name);
  bool same = !a.inputs.empty();
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    same = same && a.inputs[i].shape == a.inputs[0].shape;
    message.offender("operand " + std::to_string(i) + ": " + tessera::to_string(a.inputs[i]));
  }
  if (!same)
    message.problem(a.inputs.empty() ? "there is nothing to sort" : "the operands differ in shape")
        .rule("one array or more, of one shape")
        .from(a.loc)
        .advice("broadcast them first")
        .raise<ShapeError>();
  const Shape& shape = a.inputs[0].shape;
  check_dims(a, "dimension", {a.attrs.i("dimension")}, shape);
  if (shape[static_cast<std::size_t>(a.attrs.i("dimension"))] >
      std::numeric_limits<std::int32_t>::max())
    Message(a.op.name)
        .problem("rows of shape " + tessera::to_string(shape) + " along dimension " +
                 std::to_string(a.attrs.i("dimension")))
        .rule("places in a row are int32")
        .from(a.loc)
        .advice("sort parts of the rows")
        .raise<ShapeError>();
  std::vector<DType> pairs;
  for (const Type& t : a.inputs) pairs.insert(pairs.end(), 2, t.dtype);
  const DType answer[] = {DType::boolean};
  check_body(a, *a.attrs.program("comparator"), pairs, answer,
             "it says whether the first of each pair comes before the second");
  return {Type(DType::int32, shape)};
}

// A bottom-up merge sort. It is stable, and terminates with a permutation even if `before` is
// inconsistent.
template <class Before>
void merge_sort(Places& order, Places& other, Before&& before) {
  const std::size_t n = order.size();
  other.resize(n);
  for (std::size_t run = 1; run < n; run *= 2) {
    for (std::size_t from = 0; from < n; from += 2 * run) {
      const std::size_t middle = std::min(n, from + run), end = std::min(n, from + 2 * run);
      std::size_t a = from, b = middle;
      for (std::size_t to = from; to < end; ++to)
        other[to] =
            a == middle || (b < end && before(order[b], order[a])) ? order[b++] : order[a++];
    }
    order.swap(other);
  }
}

struct OrderedRows {
  std::int64_t count = 1, length = 1, inner = 1;  // elements of a row are `inner` apart
  OrderedRows(const Shape& shape, std::int64_t dimension) {
    for (std::int64_t d = 0; d < shape.rank(); ++d) {
      const std::int64_t n = shape[static_cast<std::size_t>(d)];
      (d == dimension ? length : count) *= n;
      if (d > dimension) inner *= n;
    }
  }
  std::int64_t base(std::int64_t row) const { return row / inner * length * inner + row % inner; }
};

// Insertion sort, which compares only neighbours.
void order_by_evaluate(const EvalArgs& a) {
  const OrderedRows rows(a.inputs[0].shape, a.attrs.i("dimension"));
  const Program& comparator = *a.attrs.program("comparator");
  auto* out = a.outputs[0].data<std::int32_t>();
  for (std::int64_t row = 0; row < rows.count && rows.length > 0; ++row) {
    const std::int64_t base = rows.base(row);
    auto before = [&](std::int32_t i, std::int32_t j) {
      std::vector<HostArray> in;
      for (const HostArray& x : a.inputs) {
        in.push_back(element_of(x, base + i * rows.inner));
        in.push_back(element_of(x, base + j * rows.inner));
      }
      return *evaluate_body(comparator, in)[0].data<bool>();
    };
    Places order;
    for (std::int32_t i = 0; i < rows.length; ++i) {
      std::size_t at = order.size();
      while (at > 0 && before(i, order[at - 1])) --at;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), i);
    }
    for (std::size_t k = 0; k < order.size(); ++k)
      out[base + static_cast<std::int64_t>(k) * rows.inner] = order[k];
  }
}

std::shared_ptr<const Routine> order_by_call(const CallArgs& a) {
  auto comparator = compile_body(a.attrs.program("comparator"));
  if (!comparator) return nullptr;
  const OrderedRows rows(a.inputs[0].shape, a.attrs.i("dimension"));
  std::vector<std::int64_t> sizes;
  for (const Type& t : a.inputs) sizes.push_back(size_of(t.dtype));
  const double steps = std::log2(std::max<double>(2, static_cast<double>(rows.length)));
  const std::int64_t per_task =
      std::max<std::int64_t>(1, 1024 / std::max<std::int64_t>(1, rows.length));
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 3e-8 * steps * static_cast<double>(rows.count * rows.length);
  Stage s;
  s.tasks = (rows.count + per_task - 1) / per_task;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    std::vector<const void*> in(2 * sizes.size());
    Places order(static_cast<std::size_t>(rows.length)), other;
    auto* out = static_cast<std::int32_t*>(args.outputs[0]);
    for (std::int64_t row = begin * per_task; row < std::min(rows.count, end * per_task); ++row) {
      const std::int64_t base = rows.base(row);
      auto before = [&](std::int32_t i, std::int32_t j) {
        for (std::size_t k = 0; k < sizes.size(); ++k) {
          const auto* x = static_cast<const std::byte*>(args.inputs[k]);
          in[2 * k] = x + (base + i * rows.inner) * sizes[k];
          in[2 * k + 1] = x + (base + j * rows.inner) * sizes[k];
        }
        bool yes = false;
        void* result[] = {&yes};
        (*comparator)(in.data(), result);
        return yes;
      };
      std::iota(order.begin(), order.end(), 0);
      merge_sort(order, other, before);
      for (std::size_t k = 0; k < order.size(); ++k)
        out[base + static_cast<std::int64_t>(k) * rows.inner] = order[k];
    }
  };
  routine->stages.push_back(std::move(s));
  return routine;
}

BatchResult order_by_batch(const BatchArgs& a) {
  Values xs;
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    xs.push_back(stacked_at(a.inputs[i], a.dims[i], 0, a.size));
  return {
      {order_by(xs, a.attrs.program("comparator"), static_cast<int>(a.attrs.i("dimension")) + 1)},
      {0}};
}

FactorRule order_by_sharding(const ShardArgs& a) {
  FactorRule rule;
  const std::vector<int> dims = rule.factors(a.inputs[0].shape);
  for (std::size_t i = 0; i < a.inputs.size(); ++i) rule.input(dims);
  rule.output(dims);
  rule.mark(FactorRule::Kind::need_repl, dims[static_cast<std::size_t>(a.attrs.i("dimension"))]);
  return rule;
}

// Orders by the magnitude of the first operand, then descending by the second.
ProgramPtr example_comparator(DType first, DType second) {
  Builder b("before");
  Value a0 = b.input(Type(first, {})), b0 = b.input(Type(first, {})),
        a1 = b.input(Type(second, {})), b1 = b.input(Type(second, {}));
  Value x = abs(a0), y = abs(b0);
  return b.finish(Values{or_(lt(x, y), and_(eq(x, y), gt(a1, b1)))});
}

}  // namespace

void register_order_by(Registry& r) {
  Op op;
  op.name = "order_by";
  op.doc =
      "Where the elements of each row along `dimension` come from when the operands are sorted "
      "together, stable, by a comparator (a of x0, b of x0, a of x1, ...) that says whether a "
      "comes "
      "before b. A comparator that contradicts itself gives some order.";
  op.stablehlo = "sort";
  op.attrs = {{"comparator", AttrKind::program, "of scalars"},
              {"dimension", AttrKind::integer, "the dimension to sort along"}};
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = order_by_call;
  op.infer = order_by_infer;
  op.vary = vary_as_operands;
  op.jvp = [](const JvpArgs&) { return MaybeValues(1); };
  op.batch = order_by_batch;
  op.sharding = order_by_sharding;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
    const auto n = static_cast<double>(in[0].shape[static_cast<std::size_t>(attrs.i("dimension"))]);
    Cost c;
    c.flops = static_cast<double>(in[0].shape.count()) * std::log2(std::max(n, 2.0)) *
              static_cast<double>(attrs.program("comparator")->equations.size());
    for (const Type& t : in) c.bytes += static_cast<double>(t.bytes());
    c.bytes += static_cast<double>(out[0].bytes());
    return c;
  };
  op.evaluate = order_by_evaluate;
  op.waived = {{"emit", "rows are ordered by a routine"},
               {"updates", "places are no elements"},
               {"transpose", "places have no derivative"}};
  op.examples = [] {
    const Type floats(DType::float32, {3, 7}), whole(DType::int32, {3, 7});
    return std::vector<OpExample>{
        {{whole, floats},
         {{"comparator", example_comparator(DType::int32, DType::float32)},
          {"dimension", std::int64_t{1}}}},
        {{floats, whole},
         {{"comparator", example_comparator(DType::float32, DType::int32)},
          {"dimension", std::int64_t{0}}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
