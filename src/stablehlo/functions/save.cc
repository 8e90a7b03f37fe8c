// Saves functions as StableHLO modules.
#include "api/array/array_impl.h"
#include "api/trace/follow.h"
#include "api/trace/trace.h"
#include "api/trace/traced.h"
#include "ir/builder.h"
#include "ir/nested.h"
#include "ops/control/effects.h"
#include "stablehlo/emit/emit.h"
#include "stablehlo/functions/loaded.h"

#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

const stablehlo::Target& need_target(const StableHloOptions& options, const char* function) {
  const stablehlo::Target* target = stablehlo::find_target(options.platform);
  if (!target) {
    std::vector<std::string> known;
    for (const stablehlo::Target& t : stablehlo::targets()) known.emplace_back(t.platform);
    Message(function)
        .problem("there is no platform '" + options.platform + "' to write a module for")
        .rule("the platforms are " + stablehlo::listed(known))
        .advice("{.platform = \"cuda\"}")
        .raise<TraceError>();
  }
  if (options.shardings && !target->partitions)
    Message(function)
        .problem("a module for the platform '" + options.platform + "' has no shardings")
        .rule("shardings are Shardy's attributes; StableHLO and CHLO have none")
        .advice("leave .shardings out, or {.platform = \"cpu\", .shardings = true}")
        .raise<TraceError>();
  return *target;
}

std::vector<bool> donated_leaves(const Call& call, const std::vector<int>& donated) {
  std::vector<bool> out;
  for (std::size_t arg = 0; arg < call.arg_count(); ++arg) {
    const bool given =
        std::find(donated.begin(), donated.end(), static_cast<int>(arg)) != donated.end();
    for (std::size_t i = call.arg_begin(arg); i < call.arg_ends[arg]; ++i)
      if (!call.args.leaves[i]->is_empty()) out.push_back(given);
  }
  return out;
}

// The shardings that arrays over several devices have, on the mesh of the program.
stablehlo::Constraints argument_shardings(const Call& call, const TracedFunction& f,
                                          const char* function) {
  const std::vector<std::size_t> leaves = present_leaves(call);
  Places places(leaves.size());
  bool spread = false;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const ArrayImpl& a = *call.args.leaves[leaves[i]]->impl();
    if (!a.concrete()) continue;
    const runtime::LayoutPtr& layout = data_of(a)->layout;
    if (layout->devices().size() < 2) continue;
    places[i] = layout->plain ? layout->plain : layout;
    spread = true;
  }
  stablehlo::Constraints out;
  if (!spread) return out;
  const auto how = follow(*f.program, nullptr, places, function);
  if (!how) return out;
  out.resize(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (const auto& spec = how->inputs[i]) out[i] = Constraint{how->mesh, spec->spec, {}};
  return out;
}

}  // namespace

std::string stablehlo_of(Call& call, const char* function, const StableHloOptions& options,
                         const std::vector<int>& donated) {
  const InFunction called(function, {});
  const stablehlo::Target& target = need_target(options, function);
  const TracedFunction f = trace_call(call, function, "main");
  stablehlo::Exported e;
  const std::vector<std::string> arguments = call.describe_args().paths("args");
  for (std::size_t leaf : present_leaves(call)) e.inputs.push_back(arguments[leaf]);
  const std::vector<std::string> results = call.describe_result().paths("result");
  for (std::size_t i = 0; i < results.size(); ++i)
    if (f.result_present[i]) e.outputs.push_back(results[i]);
  for (const Array& a : f.captures) {
    const Reading read(a, function);
    const Type type = need(a, function).type;
    runtime::BufferPtr hold;
    const std::byte* bytes = runtime::dense_bytes(*read, hold);
    e.constants.push_back({type.dtype, type.shape,
                           std::make_shared<const std::vector<std::byte>>(
                               bytes, bytes + static_cast<std::size_t>(type.bytes()))});
  }
  if (options.donation) e.donated = donated_leaves(call, donated);
  e.shardings = options.shardings;
  if (options.shardings) e.input_shardings = argument_shardings(call, f, function);
  // Prints and checks are not exported.
  if (has_effects(*f.program))
    return stablehlo::emit_module(*prune(*ops::without_effects(f.program)), e, target);
  return stablehlo::emit_module(*f.program, e, target);
}

void write_stablehlo(const std::string& path, const std::string& text) {
  const std::string_view part(text);
  const std::string problem = replace_file(path, {&part, 1});
  if (!problem.empty())
    Message("save_stablehlo")
        .problem(shown_path(path) + " cannot be written: " + problem)
        .advice("check the folder, its permissions and the space on its disk")
        .raise<IoError>();
}

}  // namespace tessera::inline v0::detail
