// debug_callback: calls host code with values of the program for its side effects: prints and
// checks.
#include "base/float_mode.h"
#include "ir/callback.h"
#include "ops/build.h"
#include "ops/control/map_members.h"

namespace tessera::inline v0::ops {

Value debug_callback(Value holds, const HookPtr& hook, const Strings& names,
                     std::span<const Value> positions, std::span<const Value> values) {
  Values in{holds};
  in.insert(in.end(), positions.begin(), positions.end());
  in.insert(in.end(), values.begin(), values.end());
  const IntLists stacked(in.size());
  return holds.builder->emit1("debug_callback", in,
                              {{"hook", hook},
                               {"names", names},
                               {"sizes", Ints{}},
                               {"maps", Strings{}},
                               {"stacked", stacked}});
}

namespace {

std::vector<Type> debug_callback_infer(const InferArgs& a) {
  const MapMembers members(a.attrs);
  const std::size_t scalars = 1 + a.attrs.get<Strings>("names").size();
  if (a.inputs.size() < scalars || members.operands() != a.inputs.size() ||
      a.attrs.get<Strings>("maps").size() != members.shape().size())
    throw InternalError("debug_callback has " + std::to_string(a.inputs.size()) +
                        " operands, which its attributes do not fit");
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Type& t = a.inputs[i];
    bool fits = members.fits(i, t);
    if (i < scalars)
      fits = fits && t.shape.size() == members.mapped(i) &&
             t.dtype == (i == 0 ? DType::boolean : DType::int32);
    if (!fits)
      throw InternalError("operand " + std::to_string(i) + " of debug_callback is " + to_string(t));
  }
  return {Type(DType::boolean, {})};
}

// Calls the callback once for each member of the surrounding maps; the last map varies fastest.
void call_each(const Attrs& attrs, std::span<const HostArray> in) {
  const auto* callback = dynamic_cast<const Callback*>(attrs.get<HookPtr>("hook").get());
  if (!callback) throw InternalError("the hook of a debug_callback is a Callback");
  const MapMembers members(attrs);
  const Strings &names = attrs.get<Strings>("names"), &maps = attrs.get<Strings>("maps");
  const InCallback inside(InCallback::report);
  const InUserCode users;  // the callback's own message heads its errors
  const UserFloats floats;
  for_each_index(members.shape(), [&](const Shape& index) {
    const auto member = [&](std::size_t i) { return members.operand(i, in[i], index); };
    if (!*member(0).data<bool>()) return;
    Callback::Position position;
    for (std::size_t k = 0; k < names.size(); ++k)
      position.emplace_back(names[k], *member(1 + k).data<std::int32_t>());
    // A named map is already among the positions.
    for (std::size_t k = 0; k < maps.size(); ++k)
      if (maps[k].empty()) position.emplace_back("vmap", index[k]);
    std::vector<HostArray> values;
    for (std::size_t i = 1 + names.size(); i < in.size(); ++i) values.push_back(member(i));
    callback->call(position, values);
  });
}

std::shared_ptr<const Routine> routine(const CallArgs& a) {
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-6;
  routine->stages.push_back(
      {1, [attrs = a.attrs, types = std::vector<Type>(a.inputs.begin(), a.inputs.end())](
              const RoutineArgs& args, std::int64_t, std::int64_t) {
         std::vector<HostArray> in;
         for (std::size_t i = 0; i < types.size(); ++i)
           in.emplace_back(types[i].dtype, types[i].shape, const_cast<void*>(args.inputs[i]));
         call_each(attrs, in);
         *static_cast<bool*>(args.outputs[0]) = true;
       }});
  return routine;
}

BatchResult debug_callback_batch(const BatchArgs& a) {
  auto [in, attrs] = MapMembers::inside_map(a);
  Strings maps = a.attrs.get<Strings>("maps");
  maps.insert(maps.begin(), a.axis_name);
  attrs.set("maps", std::move(maps));
  return {a.b.emit(a.op, in, std::move(attrs)), {kUnbatched}};
}

struct Silent final : Callback {
  std::string name() const override { return "silent"; }
  void call(const Position&, std::span<const HostArray>) const override {}
};

std::vector<OpExample> debug_callback_examples() {
  static const HookPtr& hook = *new HookPtr(std::make_shared<Silent>());
  const Type holds(DType::boolean, {}), position(DType::int32, {});
  return {{{holds, position, Type(DType::float32, {2, 3}), Type(DType::complex64, {})},
           {{"hook", hook},
            {"names", Strings{"i"}},
            {"sizes", Ints{}},
            {"maps", Strings{}},
            {"stacked", IntLists(4)}}},
          {{Type(DType::boolean, {2}), Type(DType::float32, {2, 3}), Type(DType::int64, {5})},
           {{"hook", hook},
            {"names", Strings{}},
            {"sizes", Ints{2}},
            {"maps", Strings{""}},
            {"stacked", IntLists{{0}, {0}, {}}}}}};
}

}  // namespace

void register_debug_callback(Registry& r) {
  Op op;
  op.name = "debug_callback";
  op.doc =
      "Calls the hook with the values behind the positions, wherever operand 0 holds, and gives "
      "true. It runs as often as the program says although nobody needs the result; in a "
      "partitioned program once and with whole values. Derivatives take no notice of it. Where it "
      "is mapped, the hook is called for each member.";
  op.attrs = {
      {"hook", AttrKind::hook, "a Callback (ir/callback.h)"},
      {"names", AttrKind::strings, "of the axes that the next operands are positions along"},
      {"sizes", AttrKind::ints, "of the maps around it, from the outermost"},
      {"maps", AttrKind::strings, "their names; empty where one has none"},
      {"stacked", AttrKind::int_lists,
       "for each operand the maps whose dimensions it has in front of its own"}};
  op.cheap = false;
  op.effect = true;
  op.barrier = true;
  op.lowering = Lowering::called;
  op.call = routine;
  op.infer = debug_callback_infer;
  op.batch = debug_callback_batch;
  op.sharding = whole_everywhere;
  op.cost = [](std::span<const Type> in, std::span<const Type>, const Attrs&) {
    Cost c;
    for (const Type& t : in) c.bytes += static_cast<double>(t.bytes());
    return c;
  };
  op.evaluate = [](const EvalArgs& a) {
    call_each(a.attrs, a.inputs);
    *a.outputs[0].data<bool>() = true;
  };
  op.waived = {{"jvp", "its result is not differentiable"},
               {"transpose", "its result is not differentiable"},
               {"updates", "its result is no state"},
               {"stablehlo", "host code stays with its process"},
               {"emit", "the hook does the work"}};
  op.examples = debug_callback_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
