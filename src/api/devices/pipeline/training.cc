// One training step: forward and backward passes of microbatches in one loop, by a timetable.
#include "api/devices/pipeline/frame.h"
#include "api/devices/pipeline/functions.h"
#include "api/devices/pipeline/timetable.h"

#include <tessera/collectives.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/operators.h>
#include <tessera/shard_map.h>

namespace tessera::inline v0::detail {

namespace {

constexpr const char* kName = "pipeline_value_and_grad";

void check_floating(const Call& call, std::size_t argument, const char* name, const Leaves& leaves,
                    const SourceLoc& loc) {
  if (!floats_of(leaves).empty()) return;
  Message m(kName);
  list_leaves(m, call, argument, name);
  m.problem(std::string("no leaf of ") + name + " is floating")
      .rule("derivatives are taken with respect to floating arrays")
      .from(loc)
      .advice("convert with astype(ts::f32)")
      .raise<DTypeError>();
}

/// Sums over the microbatches that this device has processed.
struct Sums {
  Leaves layers, head;  // derivatives with respect to the parameters
  Array loss;
};
/// The results of a tick: an activation for the next stage, and a derivative for the previous one.
struct Work {
  Leaves onwards, back;
  Sums sums;
};
/// The values that a device carries from tick to tick. Leaves of `waiting` are (slots, rows, ...),
/// and those of `batch_gradients` (microbatches, rows, ...); the latter are empty unless requested.
struct Carry {
  Leaves waiting, received, received_back;
  Sums sums;
  Leaves batch_gradients;
};

/// The per-device program.
class Training {
 public:
  Training(const PipelineFrame& frame, const PipelineLayers& layers, const PipelineLoss& loss,
           const PipelineSchedule& schedule, PipelineWanted wanted)
      : frame_(frame), layers_(layers), loss_(loss), schedule_(schedule), wanted_(wanted) {}

  struct Result {
    Array loss;
    Leaves layers, batch, head;  // derivatives
  };
  Result operator()(const Leaves& stacked, const Leaves& rows, const Leaves& target_rows,
                    const Leaves& shared_head) const {
    Device d;
    d.layers = own_values(layers_.unstacked(stacked), frame_);
    d.head = own_values(shared_head, frame_);
    d.batch = in_microbatches(rows, frame_.microbatches);
    d.targets = in_microbatches(target_rows, frame_.microbatches);
    const TrainingTable times = training_table(schedule_);
    const Array place = axis_index(frame_.axis);
    d.first = place == 0;
    auto tick = [&](Carry c, Array now) {
      return std::pair(next(d, std::move(c), now), std::tuple<>());
    };
    return means(scan(tick, start(d, times.slots), Array(times.table[place])).first, d.first);
  }

 private:
  struct Device {
    Leaves layers, head;    // parameters
    Leaves batch, targets;  // (microbatches, rows, ...)
    Array first;            // whether it is the first stage
  };

  Carry start(const Device& d, std::int64_t slots) const {
    // A microbatch and its loss are only used for their types, so they are never computed.
    Leaves row, target;
    for (const Array& x : d.batch) row.push_back(x[0]);
    for (const Array& x : d.targets) target.push_back(x[0]);
    const Array loss = loss_(layers_(d.layers, row), target, d.head);
    return {stacks_of(row, slots),
            zeros_of(row),
            zeros_of(floats_of(row)),
            {zeros_of(floats_of(d.layers)), zeros_of(head_floats(d)), zeros_like(loss)},
            wanted_.batch ? zeros_of(floats_of(d.batch)) : Leaves()};
  }

  /// `now` is a row of the table.
  Carry next(const Device& d, Carry c, const Array& now) const {
    const Array step = now[0], microbatch = now[1], slot = now[2], arrived = now[3];
    c.waiting = with_rows(c.waiting, maximum(arrived, 0), arrived >= 0, c.received);
    const Leaves x = chosen(d.first, rows_at(d.batch, microbatch), rows_at(c.waiting, slot));
    const Work done = work(d, step, microbatch, x, c);
    c.received = ppermute(done.onwards, frame_.axis, frame_.onwards());
    c.received_back = ppermute(done.back, frame_.axis, frame_.back());
    c.sums = done.sums;
    if (wanted_.batch) {
      const Array backward = step >= static_cast<std::int32_t>(PipelineStep::backward);
      c.batch_gradients = with_rows(c.batch_gradients, microbatch, backward, done.back);
    }
    return c;
  }

  Work work(const Device& d, const Array& step, const Array& microbatch, const Leaves& x,
            const Carry& c) const {
    const Leaves params = floats_of(d.layers), head = head_floats(d);
    auto idle = [&](const Leaves& in, const Leaves&, Sums sums) {
      return Work{zeros_of(in), zeros_of(floats_of(in)), std::move(sums)};
    };
    auto forward = [&](const Leaves& in, const Leaves&, Sums sums) {
      return Work{layers_(d.layers, in), zeros_of(floats_of(in)), std::move(sums)};
    };
    auto backward = [&](Leaves in, const Leaves& received, Sums sums) {
      auto stage = [&](const Leaves& p, const Leaves& a) {
        return floats_of(layers_(with_floats(d.layers, p), with_floats(in, a)));
      };
      auto [made, pull] = v0::vjp(stage, params, floats_of(in));
      auto [of_params, of_input] = pull(received);
      sums.layers = sums_of(sums.layers, of_params);
      return Work{zeros_of(in), of_input, sums};
    };
    auto loss_and_backward = [&](Leaves in, const Leaves&, const Sums& sums) {
      const Leaves targets = rows_at(d.targets, microbatch);
      auto stage = [&](const Leaves& p, const Leaves& a, const Leaves& h) {
        return loss_(layers_(with_floats(d.layers, p), with_floats(in, a)), targets,
                     wanted_.head ? with_floats(d.head, h) : d.head);
      };
      auto [value, pull] = v0::vjp(stage, params, floats_of(in), head);
      auto [of_params, of_input, of_head] = pull(ones_like(value));
      return Work{
          zeros_of(in), of_input,
          Sums{sums_of(sums.layers, of_params), sums_of(sums.head, of_head), sums.loss + value}};
    };
    return switch_(step, std::tuple(idle, forward, backward, loss_and_backward), x, c.received_back,
                   c.sums);
  }

  Leaves head_floats(const Device& d) const { return wanted_.head ? floats_of(d.head) : Leaves(); }

  /// Converts sums over a device's microbatches to means over all microbatches.
  Result means(const Carry& end, const Array& first) const {
    const double n = static_cast<double>(frame_.microbatches * frame_.replicas);
    Result r{psum(end.sums.loss, frame_.axis), end.sums.layers,
             psum(chosen(first, end.batch_gradients, zeros_of(end.batch_gradients)), frame_.axis),
             psum(end.sums.head, frame_.axis)};
    if (!frame_.batch_axis.empty()) {
      r.loss = psum(r.loss, frame_.batch_axis);
      r.layers = psum(r.layers, frame_.batch_axis);
      r.head = psum(r.head, frame_.batch_axis);
    }
    return {r.loss / n, layers_.stacked(quotients_of(r.layers, n)),
            in_rows(quotients_of(r.batch, n)), quotients_of(r.head, n)};
  }

  const PipelineFrame& frame_;
  const PipelineLayers& layers_;
  const PipelineLoss& loss_;
  const PipelineSchedule& schedule_;
  PipelineWanted wanted_;
};

/// Appends the gradients, with an empty leaf for each leaf that has no derivative.
void append(std::vector<Array>& out, const Call& call, std::size_t argument,
            const Leaves& gradients) {
  std::size_t next = 0;
  for (std::size_t i = call.arg_begin(argument); i < call.arg_ends[argument]; ++i) {
    const Array& x = *call.args.leaves[i];
    const bool has = !x.is_empty() && is_differentiable(x.dtype());
    out.push_back(has ? gradients[next++] : Array());
  }
}

}  // namespace

PipelineGradients pipeline_value_and_grad(Call& layer, Call& loss_call, PipelineWanted wanted,
                                          const PipelineOptions& options,
                                          std::source_location where) {
  const SourceLoc loc = line_of(where);
  const InFunction named(kName, loc);
  const PipelineFrame frame = pipeline_frame(kName, layer, &loss_call, options, loc);
  check_floating(layer, 0, "params", frame.params, loc);
  if (wanted.batch) check_floating(layer, 1, "batch", frame.batch, loc);
  if (wanted.head) check_floating(loss_call, 2, "head", frame.head, loc);
  const PipelineLayers layers(kName, layer, frame.layers, loc);
  const PipelineLoss loss(kName, loss_call, loc);
  const PipelineSchedule schedule =
      pipeline_schedule(frame.stages, frame.microbatches, options.schedule, where);
  const Training training(frame, layers, loss, schedule, wanted);
  auto on_device = [&](const Leaves& params, const Leaves& rows, const Leaves& targets,
                       const Leaves& head) { return training(params, rows, targets, head); };
  const PartitionSpec rows = frame.row_spec(), stacked = frame.layer_spec();
  auto run = shard_map(on_device,
                       {.mesh = frame.mesh,
                        .in_specs = {stacked, rows, rows, P()},
                        .out_specs = {P(), stacked, rows, P()},
                        .name = kName},
                       where);
  const Training::Result r = run(frame.params, frame.batch, frame.targets, frame.head);
  PipelineGradients out{r.loss, {}};
  append(out.gradients, layer, 0, r.layers);
  if (wanted.batch) append(out.gradients, layer, 1, r.batch);
  if (wanted.head) append(out.gradients, loss_call, 2, r.head);
  return out;
}

}  // namespace tessera::inline v0::detail
