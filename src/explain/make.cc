#include "explain/advice.h"
#include "explain/listing.h"
#include "explain/memory.h"

#include <cmath>

namespace tessera::inline v0::explain {

Plan make(const Question& question, const PlanOptions& options) {
  const ProgramOnMesh divided = program_on_mesh(question.program, question.cutting.get(), options);
  Work work = work_of(divided, options, true);
  const Listing listing(divided, question, options);
  Plan p;
  p.name = question.name;
  if (question.cutting)
    p.mesh = spmd::mesh_text(*question.cutting);
  else if (!divided.mesh->axes.empty())
    p.mesh = spmd::mesh_text({divided.mesh});
  for (std::size_t i = 0; i < divided.mesh->axes.size(); ++i) {
    const spmd::Link link = divided.links.of(static_cast<int>(i));
    const Spread spread = spread_along(*divided.mesh, i);
    p.axes.push_back({divided.mesh->axes[i],
                      divided.mesh->sizes[i],
                      spread.processes,
                      spread.machines,
                      {link.latency, link.bandwidth},
                      std::llround(work.along[i].bytes),
                      work.along[i].seconds});
    p.devices *= divided.mesh->sizes[i];
  }
  p.flops = work.flops;
  p.memory_traffic = work.traffic;
  p.compute_seconds = work.compute_seconds;
  p.communication_seconds = work.communication_seconds;
  p.moved_bytes = work.moved;
  p.arguments = arguments_of(divided, question);
  p.results = results_of(divided, question);
  for (const PlannedEnd& e : p.arguments) p.argument_bytes += e.bytes;
  for (const PlannedEnd& e : p.results) p.result_bytes += e.bytes;
  p.collectives = collectives_of(divided, work, listing);
  p.wholes = listing.wholes;
  p.equations = listing.equations;
  for (std::size_t i = 0; i < p.collectives.size(); ++i)
    for (const PlannedValue& v : p.collectives[i].values) {
      if (v.equation == PlannedCollective::none) continue;
      std::vector<std::size_t>& needed = p.equations[v.equation].collectives;
      if (needed.empty() || needed.back() != i) needed.push_back(i);
    }
  if (options.memory) {
    DeviceMemory memory = memory_on(question.platform, divided, question.donated, options);
    p.temporary_bytes = memory.bytes;
    p.donated_bytes = memory.donated;
    p.memory_traffic = memory.traffic;
    p.steps = std::move(memory.steps);
    p.peak = std::move(memory.peak);
  }
  p.timeline.push_back({0, p.devices, std::move(work.spans)});
  p.advice = advice_for(question, divided, work, p.collectives, options);
  return p;
}

}  // namespace tessera::inline v0::explain
