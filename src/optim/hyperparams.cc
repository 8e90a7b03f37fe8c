// Hyperparameters that are stored in the state.
#include "optim/stages.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/optim/transformations.h>

namespace tessera::inline v0::optim {

namespace {

// The dtype of numbers in a state, which must not be weak: float64 if a parameter is, else float32.
DType dtype_for(const Leaves& params) {
  for (const Array& p : params)
    if (!p.is_empty() && p.dtype() == DType::float64) return DType::float64;
  return DType::float32;
}

Array as_number(const Rate& rate, const Array& count, DType dtype) {
  const Array x = rate.at(count);
  return x.astype(x.weak_type() ? dtype : x.dtype());
}

// The entry for a hyperparameter's name in a state; null if there is none.
Array* find(std::vector<State::Stage>& stages, const std::string& name) {
  for (State::Stage& stage : stages) {
    for (std::size_t i = 0; i < stage.names.size(); ++i)
      if (stage.names[i] == name && !stage.moments.empty() && i < stage.moments[0].size())
        return &stage.moments[0][i];
    if (Array* inside = find(stage.inner, name)) return inside;
  }
  return nullptr;
}

[[noreturn]] void no_such(const char* function, const std::string& name, const SourceLoc& loc) {
  Message(function)
      .problem("the state has no hyperparameter \"" + name + "\"")
      .rule("inject_hyperparams keeps those that it is given by name")
      .from(loc)
      .advice("inject_hyperparams(make, {{\"" + name + "\", ...}})")
      .raise<Error>();
}

}  // namespace

Optimizer inject_hyperparams(const std::function<Optimizer(const Hyperparams&)>& make,
                             const std::map<std::string, Rate>& values, std::source_location loc) {
  const InFunction called("inject_hyperparams", loc);
  for (const auto& [name, rate] : values) rate.check("inject_hyperparams");
  // The optimiser with these numbers as its rates.
  const auto with = [make, values](const Leaves& numbers) {
    Hyperparams given;
    std::size_t i = 0;
    for (const auto& [name, rate] : values) {
      const Array& x = numbers[i++];
      given[name] = [x](const Array&) { return x; };
    }
    return make(given);
  };
  const auto numbers_at = [values](const Array& count, const Leaves& kept, DType dtype) {
    Leaves numbers;
    for (const auto& [name, rate] : values)
      numbers.push_back(rate.is_constant() && !kept.empty() ? kept[numbers.size()]
                                                            : as_number(rate, count, dtype));
    return numbers;
  };
  return Optimizer(
      {{[=](const Leaves& p) {
          State::Stage s{zero_count(), {numbers_at(zero_count(), {}, dtype_for(p))}};
          s.inner = init_inner(with(s.moments[0]), p);
          for (const auto& [name, rate] : values) s.names.push_back(name);
          return s;
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          const Leaves& kept = numbers_of(before, values.size(), before.inner.size());
          const Leaves numbers = numbers_at(before.count, kept, dtype_for(p));
          after.count = before.count + 1;
          after.moments = {numbers};
          after.names = before.names;
          return update_inner(with(numbers), g, before.inner, p, after.inner);
        }}});
}

Array hyperparam(const State& state, const std::string& name, std::source_location loc) {
  State own = state;
  if (const Array* x = find(own.stages, name)) return *x;
  no_such("hyperparam", name, loc);
}

State with_hyperparam(State state, const std::string& name, Operand value) {
  Array* x = find(state.stages, name);
  if (!x) no_such("with_hyperparam", name, value.loc);
  *x = broadcast_to(Operand(astype(value, x->dtype()), value.loc), x->shape());
  return state;
}

}  // namespace tessera::inline v0::optim
