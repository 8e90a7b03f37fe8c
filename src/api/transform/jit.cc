#include <tessera/jit.h>

#include "api/array/platform.h"
#include "api/trace/cache.h"
#include "api/trace/entry.h"
#include "api/transform/sharded_jit.h"
#include "base/message.h"
#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/op.h"

#include <ostream>

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

std::shared_ptr<CachedFunction> make_jit_cache(const char* what, const JitOptions& options,
                                               std::source_location loc) {
  std::string name =
      options.name.empty() ? what + ("(" + to_string(SourceLoc(loc)) + ")") : options.name;
  if (is_sharded(options)) return make_sharded_jit_cache(what, std::move(name), options, loc);
  if (!options.links.empty())
    Message(what)
        .problem("there are links and no mesh")
        .rule("links are those of a mesh that is passed with them")
        .from(loc)
        .advice("{.mesh = mesh, .links = links}")
        .raise<ShardingError>();
  return std::make_shared<JitCache>(std::move(name), options.donate, loc);
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

namespace {

/// `around` holds the attributes that the loops and branches around `p` give to its collectives.
void list_collectives(const Program& p, const CollectiveUse& around,
                      std::vector<CollectiveUse>& out) {
  for (const Equation& eqn : p.equations) {
    if (eqn.op->lowering == Lowering::collective && !eqn.op->position) {
      CollectiveUse use = around;
      use.op = eqn.op->shown();
      use.axes = CollectiveAttrs(eqn.attrs).axes;
      use.bytes = use.times * p.type(eqn.inputs[0]).bytes();
      out.push_back(std::move(use));
    }
    const std::optional<Flow> flow = flow_of(eqn);
    if (!flow) continue;
    CollectiveUse inside = around;
    inside.times *= flow->length;
    inside.in_loop |= flow->kind == Flow::Kind::loop;
    inside.in_branch |= flow->kind == Flow::Kind::branch;
    for (const ProgramPtr& nested : flow->programs) list_collectives(*nested, inside, out);
  }
}

/// Calls `f` with the per-device program. It is our partitioner's also where the platform divides
/// the program by itself.
template <class F>
auto on_devices(const detail::CacheEntry& entry, const detail::CallPlaces& at, F&& f) {
  const detail::TracedFunction& traced = entry.function;
  if (traced.cutting && traced.cutting->abstract)
    return f(*spmd::partition_program(traced.program, *traced.cutting));
  if (entry.platform(at).partitions())
    if (const auto how = entry.cutting(at.places))
      return f(*spmd::partition_program(traced.program, *how));
  return f(entry.executable(at).program());
}

}  // namespace

std::string Lowered::ir() const { return to_string(*entry().function.program); }
std::string Lowered::partitioned() const {
  return on_devices(entry(), *places_, [](const Program& p) { return to_string(p); });
}
std::string Lowered::schedule() const {
  entry().need_devices(detail::line_of(made_));
  return entry().executable(*places_).schedule();
}
MemoryUse Lowered::memory() const {
  entry().need_devices(detail::line_of(made_));
  const runtime::MemoryPlan plan = entry().executable(*places_).memory();
  return {plan.arguments, plan.outputs, plan.temporaries};
}
std::vector<CollectiveUse> Lowered::collectives() const {
  return on_devices(entry(), *places_, [](const Program& p) {
    std::vector<CollectiveUse> out;
    list_collectives(p, {}, out);
    return out;
  });
}

std::string to_string(const CollectiveUse& use) {
  std::string text = use.op + " over ";
  for (std::size_t i = 0; i < use.axes.size(); ++i)
    text += (i == 0 ? "'" : ", '") + use.axes[i] + "'";
  if (use.in_branch) text += ", in a branch";
  if (use.in_loop) text += ", in a loop";
  const char* round = use.in_loop ? " a round" : "";
  if (use.times != 1) text += ", " + std::to_string(use.times) + " times" + round;
  return text + ": " + std::to_string(use.bytes) + (use.bytes == 1 ? " byte" : " bytes") + round;
}
std::ostream& operator<<(std::ostream& out, const CollectiveUse& use) {
  return out << to_string(use);
}

}  // namespace tessera::inline v0
