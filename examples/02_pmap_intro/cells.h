// The cells of the introduction to pmap, each a function that gives what it shows.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace pmap_intro {

namespace ts = tessera;
namespace optim = tessera::optim;
using ts::Array;

// --- Part 1: a function over the leading axis
/// x (devices, n): each device squares its row.
Array squares(Array x);
/// The sum over everything, on each device, over the axis that pmap names "i" by itself.
Array sum_over_default_axis(Array x);

// --- Part 2: in_axes
struct Affine {
  Array w, b;
};
/// The same parameters on every device, a row of x each.
Array shared_parameters(Affine p, Array x);
/// arg1 and arg3 are cut over the devices, arg2 is not.
Array mixed_axes(Array arg1, Array arg2, Array arg3);
/// What each device ends up with when their rows' sums are combined: one number a device.
struct Combined {
  Array own, psum, pmean, pmax;
};
Combined combine(Array x);

// --- Part 3: data-parallel training
struct Layer {
  Array w, b;
};
struct Mlp {
  std::vector<Layer> layers;
  Array operator()(Array x) const;
};
Mlp init_mlp(Array key, const std::vector<std::int64_t>& sizes);
Array mse(const Mlp& model, Array x, Array y);

/// Points of a noisy sine: x and y (n, 1).
std::pair<Array, Array> make_data(Array key, std::int64_t n);

/// Model, Adam's moments and counter, and the number of steps.
using State = optim::TrainState<Mlp>;

struct Training {
  State replicated;  // as the last step left it: a row a device
  std::vector<float> losses;
};
/// `steps` steps of Adam on all of x and y, cut over `devices`, from one model made from `key`.
Training train(Array key, Array x, Array y, std::int64_t devices, std::int64_t steps);

// --- Part 4: gathering
/// The one state behind the devices' equal rows.
State gather(const Training& t);

}  // namespace pmap_intro
