// Custom calls of Python functions: those that the package jax-tessera writes for JAX's callbacks,
// and those that JAX writes for its own clients, which are refused.
#include "ops/control/host_call.h"

#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

constexpr std::string_view kOfWholeValues = "tessera_python_callback",
                           kOfShards = "tessera_partitioned_python_callback",
                           kInspects = "tessera_inspect_sharding";

// The number of the function in the table of the process that wrote the module.
std::optional<std::int64_t> index_of(const Reading& r) {
  const AttributeSyntax* config = r.find("mhlo.backend_config");
  const Ints index = config ? r.field(*config, "index") : Ints{};
  return index.size() == 1 ? std::optional(index[0]) : std::nullopt;
}

Values refuse_callback(Reading& r) {
  const std::string target = r.word_or("call_target_name", "");
  const std::optional<std::int64_t> index = index_of(r);
  const std::string which = index ? " " + std::to_string(*index) : "";
  if (r.importer.options.host_function)
    r.refuse("it calls Python function" + which + " in the way of another client of JAX (" +
                 target + ")",
             "the package jax-tessera registers how callbacks are written for this client",
             "install and load jax-tessera before the function is compiled");
  r.refuse("it calls Python function" + which + " of the process that exported the module (" +
               target + ")",
           "the module holds that function's number and not its code",
           "export without jax.debug.print, jax.debug.callback, pure_callback and io_callback, or "
           "compute the callback's results before and pass them as arguments");
}

// Appends the element type of an array. Tokens need no operand, because calls with side effects
// keep their order within a program anyway.
void note_type(const Reading& r, const TypeSyntax& type, std::vector<std::string_view>& elements) {
  if (type->kind == TypeData::tensor)
    elements.push_back(type->element);
  else if (type->kind != TypeData::token)
    r.refuse("it takes or gives " + shown(type->text), "a callback has arrays and tokens only");
}

bool has_token(const Reading& r) {
  return std::any_of(r.operands.begin(), r.operands.end(),
                     [](const Bound& b) { return b.type && (*b.type)->kind == TypeData::token; });
}

// In a per-device program, the function gets the device's position along the axes of the mesh. For
// this reason also devices with equal operands each call it, as in JAX.
Value device_of(const Reading& r) {
  const std::optional<Devices>& d = r.importer.devices;
  if (!d || d->manual.empty())
    return ops::constant(r.b, scalar_literal(DType::int32, std::int64_t{0}));
  const Value place = ops::axis_index(r.b, d->manual, d->mesh.size_of(d->manual));
  return d->typed ? ops::pvary(place, d->manual) : place;
}

Values python_callback(Reading& r) {
  const std::string target = r.word_or("call_target_name", "");
  const std::optional<std::int64_t> index = index_of(r);
  if (!r.importer.options.host_function) refuse_callback(r);
  if (!index) r.refuse("its configuration does not say the function's index");
  const bool inspects = target == kInspects;
  HostCall call{*index, inspects, {}, {}};
  for (const Bound& operand : r.operands) {
    if (!operand.type) r.refuse("it has an operand of no declared type");
    note_type(r, *operand.type, call.operands);
  }
  std::vector<Type> results;
  for (std::size_t i = 0; i < r.op.result_types.size(); ++i) {
    note_type(r, r.op.result_types[i], call.results);
    if (call.results.size() > results.size()) results.push_back(r.result(i));
  }
  const auto function = r.importer.options.host_function(call);
  if (!r.flag_or("has_side_effect", false) && !inspects)
    return ops::pure_host_call(r.b, function, results, r.in);
  const Value holds =
      ops::constant(r.b, scalar_literal(DType::boolean, std::int64_t{inspects ? 0 : 1}));
  const bool takes_shards = target == kOfShards || inspects;
  if (takes_shards && !results.empty())
    r.refuse("it gives results", "a callback that is called with parts of values gives none");
  return ops::host_call(holds, device_of(r), function, results, r.in,
                        {.ordered = has_token(r), .takes_shards = takes_shards});
}

}  // namespace

Rule python_callback_rule(const std::string& target) {
  if (target == kOfWholeValues || target == kOfShards || target == kInspects)
    return python_callback;
  if (target.find("python") != target.npos && target.ends_with("callback")) return refuse_callback;
  return nullptr;
}

}  // namespace tessera::inline v0::stablehlo::rules
