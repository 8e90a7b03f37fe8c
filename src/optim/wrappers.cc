// Optimisers that wrap other optimisers. Their states contain those of the inner ones.
#include "optim/checks.h"
#include "optim/stages.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/message.h>
#include <tessera/optim/transformations.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::optim {

namespace {

// The selected leaves; the others are empty, and optimisers skip empty leaves.
Leaves only(const Leaves& all, const std::vector<bool>& meant) {
  Leaves some(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (meant[i]) some[i] = all[i];
  return some;
}

Array number(std::int64_t n) { return full({}, n, DType::int32); }

void need_leaves(const char* name, std::size_t entries, std::size_t leaves) {
  if (entries == leaves) return;
  throw Mismatch{
      Message(name)
          .problem(std::to_string(entries) + " entries for " + std::to_string(leaves) + " leaves")
          .rule("there is one entry for each leaf of the parameters")
          .advice("optim::mask_by_path(params, ...) or labels_by_path make one each")};
}

}  // namespace

std::vector<bool> Mask::of(const Leaves& params) const {
  if (!of_parameter_) {
    need_leaves("masked", leaves_.size(), params.size());
    return leaves_;
  }
  std::vector<bool> meant;
  for (const Array& p : params) meant.push_back(!p.is_empty() && of_parameter_(p));
  return meant;
}

Mask every_leaf() {
  return Mask([](const Array&) { return true; });
}
std::vector<bool> meant(const Mask& mask, const Leaves& params, const SourceLoc& loc) {
  try {
    return mask.of(params);
  } catch (Mismatch& m) {
    m.message.from(loc).raise<TreeError>();
  }
}

Optimizer masked(const Optimizer& inner, const Mask& mask, std::source_location loc) {
  const auto meant_of = [mask, loc](const Leaves& p) { return meant(mask, p, loc); };
  return Optimizer(
      {{[=](const Leaves& p) {
          return State::Stage{{}, {}, init_inner(inner, only(p, meant_of(p)))};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          const std::vector<bool> meant = meant_of(p);
          Leaves u = update_inner(inner, only(g, meant), before.inner, only(p, meant), after.inner);
          for (std::size_t i = 0; i < g.size(); ++i)
            if (!meant[i]) u[i] = g[i];
          return u;
        }}});
}

Optimizer multi_transform(const std::map<std::string, Optimizer>& optimizers,
                          const std::vector<std::string>& labels, std::source_location loc) {
  std::vector<Optimizer> all;
  for (const std::string& label : labels)
    if (!optimizers.count(label)) {
      std::string known;
      for (const auto& [name, o] : optimizers)
        known += (known.empty() ? "\"" : ", \"") + name + "\"";
      Message("multi_transform")
          .problem("the label \"" + label + "\" has no optimiser")
          .rule("each label is one of " + (known.empty() ? "none" : known))
          .from(loc)
          .advice("optim::scale(0.0) for what is not trained")
          .raise<Error>();
    }
  for (const auto& [name, inner] : optimizers) {
    std::vector<bool> meant;
    for (const std::string& label : labels) meant.push_back(label == name);
    all.push_back(masked(inner, meant, loc));
  }
  std::vector<Stage> stages;
  for (const Optimizer& o : all) stages.insert(stages.end(), o.stages().begin(), o.stages().end());
  return Optimizer(std::move(stages));
}

Optimizer apply_if_finite(const Optimizer& inner, std::int64_t max_consecutive_errors,
                          std::source_location loc) {
  const InFunction called("apply_if_finite", loc);
  need_steps("apply_if_finite", "max_consecutive_errors", max_consecutive_errors, 0, loc);
  return Optimizer(
      {{[=](const Leaves& p) {
          return State::Stage{{}, {{number(0), number(0)}}, init_inner(inner, p)};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          const Leaves& counts = numbers_of(before, 2, before.inner.size());
          Array finite = Array(true);
          for (const Array& x : g)
            if (!x.is_empty()) finite = finite && isfinite(x).all();
          const Array in_a_row = where(finite, number(0), counts[0] + 1);
          const Array apply = finite || in_a_row > max_consecutive_errors;
          State::Stage next;
          const Leaves u = update_inner(inner, g, before.inner, p, next.inner);
          after.inner = choose(apply, next.inner, before.inner);
          after.moments = {{in_a_row, where(finite, counts[1], counts[1] + 1)}};
          return each(u, [&](std::size_t i) { return where(apply, u[i], zeros_like(u[i])); });
        }}});
}

namespace {

Optimizer accumulated(const Optimizer& inner, std::int64_t every_k, bool use_mean) {
  return Optimizer(
      {{[=](const Leaves& p) {
          return State::Stage{number(0), {zeros_like_all(p)}, init_inner(inner, p)};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          Leaves sums = moments_of(before, 1, p, true)[0];
          const Array place = remainder(before.count, every_k), last = place == every_k - 1;
          const Leaves seen = each(g, [&](std::size_t i) {
            const DType d = sums[i].dtype();
            const Array gi = g[i].astype(d);
            sums[i] = use_mean ? sums[i] + (gi - sums[i]) / (place + 1).astype(d) : sums[i] + gi;
            return sums[i];
          });
          State::Stage next;
          const Leaves u = update_inner(inner, seen, before.inner, p, next.inner);
          after.count = before.count + 1;
          after.inner = choose(last, next.inner, before.inner);
          after.moments = {
              each(sums, [&](std::size_t i) { return where(last, zeros_like(sums[i]), sums[i]); })};
          return each(u, [&](std::size_t i) { return where(last, u[i], zeros_like(u[i])); });
        }}});
}

}  // namespace

MultiSteps::MultiSteps(const Optimizer& inner, std::int64_t every_k, bool use_grad_mean,
                       std::source_location loc)
    : Optimizer(accumulated(inner, every_k, use_grad_mean)) {
  need_steps("MultiSteps", "every_k", every_k, 1, loc);
}

Optimizer lookahead(const Optimizer& fast, std::int64_t sync_period, double slow_step_size,
                    bool reset_state, std::source_location loc) {
  const InFunction called("lookahead", loc);
  need_steps("lookahead", "sync_period", sync_period, 1, loc);
  need_amount("lookahead", "slow_step_size", slow_step_size, loc);
  const auto half = [loc](const Leaves& x) {
    if (x.size() % 2)
      Message("lookahead")
          .problem(std::to_string(x.size()) + " leaves")
          .rule("there are as many fast parameters as slow ones")
          .from(loc)
          .advice("optim::init_synced(params) in the place of the parameters")
          .raise<TreeError>();
    return Leaves(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
  };
  return Optimizer(
      {{[=](const Leaves& p) {
          return State::Stage{number(0), {}, init_inner(fast, half(p))};
        },
        [=](const Leaves& g, const State::Stage& before, const Leaves& p, State::Stage& after) {
          const Leaves parameters = half(p);
          moments_of(before, 0, p, true);
          const Array sync = before.count == sync_period - 1;
          after.count = remainder(before.count + 1, sync_period);
          const Leaves u = update_inner(fast, half(g), before.inner, parameters, after.inner);
          if (reset_state) after.inner = choose(sync, init_inner(fast, parameters), after.inner);
          Leaves moved(p.size());
          for (std::size_t i = 0; i < u.size(); ++i) {
            if (u[i].is_empty()) continue;
            const Array ahead = p[i] + u[i] - p[i + u.size()], zero = zeros_like(ahead);
            moved[i] = u[i] - where(sync, ahead * (1 - slow_step_size), zero);
            moved[i + u.size()] = where(sync, ahead * slow_step_size, zero);
          }
          return moved;
        }}});
}

}  // namespace tessera::inline v0::optim
