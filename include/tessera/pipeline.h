// Pipeline parallelism: the layers of a network are partitioned over a mesh axis, a batch passes
// through them in microbatches, and a schedule determines what each device does at each tick.
//
//   ts::Mesh mesh({{"stage", 4}});
//   auto layer = [](const Layer& p, Array x) { return ts::tanh(ts::dot(x, p.w) + p.b); };
//   auto network = ts::pipeline(layer, {.mesh = mesh, .microbatches = 8});
//   Array y = network(layers, x);     // layers.w of shape (12, n, n): three layers per device
//
//   auto step = ts::jit(ts::pipeline_value_and_grad(
//       layer, mse, {.mesh = mesh, .microbatches = 8, .schedule = ts::Schedule::one_f_one_b}));
//   auto [loss, gradients] = step(layers, x, targets);
//
// Every leaf of the parameters has the layers along its leading dimension, which is partitioned
// evenly, so each device has consecutive layers. A layer takes the parameters of one layer and an
// activation, and returns an activation of the same structure, dtypes and shapes. The batch is
// divided into microbatches along the leading dimension of every leaf. The values are those of
// applying all layers in turn to each microbatch, one microbatch after the other.
//
// Devices along other mesh axes do the same work. The exception is `batch_axis`: along it each
// device has its own rows of the batch, and gradients are summed, which is data parallelism around
// the pipeline. Layers may use collectives over the other axes.
//
// Both functions trace on each call, so wrap them or their caller in a jit.
#pragma once

#include <tessera/grad.h>
#include <tessera/mesh.h>

#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// The order in which a device runs the forward and backward passes of its microbatches.
enum class Schedule {
  /// All forward passes, then all backward passes in reverse order (Huang et al. 2019). A stage
  /// holds the residuals of all microbatches.
  gpipe,
  /// Each backward pass as soon as possible, and from then on one forward, one backward (Narayanan
  /// et al. 2019 and 2021, with a flush at the end of the batch). Takes the same time as gpipe, but
  /// stage s of p holds the residuals of at most p - s microbatches.
  one_f_one_b,
};
/// "GPipe", "1F1B".
TESSERA_API std::string to_string(Schedule schedule);

/// The work of a device in one tick.
struct PipelineWork {
  enum class Kind { idle, forward, backward };
  Kind kind = Kind::idle;
  std::int64_t microbatch = -1;  // -1 when idle
  bool operator==(const PipelineWork&) const = default;
};

/// A pipeline schedule. A tick is the time of one forward or backward pass of one microbatch
/// through one stage; the next stage can use a result one tick later.
struct TESSERA_API PipelineSchedule {
  Schedule schedule = Schedule::gpipe;
  std::int64_t stages = 0, microbatches = 0;
  /// Indexed by stage, then by tick.
  std::vector<std::vector<PipelineWork>> work;

  /// 2 (microbatches + stages - 1).
  std::int64_t ticks() const;
  /// The number of idle ticks, summed over all devices.
  std::int64_t idle() const;
  /// The bubble, or fraction of ticks that are idle: (stages - 1) / (microbatches + stages - 1).
  double bubble() const;
  /// The maximum number of microbatches that have finished their forward pass in this stage but not
  /// their backward pass.
  std::int64_t in_flight(std::int64_t stage) const;
  bool operator==(const PipelineSchedule&) const = default;
};

/// Returns the schedule that pipelines follow. Throws ShardingError for fewer than one stage or
/// microbatch, and if the table would have more than 2^28 entries.
TESSERA_API PipelineSchedule
pipeline_schedule(std::int64_t stages, std::int64_t microbatches, Schedule schedule,
                  std::source_location loc = std::source_location::current());
/// Draws the schedule for a terminal: one row per stage, one column per tick, F0 for the forward
/// pass of microbatch 0.
TESSERA_API std::string to_string(const PipelineSchedule& schedule);
TESSERA_API std::ostream& operator<<(std::ostream& out, const PipelineSchedule& schedule);
/// The same drawing as SVG, with forward and backward passes in two colours.
TESSERA_API std::string schedule_svg(const PipelineSchedule& schedule);

/// The options of pipeline and pipeline_value_and_grad.
struct PipelineOptions {
  /// The mesh whose devices run the pipeline. The default is the mesh of the scope (use_mesh) at
  /// the call.
  Mesh mesh = {};
  /// The mesh axis along which each device is a stage.
  std::string axis = "stage";
  /// The number of microbatches into which each device's rows of the batch are divided. The bubble
  /// is (stages - 1) / (microbatches + stages - 1), so choose several times the number of stages.
  std::int64_t microbatches = 0;
  /// The schedule of pipeline_value_and_grad. `pipeline` always uses GPipe, because its backward
  /// passes can begin only after a loss of the whole result is computed.
  Schedule schedule = Schedule::gpipe;
  /// Another mesh axis, along which the rows of the batch are partitioned; none if empty.
  std::string batch_axis = {};
  /// Whether the derivative of `pipeline` keeps only each stage's input and recomputes the rest.
  /// pipeline_value_and_grad always does so.
  bool remat = false;
};

namespace detail {
/// `stage` has the signature (parameters of a layer, activation), and is called with the stacked
/// parameters and the batch.
TESSERA_API Outcome pipeline(Call& stage, const PipelineOptions& options, std::source_location loc);

/// The derivatives that are needed besides those of the parameters.
struct PipelineWanted {
  bool batch = false, head = false;
};
struct PipelineGradients {
  Array loss;
  /// One per leaf of the parameters, then of the batch and of the head if they are wanted.
  std::vector<Array> gradients;
};
/// `loss` has the signature (activation, targets, head if any), and is called with the batch, the
/// targets and the head.
TESSERA_API PipelineGradients pipeline_value_and_grad(Call& layer, Call& loss,
                                                      PipelineWanted wanted,
                                                      const PipelineOptions& options,
                                                      std::source_location loc);

template <class C>
inline constexpr bool keeps_activation =
    std::is_same_v<typename C::Result, typename NthOf<typename C::Params, 1>::type>;
#define TESSERA_CHECK_STAGE_(C)                                                              \
  static_assert(detail::keeps_activation<C>,                                                 \
                "tessera: a layer of a pipeline takes (parameters, activation) and returns " \
                "an activation of the same type")
}  // namespace detail

/// The callable that pipeline returns: it applies the layers to a batch.
template <class F>
class Pipeline {
 public:
  using tessera_function = F;
  Pipeline(F f, PipelineOptions options, std::source_location loc)
      : f_(std::move(f)), options_(std::move(options)), loc_(loc) {}

  template <class P, class X>
  auto operator()(P&& params, X&& x) const {
    using Check = detail::CallCheck<F, P, X>;
    static_assert(Check::trees() && Check::converts() && Check::invocable(),
                  "tessera: a layer of a pipeline takes (parameters, activation): trees of arrays, "
                  "as the pipeline is called with");
    return detail::with_call(
        f_,
        [&]<class C>(C& call) {
          TESSERA_CHECK_STAGE_(C);
          return call.result(detail::pipeline(call, options_, loc_));
        },
        params, x);
  }

 private:
  mutable F f_;
  PipelineOptions options_;
  std::source_location loc_;
};

/// pipeline(layer, options)(params, x) applies the layers to the batch x in turn, and returns the
/// activation for all rows, replicated along the pipeline axis. It is differentiable, in GPipe's
/// order. The call throws ShardingError for axes that the mesh does not have, for fewer than one
/// microbatch, and if the layers do not divide over the devices or the batch over the microbatches;
/// it throws TreeError, DTypeError or ShapeError if a layer changes the type of its activation, or
/// if a leaf has no leading dimension.
template <class F>
Pipeline<std::decay_t<F>> pipeline(F&& layer, const PipelineOptions& options,
                                   std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(layer), options, loc};
}

/// The callable that pipeline_value_and_grad returns: it gives the mean loss of a batch and its
/// gradients.
template <class F, class G, int... I>
class PipelineGrad {
 public:
  PipelineGrad(F f, G g, PipelineOptions options, std::source_location loc)
      : f_(std::move(f)), g_(std::move(g)), options_(std::move(options)), loc_(loc) {}

  template <class Params, class X, class... TargetsAndHead>
  auto operator()(Params&& params, X&& x, TargetsAndHead&&... rest) const {
    constexpr bool head = ((I == 3) || ...);
    static_assert(sizeof...(rest) == 2 || (sizeof...(rest) == 1 && !head),
                  "tessera: a pipeline is trained on (params, x, targets), or (params, x, targets, "
                  "head) for a loss that takes a head");
    auto use = [&]<class L, class G2>(L& layer, G2& loss) {
      static_assert(std::is_same_v<typename G2::Result, Array>,
                    "tessera: the loss of a pipeline takes (activation, targets), or (activation, "
                    "targets, head), and returns an Array");
      detail::PipelineGradients o = detail::pipeline_value_and_grad(
          layer, loss, {.batch = ((I == 1) || ...), .head = head}, options_, loc_);
      std::span<const Array> left(o.gradients);
      auto like = [&]<int Argument>(std::integral_constant<int, Argument>) {
        auto take = [&]<std::size_t K>(auto& call, std::integral_constant<std::size_t, K>) {
          return detail::restore_like(call.template arg<K>(), call.arg_ends[K] - call.arg_begin(K),
                                      left);
        };
        if constexpr (Argument == 3)
          return take(loss, std::integral_constant<std::size_t, 2>());
        else
          return take(layer, std::integral_constant<std::size_t, Argument>());
      };
      if constexpr (sizeof...(I) == 1)
        return std::pair(o.loss, (like(std::integral_constant<int, I>()), ...));
      else
        return std::pair(o.loss, std::tuple{like(std::integral_constant<int, I>())...});
    };
    return detail::with_call(
        f_,
        [&]<class C>(C& layer) {
          TESSERA_CHECK_STAGE_(C);
          return detail::with_call(
              g_, [&](auto& loss) { return use(layer, loss); }, layer.template arg<1>(), rest...);
        },
        params, x);
  }

 private:
  mutable F f_;
  mutable G g_;
  PipelineOptions options_;
  std::source_location loc_;
};

/// A training step. pipeline_value_and_grad(layer, loss, options)(params, x, targets) returns a
/// pair: the mean over all microbatches of loss(activation, targets), with both arguments of one
/// microbatch, and its gradient with respect to the parameters. With a head, which all microbatches
/// share, the loss is loss(activation, targets, head) and the call is (params, x, targets, head).
/// Template arguments are the positions of arguments to differentiate: <0, 1> returns a tuple of
/// the gradients with respect to the parameters and the batch, and <0, 1, 3> adds that of the head.
///
/// Forward and backward passes follow the schedule in a single loop. A stage keeps its inputs and
/// recomputes the rest in the backward pass; with 1F1B it keeps at most as many inputs as there are
/// stages, however many microbatches there are. Throws the errors of `pipeline`, and those of
/// value_and_grad if the loss is not a floating scalar or an argument is not floating.
template <int... I, class F, class G>
auto pipeline_value_and_grad(F&& layer, G&& loss, const PipelineOptions& options,
                             std::source_location loc = std::source_location::current()) {
  using Given = std::integer_sequence<int, I...>;
  constexpr bool some = (std::is_same_v<Given, std::integer_sequence<int>> ||
                         std::is_same_v<Given, std::integer_sequence<int, 0>> ||
                         std::is_same_v<Given, std::integer_sequence<int, 0, 1>> ||
                         std::is_same_v<Given, std::integer_sequence<int, 0, 3>> ||
                         std::is_same_v<Given, std::integer_sequence<int, 0, 1, 3>>);
  static_assert(some,
                "tessera: pipeline_value_and_grad differentiates the parameters, 0, and besides "
                "them the batch, 1, and the head, 3: <0>, <0, 1>, <0, 3> or <0, 1, 3>");
  if constexpr (sizeof...(I) == 0)
    return PipelineGrad<std::decay_t<F>, std::decay_t<G>, 0>(std::forward<F>(layer),
                                                             std::forward<G>(loss), options, loc);
  else
    return PipelineGrad<std::decay_t<F>, std::decay_t<G>, I...>(
        std::forward<F>(layer), std::forward<G>(loss), options, loc);
}

}  // namespace tessera::inline v0
