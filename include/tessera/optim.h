// Optimisers in Optax's manner: pairs of pure functions that compose.
//
//   auto opt = optim::adam(1e-3);
//   auto state = opt.init(params);  // a tree: replicate, shard and save it like any other
//   auto [updates, next] = opt.update(grads, state, params);
//   params = optim::apply_updates(params, updates);
//
// `params` and `grads` are trees of one structure. Leaves that are empty in the gradient (integers,
// keys, statistics) are left alone. A transformation works leaf by leaf on type-erased trees, so
// that an optimiser is one C++ type whatever the model is, and `chain` puts any of them in
// sequence. All of optim at once.
#pragma once

#include <tessera/optim/mask.h>
#include <tessera/optim/optimizer.h>
#include <tessera/optim/optimizers.h>
#include <tessera/optim/schedules.h>
#include <tessera/optim/transformations.h>
