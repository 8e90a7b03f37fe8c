#include <tessera/remat.h>

#include "api/trace/differentiate.h"
#include "ops/build.h"
#include "transform/policies.h"

namespace tessera::inline v0 {

namespace policies {
RematPolicyPtr nothing_saveable() { return v0::nothing_saveable(); }
RematPolicyPtr everything_saveable() { return v0::everything_saveable(); }
RematPolicyPtr dots_saveable() { return v0::dots_saveable(); }
RematPolicyPtr dots_with_no_batch_dims_saveable() { return v0::dots_with_no_batch_dims_saveable(); }
RematPolicyPtr save_only_these_names(std::vector<std::string> names) {
  return v0::save_only_these_names(std::move(names));
}
RematPolicyPtr save_any_names_but_these(std::vector<std::string> names) {
  return v0::save_any_names_but_these(std::move(names));
}
}  // namespace policies

Array checkpoint_name(Operand x, const std::string& name) {
  return detail::bind1("checkpoint_name", {x.array}, {{"name", name}}, x.loc);
}

namespace detail {

Outcome remat(Call& call, const RematPolicyPtr& policy, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const TracedFunction f = trace_call(call, "remat", "remat");
  if (!Trace::innermost())
    return outcome(f, apply(f.program, operands(call, f, "remat", loc),
                            loc));  // nothing to differentiate
  Builder b("remat");
  b.loc = loc;
  const Values in = inputs_of(b, *f.program);
  const Values out = ops::remat(b, f.program, in, policy);
  return outcome(f, apply(b.finish(out), operands(call, f, "remat", loc), loc));
}

}  // namespace detail
}  // namespace tessera::inline v0
