// What the stages of optimisers are made of.
#pragma once

#include <tessera/optim/optimizers.h>

#include <functional>

namespace tessera::inline v0::optim {

/// f on the leaves that are there; absent ones stay absent.
template <class F>
Leaves each(const Leaves& updates, F&& f) {
  Leaves out(updates.size());
  for (std::size_t i = 0; i < updates.size(); ++i)
    if (!updates[i].is_empty()) out[i] = f(i);
  return out;
}

bool trainable(const Array& p);
/// Zeros, or this number, of the shape of each trainable parameter.
Leaves zeros_like_all(const Leaves& params);
Leaves full_like_all(const Leaves& params, double value);
Array zero_count();

/// What is wrong with a state, for update to say with its caller's line.
struct Mismatch {
  Message message;
};

/// The moments of a state, after a check that they are `kinds` for each of these parameters, of the
/// shape that `shape_of` gives for a kind and a parameter (by default the parameter's), none where it
/// gives none.
using ShapeOf = std::function<std::optional<Shape>(std::size_t kind, const Array& parameter)>;
const std::vector<Leaves>& moments_of(const State::Stage& state, std::size_t kinds,
                                      const Leaves& params, bool counts,
                                      const ShapeOf& shape_of = {});
/// A state of scalars of the stage's own, after a check that there are `count` and `inner` stages.
const Leaves& numbers_of(const State::Stage& state, std::size_t count, std::size_t inner);

/// A mask that means all.
Mask every_leaf();
/// The leaves that a mask means; TreeError with this line where it is one of other parameters.
std::vector<bool> meant(const Mask& mask, const Leaves& params, const SourceLoc& loc);

Stage stateless(const std::function<Leaves(const Leaves&, const Leaves&)>& f);

/// The stages of an optimiser within a stage.
std::vector<State::Stage> init_inner(const Optimizer& inner, const Leaves& params);
Leaves update_inner(const Optimizer& inner, Leaves updates, const std::vector<State::Stage>& before,
                    const Leaves& params, std::vector<State::Stage>& after);
/// Leaf by leaf `yes` where the scalar condition holds, else `no`.
Leaves choose(const Array& condition, const Leaves& yes, const Leaves& no);
std::vector<State::Stage> choose(const Array& condition, const std::vector<State::Stage>& yes,
                                 const std::vector<State::Stage>& no);

}  // namespace tessera::inline v0::optim
