// The plan of a lowered program.
#include <tessera/jit.h>

#include "api/trace/entry.h"
#include "base/message.h"
#include "explain/question.h"
#include "explain/speeds.h"

namespace tessera::inline v0 {

Plan Lowered::plan(const PlanOptions& options) const {
  explain::check_speeds("plan", options, made_);
  const detail::CacheEntry& e = entry();
  explain::Question q;
  q.name = e.name;
  q.program = e.function.program;
  q.cutting = e.cutting(places_->places);
  const std::vector<std::string> paths = e.args.paths("args");
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (e.present[i]) q.inputs.push_back(paths[i]);
  const std::size_t explicit_inputs = q.inputs.size();
  while (q.inputs.size() < q.program->inputs.size())
    q.inputs.push_back("capture " + std::to_string(q.inputs.size() - explicit_inputs));
  q.outputs = e.function.result_paths;
  while (q.outputs.size() < q.program->outputs.size())
    q.outputs.push_back("result[" + std::to_string(q.outputs.size()) + "]");
  q.donated = e.donated;
  q.platform = &e.platform(*places_);
  const InFunction named("plan", made_);
  return explain::make(q, options);
}

}  // namespace tessera::inline v0
