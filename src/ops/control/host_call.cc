// host_call and pure_host_call: call host functions with arrays, for their results and, in
// host_call, for their side effects.
#include "ops/control/host_call.h"

#include "base/float_mode.h"
#include "ir/nested.h"
#include "ops/build.h"
#include "ops/control/map_members.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::ops {

namespace {

constexpr const char *kFunction = "function", *kDtypes = "dtypes", *kShapes = "shapes",
                     *kOrdered = "ordered", *kTakesShards = "takes_shards";

// The first operands, before the function's own: whether to call it, and the device.
constexpr std::size_t kScalars = 2;

// The host's code may take any time, so programs that call it run from the queue.
constexpr double kHostCallSeconds = 1e-3;

Attrs host_call_attrs(std::shared_ptr<const HostFunction> function, std::span<const Type> results,
                      std::size_t operands) {
  Strings dtypes;
  IntLists shapes;
  for (const Type& t : results) {
    dtypes.emplace_back(short_name_of(t.dtype));
    shapes.push_back(t.shape.to_vector());
  }
  return {{kFunction, HookPtr(std::move(function))},
          {kDtypes, std::move(dtypes)},
          {kShapes, std::move(shapes)},
          {MapMembers::kSizes, Ints{}},
          {MapMembers::kStacked, IntLists(operands)}};
}

// The types of the function's results for one member.
std::vector<Type> result_types(const Attrs& attrs) {
  const Strings& dtypes = attrs.get<Strings>(kDtypes);
  const IntLists& shapes = attrs.get<IntLists>(kShapes);
  if (dtypes.size() != shapes.size())
    throw InternalError("a host call has " + std::to_string(dtypes.size()) + " dtypes and " +
                        std::to_string(shapes.size()) + " shapes");
  std::vector<Type> types;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    int d = 0;
    while (d < kDTypeCount && short_name_of(static_cast<DType>(d)) != dtypes[i]) ++d;
    if (d == kDTypeCount) throw InternalError("a host call has no dtype '" + dtypes[i] + "'");
    types.emplace_back(static_cast<DType>(d), Shape(shapes[i]));
  }
  return types;
}

std::vector<Type> host_call_infer(const InferArgs& a) {
  const MapMembers members(a.attrs);
  const std::size_t scalars = a.op.effect ? kScalars : 0;
  if (members.operands() != a.inputs.size() || a.inputs.size() < scalars)
    throw InternalError(a.op.name + " has " + std::to_string(a.inputs.size()) +
                        " operands, which its attributes do not fit");
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Type& t = a.inputs[i];
    bool fits = members.fits(i, t);
    if (i < scalars)
      fits = fits && t.shape.size() == members.mapped(i) &&
             t.dtype == (i == 0 ? DType::boolean : DType::int32);
    if (!fits)
      throw InternalError("operand " + std::to_string(i) + " of " + a.op.name + " is " +
                          to_string(t));
  }
  if (takes_shards(a.attrs) && !a.attrs.get<Strings>(kDtypes).empty())
    throw InternalError("a host call that takes shards gives no results");
  std::vector<Type> types;
  if (a.op.effect) types.emplace_back(DType::boolean, Shape());
  for (const Type& t : result_types(a.attrs)) {
    Shape stack = members.shape();
    for (const std::int64_t extent : t.shape) stack.push_back(extent);
    types.emplace_back(t.dtype, std::move(stack));
  }
  return types;
}

const HostFunction& function_of(const Attrs& attrs) {
  const auto* function = dynamic_cast<const HostFunction*>(attrs.get<HookPtr>(kFunction).get());
  if (!function) throw InternalError("the hook of a host call is a HostFunction");
  return *function;
}

// Calls the function once for each member of the surrounding maps; the last map varies fastest.
// `out` are its results.
void call_members(const Attrs& attrs, bool scalars, std::span<const HostArray> in,
                  std::span<const HostArray> out) {
  const HostFunction& function = function_of(attrs);
  const MapMembers members(attrs);
  const InCallback inside(InCallback::function);
  const InUserCode users;
  const UserFloats floats;
  for_each_index(members.shape(), [&](const Shape& index) {
    const auto member = [&](std::size_t i) { return members.operand(i, in[i], index); };
    std::vector<HostArray> values, results;
    for (const HostArray& all : out) results.push_back(members.result(all, index));
    if (scalars && !*member(0).data<bool>()) {
      for (const HostArray& r : results)
        if (r.size_bytes() > 0) std::memset(r.bytes, 0, static_cast<std::size_t>(r.size_bytes()));
      return;
    }
    for (std::size_t i = scalars ? kScalars : 0; i < in.size(); ++i) values.push_back(member(i));
    function.call(scalars ? *member(1).data<std::int32_t>() : 0, values, results);
  });
}

void host_call_run(const Attrs& attrs, bool scalars, std::span<const HostArray> in,
                   std::span<const HostArray> out) {
  call_members(attrs, scalars, in, scalars ? out.subspan(1) : out);
  if (scalars) *reinterpret_cast<bool*>(out[0].bytes) = true;
}

std::shared_ptr<const Routine> host_call_routine(const CallArgs& a) {
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = kHostCallSeconds;
  const std::vector<Type> in_types(a.inputs.begin(), a.inputs.end()),
      out_types(a.outputs.begin(), a.outputs.end());
  routine->stages.push_back(
      {1, [attrs = a.attrs, scalars = a.op.effect, in_types, out_types](
              const RoutineArgs& args, std::int64_t, std::int64_t) {
         std::vector<HostArray> in, out;
         for (std::size_t i = 0; i < in_types.size(); ++i)
           in.emplace_back(in_types[i].dtype, in_types[i].shape, const_cast<void*>(args.inputs[i]));
         for (std::size_t i = 0; i < out_types.size(); ++i)
           out.emplace_back(out_types[i].dtype, out_types[i].shape, args.outputs[i]);
         host_call_run(attrs, scalars, in, out);
       }});
  return routine;
}

BatchResult host_call_batch(const BatchArgs& a) {
  auto [in, attrs] = MapMembers::inside_map(a);
  BatchResult r;
  r.outputs = a.b.emit(a.op, in, std::move(attrs));
  r.dims.assign(r.outputs.size(), 0);
  if (a.op.effect) r.dims[0] = kUnbatched;
  return r;
}

// Each result is filled with the number of its own position plus the sum of all operands, in
// integers.
struct Adding final : HostFunction {
  std::string name() const override { return "adding"; }
  void call(std::int64_t, std::span<const HostArray> operands,
            std::span<HostArray> results) const override {
    std::int32_t sum = 0;
    for (const HostArray& x : operands)
      for (std::int64_t i = 0; i < x.count(); ++i) sum += static_cast<std::int32_t>(x.number(i));
    for (HostArray& y : results)
      for (std::int64_t i = 0; i < y.count(); ++i)
        if (y.dtype == DType::int32)
          y.data<std::int32_t>()[i] = sum + static_cast<std::int32_t>(i);
        else
          y.data<bool>()[i] = (sum + i) % 2 != 0;
  }
};

const std::shared_ptr<const HostFunction>& adding() {
  static const auto& function =
      *new std::shared_ptr<const HostFunction>(std::make_shared<Adding>());
  return function;
}

std::vector<OpExample> host_call_examples(bool effect) {
  const std::vector<Type> results{Type(DType::int32, {2, 2}), Type(DType::boolean, {3})};
  std::vector<Type> in{Type(DType::float32, {2, 3}), Type(DType::int64, {})};
  std::vector<Type> stacked{Type(DType::float32, {2, 3}), Type(DType::int64, {5})};
  if (effect) {
    in.insert(in.begin(), {Type(DType::boolean, {}), Type(DType::int32, {})});
    stacked.insert(stacked.begin(), {Type(DType::boolean, {2}), Type(DType::int32, {})});
  }
  Attrs mapped = host_call_attrs(adding(), results, stacked.size());
  mapped.set(MapMembers::kSizes, Ints{2});
  mapped.set(MapMembers::kStacked, effect ? IntLists{{0}, {}, {0}, {}} : IntLists{{0}, {}});
  return {{in, host_call_attrs(adding(), results, in.size())}, {stacked, mapped}};
}

Op host_call_op(bool effect) {
  Op op;
  op.name = effect ? "host_call" : "pure_host_call";
  op.doc =
      effect
          ? "Calls a function of the host with the operands behind the first two, if operand 0 "
            "holds, and gives true and the function's results, which are zeros if operand 0 does "
            "not hold. It runs as often as the program says, in the program's order, although "
            "nobody needs its results; in a partitioned program once and with whole values, or on "
            "each device with its shards. "
            "Operand 1 is the number of the device, an int32 scalar that the function is told. "
            "Where it is mapped, the function is called for each member."
          : "The results of a function of the host without side effects, which is called with all "
            "operands. It is not called if nobody needs its results, and once for devices with "
            "equal operands. Where it is mapped, the function is called for each member.";
  op.attrs = {{kFunction, AttrKind::hook, "a HostFunction (ir/callback.h)"},
              {kDtypes, AttrKind::strings, "of the function's results"},
              {kShapes, AttrKind::int_lists, "of the function's results"},
              {MapMembers::kSizes, AttrKind::ints, "of the maps around it, from the outermost"},
              {MapMembers::kStacked, AttrKind::int_lists,
               "for each operand the maps whose dimensions it has in front of its own"}};
  if (effect)
    for (const AttrSpec& a :
         {AttrSpec{kOrdered, AttrKind::boolean,
                   "whether programs with it run in the order of their calls, however long it "
                   "takes; true if absent"},
          AttrSpec{kTakesShards, AttrKind::boolean,
                   "whether, in a partitioned program, each device calls it with its own shards; "
                   "false if absent"}})
      op.attrs.push_back(a);
  op.outputs = -1;
  op.cheap = false;
  op.effect = effect;
  op.barrier = true;
  op.lowering = Lowering::called;
  op.call = host_call_routine;
  op.infer = host_call_infer;
  op.batch = host_call_batch;
  op.sharding = whole_everywhere;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs&) {
    Cost c;
    for (std::span<const Type> side : {in, out})
      for (const Type& t : side) c.bytes += static_cast<double>(t.bytes());
    return c;
  };
  op.evaluate = [effect](const EvalArgs& a) {
    host_call_run(a.attrs, effect, a.inputs, a.outputs);
  };
  op.waived = {{"jvp", "the host's code has no derivative"},
               {"transpose", "the host's code has no derivative"},
               {"updates", "the host's code is unknown"},
               {"stablehlo", "host code stays with its process"},
               {"emit", "the function does the work"}};
  op.examples = [effect] { return host_call_examples(effect); };
  return op;
}

}  // namespace

bool takes_shards(const Attrs& attrs) {
  return attrs.has(kTakesShards) && attrs.flag(kTakesShards);
}

void tell_placed(const Attrs& attrs, const MeshShape& mesh, std::span<const Spec> specs) {
  const HostFunction& function = function_of(attrs);
  for (std::size_t i = kScalars; i < specs.size(); ++i)
    function.placed(i - kScalars, mesh, specs[i]);
}

bool calls_host(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(), [](const Equation& eqn) {
    return eqn.attrs.has(kFunction) ||
           any_nested(eqn.attrs, [](const ProgramPtr& q) { return calls_host(*q); });
  });
}

bool has_ordered_effects(const Program& p) {
  return std::any_of(p.equations.begin(), p.equations.end(), [](const Equation& eqn) {
    if (eqn.op->effect) return !eqn.attrs.has(kOrdered) || eqn.attrs.flag(kOrdered);
    return any_nested(eqn.attrs, [](const ProgramPtr& q) { return has_ordered_effects(*q); });
  });
}

Values host_call(Value holds, Value device, std::shared_ptr<const HostFunction> function,
                 std::span<const Type> results, std::span<const Value> operands,
                 HostCallOptions options) {
  Values in{holds, device};
  in.insert(in.end(), operands.begin(), operands.end());
  Attrs attrs = host_call_attrs(std::move(function), results, in.size());
  if (!options.ordered) attrs.set(kOrdered, false);
  if (options.takes_shards) attrs.set(kTakesShards, true);
  Values out = holds.builder->emit("host_call", in, std::move(attrs));
  out.erase(out.begin());
  return out;
}

Values pure_host_call(Builder& b, std::shared_ptr<const HostFunction> function,
                      std::span<const Type> results, std::span<const Value> operands) {
  return b.emit("pure_host_call", operands,
                host_call_attrs(std::move(function), results, operands.size()));
}

void register_host_call(Registry& r) {
  r.add(host_call_op(true));
  r.add(host_call_op(false));
}

}  // namespace tessera::inline v0::ops
