// The parts of an optimiser: stages that map gradients to updates, the state between steps, and the
// training state around it.
#pragma once

#include <tessera/array.h>
#include <tessera/optim/mask.h>
#include <tessera/partition_spec.h>
#include <tessera/tree.h>
#include <functional>
#include <memory>

#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::optim {

/// The state of an optimiser: a step counter (int32 scalar) for stages that count, and the moments
/// of each parameter. It is a tree like any other; the stages are in the order of the chain.
struct State {
  struct Stage {
    Array count;                              // empty unless the stage counts steps
    std::vector<std::vector<Array>> moments;  // [kind][parameter], or the stage's own numbers
    std::vector<Stage> inner = {};            // states of optimisers that the stage wraps
    std::vector<std::string> names = {};      // names of the stage's own numbers, if they have any
  };
  std::vector<Stage> stages;
};

/// A rate for each step: a function from the int32 step count, starting at 0, to a scalar. The
/// schedules of schedules.h return weakly typed scalars, which take the precision of the updates
/// that they scale.
using Schedule = std::function<Array(const Array& count)>;

/// A rate given as a number or as a schedule.
class Rate {
 public:
  Rate(double value, std::source_location loc = std::source_location::current())
      : value_(value), is_constant_(true), loc_(loc) {}
  Rate(Schedule schedule, std::source_location loc = std::source_location::current())
      : schedule_(std::move(schedule)), loc_(loc) {}
  /// Whether the rate is the same in each step.
  bool is_constant() const { return is_constant_; }
  /// The constant rate.
  double value() const { return value_; }
  /// The rate at a step, an int32 scalar.
  TESSERA_API Array at(const Array& count) const;
  /// Throws Error if the number is not a valid rate, or if the schedule is an empty function.
  TESSERA_API void check(const char* function) const;

 private:
  Schedule schedule_;
  double value_ = 0;
  bool is_constant_ = false;
  std::source_location loc_;
};

/// A stage maps gradients, its state and the parameters to updates: `init` makes the state, and
/// `update` gives the updates and the next state.
struct Stage {
  std::function<State::Stage(const Leaves& params)> init;
  std::function<Leaves(const Leaves& updates, const State::Stage& before, const Leaves& params,
                       State::Stage& after)>
      update;
};

/// An optimiser is immutable; copies share their stages.
class TESSERA_API Optimizer {
 public:
  explicit Optimizer(std::vector<Stage> stages);

  /// Returns the initial state, usually with zero moments of the parameters' shapes and dtypes.
  template <class Params>
  State init(const Params& params) const {
    return init_leaves(tree::leaves(params));
  }
  /// Returns (updates, next state). Throws TreeError if gradients and parameters differ in
  /// structure.
  template <class Params>
  std::pair<Params, State> update(
      const Params& grads, const State& state, const Params& params,
      std::source_location loc = std::source_location::current()) const {
    detail::require_same_structure("Optimizer::update", tree::structure(params), "params",
                                   tree::structure(grads), "grads", loc);
    State next;
    Leaves u = update_leaves(tree::leaves(grads), state, tree::leaves(params), next, loc);
    return {tree::unflatten(grads, u), std::move(next)};
  }
  /// Throws Error if the optimiser was moved from.
  const std::vector<Stage>& stages() const;

 private:
  State init_leaves(const Leaves& params) const;
  Leaves update_leaves(Leaves grads, const State& state, const Leaves& params, State& next,
                       std::source_location loc) const;
  std::shared_ptr<const std::vector<Stage>> stages_;
};

/// Composes optimisers: each works on the updates of the one before.
TESSERA_API Optimizer chain(std::initializer_list<Optimizer> stages);

/// sqrt(sum of squares) over all leaves as a float32 scalar (float64 if a leaf is), even if the
/// squares themselves would be out of range.
TESSERA_API Array global_norm(const Leaves& leaves);
template <class T>
requires(!std::is_same_v<T, Leaves>) Array global_norm(const T& x) {
  return global_norm(tree::leaves(x));
}

namespace detail {
TESSERA_API Array updated(const Array& parameter, const Array& update, std::source_location loc);
}

/// Returns params + updates in the parameters' dtypes. Throws ShapeError if an update has another
/// shape.
template <class Params>
Params apply_updates(const Params& params, const Params& updates,
                     std::source_location loc = std::source_location::current()) {
  const auto add = [&](const Array& p, const Array& u) { return detail::updated(p, u, loc); };
  const InFunction called("apply_updates", loc);
  return tree::map({add, loc}, params, updates);
}

/// Everything that training changes, as one tree: the model, the optimiser's state and the number
/// of steps taken. Replicate, shard and save it like any other tree; tree::flatten splits it into
/// leaves and tree::unflatten reassembles it.
template <class Model>
struct TrainState {
  Model model;
  State optimizer;
  Array step;  // int32 scalar

  /// Returns the state after one step of `opt` with these gradients. Throws TreeError if they do
  /// not have the model's structure.
  TrainState apply_gradients(const Optimizer& opt, const Model& grads,
                             std::source_location loc = std::source_location::current()) const {
    auto [updates, next] = opt.update(grads, optimizer, model, loc);
    return {apply_updates(model, updates, loc), std::move(next), step + 1};
  }
};
namespace detail {
TESSERA_API SpecTree state_specs(const State& state, const Leaves& params,
                                 const std::vector<std::optional<PartitionSpec>>& of_params);
}

/// Returns specs for an optimiser's state: each moment has the spec of its parameter. State without
/// the shape of a parameter is replicated: counters, hyperparameters, and moments that are kept by
/// rows and columns (adafactor). `state` and `params` may be abstract, so that a state can be
/// created with its final sharding:
///
///   const SpecTree of_model = specs(model, rules);
///   const auto init = [&](const Model& m) { return opt.init(m); };
///   const State like = eval_shape(init, model);
///   jit(init, {.mesh = mesh, .out_shardings = optim::specs(like, model, of_model)})(model);
///
/// Throws TreeError if `of_params` is not a prefix of the parameters' tree.
template <class Params>
SpecTree specs(const State& state, const Params& params, const SpecTree& of_params,
               std::source_location loc = std::source_location::current()) {
  return detail::state_specs(
      state, tree::leaves(params),
      tessera::detail::specs_by_leaf("optim::specs", of_params, tree::structure(params), "params",
                                     loc));
}
/// Specs for a whole training state; the step counter is replicated.
template <class Model>
SpecTree specs(const TrainState<Model>& state, const SpecTree& of_model,
               std::source_location loc = std::source_location::current()) {
  return {of_model, specs(state.optimizer, state.model, of_model, loc), SpecTree()};
}

/// Returns the state before the first step.
template <class Model>
TrainState<Model> train_state(Model model, const Optimizer& opt) {
  State state = opt.init(model);
  return {std::move(model), std::move(state), Array(std::vector<std::int32_t>{0}, Shape{})};
}

}  // namespace tessera::inline v0::optim
