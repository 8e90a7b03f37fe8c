// Saves functions as StableHLO modules.
#include "api/trace/trace.h"
#include "api/trace/traced.h"
#include "ir/builder.h"
#include "ir/nested.h"
#include "ops/control/effects.h"
#include "stablehlo/emit/emit.h"
#include "stablehlo/functions/loaded.h"

#include <tessera/detail/input_file.h>
#include <tessera/detail/replace_file.h>

namespace tessera::inline v0::detail {

std::string stablehlo_of(Call& call, const char* function) {
  const InFunction called(function, {});
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
  // Prints and checks are not exported.
  if (has_effects(*f.program))
    return stablehlo::emit_module(*prune(*ops::without_effects(f.program)), e);
  return stablehlo::emit_module(*f.program, e);
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
