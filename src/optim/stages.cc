#include "optim/stages.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/message.h>

namespace tessera::inline v0::optim {

bool trainable(const Array& p) { return !p.is_empty() && is_floating(p.dtype()); }

Leaves full_like_all(const Leaves& params, double value) {
  Leaves z(params.size());
  for (std::size_t i = 0; i < params.size(); ++i)
    if (trainable(params[i])) z[i] = full_like(params[i], value);
  return z;
}
Leaves zeros_like_all(const Leaves& params) { return full_like_all(params, 0); }

Array zero_count() { return zeros({}, DType::int32); }

namespace {

[[noreturn]] void mismatch(Message m) {
  throw Mismatch{m.problem("the state is another optimiser's or another model's")
                     .rule("a state belongs to the optimiser and the parameters whose init made it")
                     .advice("state = optimizer.init(params)")};
}

std::optional<Shape> own_shape(std::size_t, const Array& parameter) { return parameter.shape(); }

// Whether moment k of every parameter is present and has its shape.
bool shapes_fit(Message& m, const Leaves& moments, std::size_t k, const Leaves& params,
                const ShapeOf& shape_of) {
  bool fits = true;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Array& x = moments[i];
    const std::optional<Shape> shape = trainable(params[i]) ? shape_of(k, params[i]) : std::nullopt;
    if (shape ? !x.is_empty() && x.shape() == *shape : x.is_empty()) continue;
    m.offender("the moment of parameter " + std::to_string(i) + " is " + describe(x) +
               ", the parameter " + describe(params[i]));
    fits = false;
  }
  return fits;
}

}  // namespace

const std::vector<Leaves>& moments_of(const State::Stage& state, std::size_t kinds,
                                      const Leaves& params, bool counts, const ShapeOf& shape_of) {
  Message m("Optimizer::update");
  if (state.moments.size() != kinds)
    mismatch(m.offender("it keeps " + std::to_string(state.moments.size()) +
                        " moments a parameter, the optimiser " + std::to_string(kinds)));
  if (counts && state.count.is_empty()) mismatch(m.offender("it counts no steps"));
  bool fits = true;
  for (std::size_t k = 0; fits && k < kinds; ++k) {
    if (state.moments[k].size() != params.size())
      mismatch(m.offender("it is of " + std::to_string(state.moments[k].size()) +
                          " parameters, the model has " + std::to_string(params.size())));
    fits = shapes_fit(m, state.moments[k], k, params, shape_of ? shape_of : own_shape);
  }
  if (!fits) mismatch(m);
  return state.moments;
}

const Leaves& numbers_of(const State::Stage& state, std::size_t count, std::size_t inner) {
  Message m("Optimizer::update");
  if (state.moments.empty() || state.moments[0].size() != count)
    mismatch(m.offender("it lacks the " + std::to_string(count) + " numbers of a stage"));
  if (state.inner.size() != inner)
    mismatch(m.offender("it is of " + std::to_string(state.inner.size()) +
                        " stages within a stage, the optimiser has " + std::to_string(inner)));
  for (const Array& x : state.moments[0])
    if (x.is_empty()) mismatch(m.offender("a number of a stage is empty"));
  return state.moments[0];
}

Stage stateless(const std::function<Leaves(const Leaves&, const Leaves&)>& f) {
  return {[](const Leaves&) { return State::Stage{}; },
          [f](const Leaves& u, const State::Stage&, const Leaves& p, State::Stage&) {
            return f(u, p);
          }};
}

std::vector<State::Stage> init_inner(const Optimizer& inner, const Leaves& params) {
  std::vector<State::Stage> all;
  for (const Stage& stage : inner.stages()) all.push_back(stage.init(params));
  return all;
}

Leaves update_inner(const Optimizer& inner, Leaves updates, const std::vector<State::Stage>& before,
                    const Leaves& params, std::vector<State::Stage>& after) {
  const std::vector<Stage>& stages = inner.stages();
  if (before.size() != stages.size())
    mismatch(Message("Optimizer::update")
                 .offender("it is of " + std::to_string(before.size()) +
                           " stages within a stage, the optimiser has " +
                           std::to_string(stages.size())));
  after.resize(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i)
    updates = stages[i].update(updates, before[i], params, after[i]);
  return updates;
}

Leaves choose(const Array& condition, const Leaves& yes, const Leaves& no) {
  return each(yes,
              [&](std::size_t i) { return where(condition, yes[i], no[i]).astype(no[i].dtype()); });
}

std::vector<State::Stage> choose(const Array& condition, const std::vector<State::Stage>& yes,
                                 const std::vector<State::Stage>& no) {
  std::vector<State::Stage> all = no;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].count.is_empty())
      all[i].count = choose(condition, Leaves{yes[i].count}, Leaves{no[i].count})[0];
    for (std::size_t k = 0; k < all[i].moments.size(); ++k)
      all[i].moments[k] = choose(condition, yes[i].moments[k], no[i].moments[k]);
    all[i].inner = choose(condition, yes[i].inner, no[i].inner);
  }
  return all;
}

}  // namespace tessera::inline v0::optim
