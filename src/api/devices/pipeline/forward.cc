// The differentiable pipeline: a scan over the forward ticks of GPipe. Its transpose is the
// backward pass.
#include "api/devices/pipeline/frame.h"
#include "api/devices/pipeline/functions.h"
#include "api/devices/pipeline/timetable.h"

#include <tessera/collectives.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/remat.h>
#include <tessera/shard_map.h>

namespace tessera::inline v0::detail {

namespace {

void check_schedule(Schedule schedule, const SourceLoc& loc) {
  if (schedule == Schedule::gpipe) return;
  Message("pipeline")
      .problem("the schedule is " + to_string(schedule))
      .rule(
          "a loss of the whole result comes after all forwards, and so do all backwards: that is "
          "GPipe's order. 1F1B has the loss of each microbatch inside")
      .from(loc)
      .advice("ts::pipeline_value_and_grad(layer, loss, options), or leave .schedule out")
      .raise<ShardingError>();
}

}  // namespace

Outcome pipeline(Call& call, const PipelineOptions& options, std::source_location called) {
  const SourceLoc loc = line_of(called);
  const InFunction named("pipeline", loc);
  check_schedule(options.schedule, loc);
  const PipelineFrame frame = pipeline_frame("pipeline", call, nullptr, options, loc);
  const PipelineLayers layers("pipeline", call, frame.layers, loc);
  const PipelineSchedule schedule =
      pipeline_schedule(frame.stages, frame.microbatches, Schedule::gpipe, called);
  const std::int64_t flight = frame.stages - 1;  // ticks until the first result

  auto on_device = [&](const Leaves& stacked, const Leaves& rows) {
    const Leaves params = own_values(layers.unstacked(stacked), frame);
    const Array place = axis_index(frame.axis);
    const Array first = place == 0, last = place == frame.stages - 1;
    const Array microbatch = forward_table(schedule)[place];
    // The first device takes a new microbatch at each tick, the others what they received.
    Leaves ticks{microbatch};
    for (const Array& x : in_microbatches(rows, frame.microbatches)) {
      Shape after = x.shape();
      after[0] = flight;
      ticks.push_back(flight == 0 ? x : joined(x, zeros(after, x.dtype())));
    }
    auto stage = [&](const Leaves& p, const Leaves& x) { return layers(p, x); };
    const auto recomputed = v0::remat(stage);
    auto work = [&](Leaves x) { return options.remat ? recomputed(params, x) : stage(params, x); };
    // An idle device computes nothing, because the layers may have no derivative at zeros.
    auto idle = [](const Leaves& x) { return zeros_of(x); };
    auto tick = [&](const Leaves& received, Leaves now) {
      const Leaves x = chosen(first, Leaves(now.begin() + 1, now.end()), received);
      Leaves made = cond(now[0] >= 0, work, idle, x);
      return std::pair(ppermute(made, frame.axis, frame.onwards()), made);
    };
    Leaves start;
    for (std::size_t i = 1; i < ticks.size(); ++i) start.push_back(zeros_like(ticks[i][0]));
    Leaves made = scan(tick, start, ticks).second;
    // Copy the last device's results to all devices, without the ticks before the first microbatch
    // reached it.
    Leaves results;
    for (const Array& y : made) {
      const Array own = y(from(flight));
      results.push_back(psum(where(last, own, zeros_like(own)), frame.axis).astype(y.dtype()));
    }
    return in_rows(results);
  };
  auto run = shard_map(on_device,
                       {.mesh = frame.mesh,
                        .in_specs = {frame.layer_spec(), frame.row_spec()},
                        .out_specs = frame.row_spec(),
                        .name = "pipeline"},
                       called);
  Leaves out = run(frame.params, frame.batch);
  std::vector<bool> present;
  for (std::size_t i = call.arg_begin(1); i < call.arg_ends[1]; ++i)
    present.push_back(!call.args.leaves[i]->is_empty());
  return {spread(std::move(out), present), call.prototype};
}

}  // namespace tessera::inline v0::detail
