#include <tessera/jit.h>

#include "api/cache.h"

namespace tessera::inline v0 {
namespace detail {
namespace {

class JitCache final : public CachedFunction {
 public:
  using CachedFunction::CachedFunction;

 private:
  TracedFunction build(Call& call) const override { return trace_call(call, name(), "jit"); }
};

}  // namespace

std::shared_ptr<CachedFunction> make_jit_cache(const JitOptions& options,
                                               std::source_location loc) {
  std::string name = options.name.empty() ? "jit(" + to_string(SourceLoc(loc)) + ")" : options.name;
  return std::make_shared<JitCache>(std::move(name), options.donate);
}

Outcome eval_shape(Call& call) {
  TracedFunction f = trace_call(call, "eval_shape", "eval_shape");
  std::vector<Array> results;
  for (const Type& t : f.program->output_types()) results.push_back(make_abstract(t));
  return outcome(f, std::move(results));
}

std::string ir_of(Call& call, const std::string& name) {
  return to_string(*trace_call(call, "make_ir", name).program);
}

Array abstract_like(const Array& x) { return make_abstract(x.impl()->type); }

}  // namespace detail

std::string Lowered::ir() const { return to_string(*entry_->function.program); }
std::string Lowered::partitioned() const { return to_string(entry_->executable({}).program()); }
std::string Lowered::schedule() const { return entry_->executable({}).schedule(); }
MemoryUse Lowered::memory() const {
  const runtime::MemoryPlan plan = entry_->executable({}).memory();
  return {plan.arguments, plan.outputs, plan.temporaries};
}

}  // namespace tessera::inline v0
