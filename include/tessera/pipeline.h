// Pipelines: the layers of a network on the devices of a mesh axis, a batch that passes through
// them in microbatches, and the timetable that says who does what when.
//
//   ts::Mesh mesh({{"stage", 4}});
//   auto layer = [](const Layer& p, Array x) { return ts::tanh(ts::dot(x, p.w) + p.b); };
//   auto network = ts::pipeline(layer, {.mesh = mesh, .microbatches = 8});
//   Array y = network(layers, x);     // layers.w of shape (12, n, n): three layers a device
//
//   auto step = ts::jit(ts::pipeline_value_and_grad(
//       layer, mse, {.mesh = mesh, .microbatches = 8, .schedule = ts::Schedule::one_f_one_b}));
//   auto [loss, gradients] = step(layers, x, targets);
//
// Every leaf of the parameters has the layers along its leading dimension, as many on each device
// as on any other, neighbours together. A layer takes the parameters of one layer and an
// activation, and gives an activation of the same structure, dtypes and shapes. The batch is cut
// into microbatches along the leading dimension of every leaf; values are those of one layer after
// the other on each microbatch, one microbatch after the other.
//
// Devices along other axes of the mesh do the same work, but for `batch_axis`, along which each has
// its own rows of the batch and gradients are summed: data parallelism around the pipeline. Layers
// may use collectives over other axes.
//
// Both functions trace at each call; put them, or what calls them, into a jit.
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

/// In which order a device works on microbatches.
enum class Schedule {
  /// All forwards, then all backwards, the last microbatch first (Huang et al. 2019). A stage holds
  /// what all microbatches left for their backwards.
  gpipe,
  /// A backward as soon as there is one, from then on one forward, one backward (Narayanan et al.
  /// 2019 and 2021, with a flush at the end of the batch). Stage s of p holds what p - s
  /// microbatches left at most, in the same time.
  one_f_one_b,
};
/// "GPipe", "1F1B".
TESSERA_API std::string to_string(Schedule schedule);

/// What a device does in a tick.
struct PipelineWork {
  enum class Kind { idle, forward, backward };
  Kind kind = Kind::idle;
  std::int64_t microbatch = -1;  // -1 when idle
  bool operator==(const PipelineWork&) const = default;
};

/// A timetable. A tick is the time of one forward or one backward of one microbatch in one stage;
/// what a stage makes in a tick its neighbour has in the next.
struct TESSERA_API PipelineSchedule {
  Schedule schedule = Schedule::gpipe;
  std::int64_t stages = 0, microbatches = 0;
  /// By stage, by tick.
  std::vector<std::vector<PipelineWork>> work;

  /// 2 (microbatches + stages - 1).
  std::int64_t ticks() const;
  /// Ticks in which a device has nothing to do, of all devices together.
  std::int64_t idle() const;
  /// Their share, the bubble: (stages - 1) / (microbatches + stages - 1).
  double bubble() const;
  /// The most microbatches whose forward in this stage is over and whose backward is not.
  std::int64_t in_flight(std::int64_t stage) const;
  bool operator==(const PipelineSchedule&) const = default;
};

/// The timetable that pipelines follow. ShardingError for fewer than one stage or microbatch, and
/// for so many that the table has more than 2^28 entries.
TESSERA_API PipelineSchedule
pipeline_schedule(std::int64_t stages, std::int64_t microbatches, Schedule schedule,
                  std::source_location loc = std::source_location::current());
/// A drawing for a terminal: a row a stage, a column a tick, F0 for the forward of microbatch 0.
TESSERA_API std::string to_string(const PipelineSchedule& schedule);
TESSERA_API std::ostream& operator<<(std::ostream& out, const PipelineSchedule& schedule);
/// The same as SVG, forwards and backwards in two colours.
TESSERA_API std::string schedule_svg(const PipelineSchedule& schedule);

struct PipelineOptions {
  /// Whose devices run it. By default the mesh of the scope (use_mesh) when it is called.
  Mesh mesh = {};
  /// The axis with a stage on each device.
  std::string axis = "stage";
  /// Into how many parts each device's rows of the batch are cut. The bubble is
  /// (stages - 1) / (microbatches + stages - 1), so several times the number of stages.
  std::int64_t microbatches = 0;
  /// Of pipeline_value_and_grad. `pipeline` itself is GPipe's: its backwards begin when a loss of
  /// the whole result was computed.
  Schedule schedule = Schedule::gpipe;
  /// Another axis, along which the rows of the batch are cut; none when empty.
  std::string batch_axis = {};
  /// Of `pipeline`: whether its derivative keeps only what goes into a stage and computes what is
  /// inside again. pipeline_value_and_grad always does.
  bool remat = false;
};

namespace detail {
/// Stage: (parameters of a layer, activation), given the stacked parameters and the batch.
TESSERA_API Outcome pipeline(Call& stage, const PipelineOptions& options, std::source_location loc);

/// Which derivatives are wanted besides those of the parameters.
struct PipelineWanted {
  bool batch = false, head = false;
};
struct PipelineGradients {
  Array loss;
  /// By leaf of the parameters, of the batch and of the head, as they are wanted.
  std::vector<Array> gradients;
};
/// Loss: (activation, targets, head if there is one), given the batch, the targets and the head.
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

/// pipeline(layer, options)(params, x) is what the layers make of the batch x, one after the other:
/// an activation with all rows, the same on all devices along the axis. Differentiable, in GPipe's
/// order. Errors when it is called: ShardingError for axes that the mesh does not have, fewer than
/// one microbatch, layers that the devices do not divide, and a batch that the microbatches do not;
/// TreeError, DTypeError or ShapeError where a layer changes its activation, or leaves have no
/// leading dimension.
template <class F>
Pipeline<std::decay_t<F>> pipeline(F&& layer, const PipelineOptions& options,
                                   std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(layer), options, loc};
}

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

/// A step of training: pipeline_value_and_grad(layer, loss, options)(params, x, targets) is the
/// mean over all microbatches of loss(activation, targets), where both are of one microbatch, and
/// its gradient with respect to the parameters, a pair. With a head, which all microbatches share,
/// it is of loss(activation, targets, head), called with (params, x, targets, head). Template
/// arguments are positions of arguments to differentiate: <0, 1> gives a tuple of the gradients
/// with respect to the parameters and the batch, <0, 1, 3> that of the head too.
///
/// Forwards and backwards go by the timetable, in one loop. A stage keeps what goes into it and
/// computes what is inside again in the backward: with 1F1B of as many microbatches as there are
/// stages at most, however many there are. Errors as those of `pipeline`; and as those of
/// value_and_grad for a loss that is no floating scalar and arguments that are not floating.
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
