#include <tessera/checkpoint.h>

#include "api/trace/differentiate.h"
#include "ops/build.h"
#include "transform/policies.h"

namespace tessera::inline v0 {

namespace policies {
CheckpointPolicyPtr nothing_saveable() { return v0::nothing_saveable(); }
CheckpointPolicyPtr everything_saveable() { return v0::everything_saveable(); }
CheckpointPolicyPtr dots_saveable() { return v0::dots_saveable(); }
CheckpointPolicyPtr dots_with_no_batch_dims_saveable() {
  return v0::dots_with_no_batch_dims_saveable();
}
CheckpointPolicyPtr save_only_these_names(std::vector<std::string> names) {
  return v0::save_only_these_names(std::move(names));
}
CheckpointPolicyPtr save_any_names_but_these(std::vector<std::string> names) {
  return v0::save_any_names_but_these(std::move(names));
}
}  // namespace policies

Array checkpoint_name(Operand x, const std::string& name) {
  return detail::bind1("checkpoint_name", {x.array}, {{"name", name}}, x.loc);
}

namespace detail {

Outcome checkpoint(Call& call, const CheckpointPolicyPtr& policy, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const TracedFunction f = trace_call(call, "checkpoint", "checkpoint");
  if (!Trace::innermost())
    return outcome(f, apply(f.program, operands(call, f, "checkpoint", loc),
                            loc));  // nobody differentiates this
  Builder b("checkpoint");
  b.loc = loc;
  const Values in = inputs_of(b, *f.program);
  const Values out = ops::remat(b, f.program, in, policy);
  return outcome(f, apply(b.finish(out), operands(call, f, "checkpoint", loc), loc));
}

}  // namespace detail
}  // namespace tessera::inline v0
