// A step of training: forwards and backwards of microbatches in one loop, by a timetable.
#include "api/devices/nested.h"
#include "api/devices/pipeline/frame.h"
#include "api/devices/pipeline/timetable.h"

#include <tessera/at.h>
#include <tessera/collectives.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/operators.h>
#include <tessera/shard_map.h>

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

constexpr const char* kName = "pipeline_value_and_grad";

/// The leaves that have derivatives.
Leaves floats_of(const Leaves& all) {
  Leaves out;
  for (const Array& x : all)
    if (is_differentiable(x.dtype())) out.push_back(x);
  return out;
}
/// `all` with these in their places.
Leaves with_floats(Leaves all, const Leaves& floats) {
  std::size_t next = 0;
  for (Array& x : all)
    if (is_differentiable(x.dtype())) x = floats[next++];
  return all;
}

Leaves zeros_of(const Leaves& like) {
  return tree::map([](const Array& x) { return zeros_like(x); }, like);
}
Leaves sums(const Leaves& a, const Leaves& b) {
  return tree::map([](const Array& x, const Array& y) { return x + y; }, a, b);
}
Leaves chosen(const Array& condition, const Leaves& a, const Leaves& b) {
  return tree::map([&](const Array& x, const Array& y) { return where(condition, x, y); }, a, b);
}
Leaves rows_at(const Leaves& stacked, const Array& i) {
  return tree::map([&](const Array& x) { return x[i]; }, stacked);
}
/// Row i of each is `row` where the condition holds.
Leaves with_row(const Leaves& stacked, const Array& i, const Array& condition, const Leaves& row) {
  return tree::map(
      [&](const Array& x, const Array& r) { return x.at(i).set(where(condition, r, x[i])); },
      stacked, row);
}
Leaves stack_of(const Leaves& row, std::int64_t n) {
  Leaves out;
  for (const Array& x : row) {
    Shape shape = x.shape();
    shape.insert(shape.begin(), n);
    out.push_back(zeros(shape, x.dtype()));
  }
  return out;
}

/// The user's loss of one microbatch.
class MicrobatchLoss {
 public:
  MicrobatchLoss(Call& call, const SourceLoc& loc) : call_(call), loc_(loc) {}
  Array operator()(const Leaves& activation, const Leaves& targets) const {
    Leaves all(call_.args.leaves.size());
    std::size_t part = 0, target = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!call_.args.leaves[i]->is_empty())
        all[i] = i < call_.arg_ends[0] ? activation[part++] : targets[target++];
    Array loss;
    {
      const InUserCode user;
      loss = call_.invoke(all).at(0);
    }
    if (!loss.is_empty() && loss.ndim() == 0 && is_floating(loss.dtype())) return loss;
    Message m(kName);
    m.problem(loss.is_empty() ? "the loss of a microbatch is an empty array"
                              : "the loss of a microbatch is " + type_text(loss))
        .rule("it is one floating number, of shape ()")
        .from(loc_)
        .advice("reduce it with ts::mean; the mean over the microbatches is taken here");
    if (loss.is_empty() || loss.ndim() == 0) m.raise<DTypeError>();
    m.raise<ShapeError>();
  }

 private:
  Call& call_;
  SourceLoc loc_;
};

void check_floating(const Call& stage, const PipelineFrame& f, bool of_batch,
                    const SourceLoc& loc) {
  const bool params = !floats_of(f.params).empty();
  if (params && !(of_batch && floats_of(f.batch).empty())) return;
  Message m(kName);
  list_leaves(m, stage, params ? 1 : 0, params ? "batch" : "params");
  m.problem(std::string(params ? "the batch has" : "the parameters have") + " no floating leaf")
      .rule("derivatives are taken with respect to floating arrays")
      .from(loc)
      .advice("convert with astype(ts::f32)")
      .raise<DTypeError>();
}

/// What a tick changes.
struct Work {
  Leaves onwards, back;  // an activation for the next stage, its derivative for the one before
  Leaves gradients;      // of this device's layers, added up
  Array loss;            // likewise
};
/// What a device carries from tick to tick. Leaves of `waiting` are (slots, rows, ...).
struct Carry {
  Leaves waiting, received, received_back, gradients;
  Array loss;
  Leaves batch_gradients;  // (microbatches, rows, ...); no leaves unless they are asked for
};

/// A loop over the ticks of one device.
class Training {
 public:
  Training(const PipelineFrame& frame, const PipelineLayers& layers, const MicrobatchLoss& loss,
           const PipelineSchedule& schedule, bool of_batch)
      : frame_(frame), layers_(layers), loss_(loss), schedule_(schedule), of_batch_(of_batch) {}

  struct Result {
    Array loss;
    Leaves gradients, batch_gradients;
  };
  Result on_device(const Leaves& stacked, const Leaves& rows, const Leaves& target_rows) const {
    const Leaves batch = in_microbatches(rows, frame_.microbatches);
    const Leaves targets = in_microbatches(target_rows, frame_.microbatches);
    const Leaves params = own_values(layers_.unstacked(stacked), frame_);
    const TrainingTable times = training_table(schedule_);
    const Array place = axis_index(frame_.axis);
    const Array first = place == 0;

    // What a microbatch looks like; it is not computed.
    Leaves row;
    for (const Array& x : batch) row.push_back(x[0]);
    Leaves target;
    for (const Array& x : targets) target.push_back(x[0]);
    const Array some_loss = loss_(layers_(params, row), target);

    Carry start{stack_of(row, times.slots), zeros_of(row),
                zeros_of(floats_of(row)),   zeros_of(floats_of(params)),
                zeros_like(some_loss),      of_batch_ ? zeros_of(floats_of(batch)) : Leaves()};
    auto tick = [&](Carry c, Array now) {
      const Array step = now[0], microbatch = now[1], slot = now[2], arrived = now[3];
      c.waiting = with_row(c.waiting, maximum(arrived, 0), arrived >= 0, c.received);
      const Leaves x = chosen(first, rows_at(batch, microbatch), rows_at(c.waiting, slot));
      const Work done = work(step, params, x, targets, microbatch, c);
      c.received = ppermute(done.onwards, frame_.axis, frame_.onwards());
      c.received_back = ppermute(done.back, frame_.axis, frame_.back());
      c.gradients = done.gradients;
      c.loss = done.loss;
      if (of_batch_) {
        const Array backward = step >= static_cast<std::int32_t>(PipelineStep::backward);
        c.batch_gradients = with_row(c.batch_gradients, microbatch, backward, done.back);
      }
      return std::pair(c, std::tuple<>());
    };
    const Carry end = scan(tick, start, Array(times.table[place])).first;
    return finish(end, first);
  }

 private:
  Work work(const Array& step, const Leaves& params, const Leaves& x, const Leaves& targets,
            const Array& microbatch, const Carry& c) const {
    const Leaves wrt_params = floats_of(params);
    auto idle = [&](Leaves in, Leaves, Leaves gradients, Array loss) {
      return Work{zeros_of(in), zeros_of(floats_of(in)), gradients, loss};
    };
    auto forward = [&](Leaves in, Leaves, Leaves gradients, Array loss) {
      return Work{layers_(params, in), zeros_of(floats_of(in)), gradients, loss};
    };
    auto backward = [&](Leaves in, Leaves received, Leaves gradients, Array loss) {
      auto stage = [&](Leaves p, Leaves a) {
        return floats_of(layers_(with_floats(params, p), with_floats(in, a)));
      };
      auto [made, pull] = v0::vjp(stage, wrt_params, floats_of(in));
      auto [of_params, of_input] = pull(received);
      return Work{zeros_of(in), of_input, sums(gradients, of_params), loss};
    };
    auto loss_and_backward = [&](Leaves in, Leaves, Leaves gradients, Array loss) {
      const Leaves target = rows_at(targets, microbatch);
      auto stage = [&](Leaves p, Leaves a) {
        return loss_(layers_(with_floats(params, p), with_floats(in, a)), target);
      };
      auto [value, pull] = v0::vjp(stage, wrt_params, floats_of(in));
      auto [of_params, of_input] = pull(ones_like(value));
      return Work{zeros_of(in), of_input, sums(gradients, of_params), loss + value};
    };
    return switch_(step, std::tuple(idle, forward, backward, loss_and_backward), x, c.received_back,
                   c.gradients, c.loss);
  }

  /// From sums over a device's microbatches to means over all.
  Result finish(const Carry& end, const Array& first) const {
    const double n = static_cast<double>(frame_.microbatches * frame_.replicas);
    const std::string &axis = frame_.axis, &batch_axis = frame_.batch_axis;
    Result r;
    r.loss = psum(end.loss, axis);
    r.gradients = end.gradients;
    for (const Array& g : end.batch_gradients)
      r.batch_gradients.push_back(psum(where(first, g, zeros_like(g)), axis) / n);
    if (!batch_axis.empty()) {
      r.loss = psum(r.loss, batch_axis);
      r.gradients = psum(r.gradients, batch_axis);
    }
    r.loss = r.loss / n;
    for (Array& g : r.gradients) g = g / n;
    r.gradients = layers_.stacked(r.gradients);
    r.batch_gradients = in_rows(r.batch_gradients);
    return r;
  }

  const PipelineFrame& frame_;
  const PipelineLayers& layers_;
  const MicrobatchLoss& loss_;
  const PipelineSchedule& schedule_;
  bool of_batch_;
};

}  // namespace

PipelineGradients pipeline_value_and_grad(Call& stage, Call& loss_call, bool of_batch,
                                          const PipelineOptions& options,
                                          std::source_location where) {
  const SourceLoc loc = line_of(where);
  const InFunction named(kName, loc);
  const PipelineFrame frame = pipeline_frame(kName, stage, &loss_call, options, loc);
  check_floating(stage, frame, of_batch, loc);
  const PipelineLayers layers(kName, stage, frame.layers, loc);
  const MicrobatchLoss loss(loss_call, loc);
  const PipelineSchedule schedule =
      pipeline_schedule(frame.stages, frame.microbatches, options.schedule);
  const Training training(frame, layers, loss, schedule, of_batch);
  auto on_device = [&](Leaves params, Leaves rows, Leaves targets) {
    return training.on_device(params, rows, targets);
  };
  auto run = shard_map(on_device,
                       {.mesh = frame.mesh,
                        .in_specs = {frame.layer_spec(), frame.row_spec(), frame.row_spec()},
                        .out_specs = {P(), frame.layer_spec(), frame.row_spec()},
                        .name = kName},
                       where);
  const Training::Result r = run(frame.params, frame.batch, frame.targets);
  PipelineGradients out{r.loss, {}};
  const auto give = [&](std::size_t argument, const Leaves& gradients) {
    std::size_t next = 0;
    for (std::size_t i = stage.arg_begin(argument); i < stage.arg_ends[argument]; ++i) {
      const Array& x = *stage.args.leaves[i];
      out.gradients.push_back(x.is_empty() || !is_differentiable(x.dtype()) ? Array()
                                                                            : gradients[next++]);
    }
  };
  give(0, r.gradients);
  if (of_batch) give(1, r.batch_gradients);
  return out;
}

}  // namespace tessera::inline v0::detail
