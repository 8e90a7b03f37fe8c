// Optimisers in the style of Optax: pairs of pure functions that can be composed.
//
//   auto opt = optim::adam(1e-3);
//   auto state = opt.init(params);  // a tree: replicate, shard and save it like any other
//   auto [updates, next] = opt.update(grads, state, params);
//   params = optim::apply_updates(params, updates);
//
// `params` and `grads` are trees with the same structure. Leaves that are empty in the gradient
// (integers, keys, statistics) are left unchanged. A transformation works leaf by leaf on
// type-erased trees, so an optimiser is a single C++ type whatever the model, and `chain` composes
// any of them. This header includes all of optim.
#pragma once

#include <tessera/optim/mask.h>
#include <tessera/optim/optimizer.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/schedules.h>
#include <tessera/optim/transformations.h>
