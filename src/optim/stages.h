// Helpers for the stages of optimisers.
#pragma once

#include <tessera/optim/optimizers.h>

#include <functional>

namespace tessera::inline v0::optim {

/// Applies f to the present leaves; absent leaves stay absent.
template <class F>
Leaves each(const Leaves& updates, F&& f) {
  Leaves out(updates.size());
  for (std::size_t i = 0; i < updates.size(); ++i)
    if (!updates[i].is_empty()) out[i] = f(i);
  return out;
}

bool trainable(const Array& p);
/// Zeros, or `value`, in the shape of each trainable parameter.
Leaves zeros_like_all(const Leaves& params);
Leaves full_like_all(const Leaves& params, double value);
Array zero_count();

/// A problem with a state; update reports it with its caller's line.
struct Mismatch {
  Message message;
};

/// The moments of a state. Checks that it has `kinds` moments for each of these parameters, each of
/// the shape that `shape_of` gives for a kind and a parameter (by default the parameter's own), and
/// none where `shape_of` returns nothing.
using ShapeOf = std::function<std::optional<Shape>(std::size_t kind, const Array& parameter)>;
const std::vector<Leaves>& moments_of(const State::Stage& state, std::size_t kinds,
                                      const Leaves& params, bool counts,
                                      const ShapeOf& shape_of = {});
/// The scalars of a stage's state; checks that there are `count` of them and `inner` inner stages.
const Leaves& numbers_of(const State::Stage& state, std::size_t count, std::size_t inner);

/// A mask that selects every leaf.
Mask every_leaf();
/// Whether each leaf is selected by a mask; throws TreeError with this line if the mask is for
/// other parameters.
std::vector<bool> meant(const Mask& mask, const Leaves& params, const SourceLoc& loc);

Stage stateless(const std::function<Leaves(const Leaves&, const Leaves&)>& f);

/// The stages of an optimiser that is nested in a stage.
std::vector<State::Stage> init_inner(const Optimizer& inner, const Leaves& params);
Leaves update_inner(const Optimizer& inner, Leaves updates, const std::vector<State::Stage>& before,
                    const Leaves& params, std::vector<State::Stage>& after);
/// For each leaf, `yes` if the scalar condition holds, else `no`.
Leaves choose(const Array& condition, const Leaves& yes, const Leaves& no);
std::vector<State::Stage> choose(const Array& condition, const std::vector<State::Stage>& yes,
                                 const std::vector<State::Stage>& no);

}  // namespace tessera::inline v0::optim
