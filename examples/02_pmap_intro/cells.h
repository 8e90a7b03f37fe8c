// The cells of the introduction to pmap. Each is a function that returns the values that its cell
// shows.
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
/// Squares a row on each device: x is (devices, n).
Array squares(Array x);
/// Returns on each device the sum over all rows, along the axis that pmap calls "i" by default.
Array sum_over_default_axis(Array x);

// --- Part 2: in_axes
struct Affine {
  Array w, b;
};
/// Gives every device the same parameters and one row of x.
Array shared_parameters(Affine p, Array x);
/// arg1 and arg3 are sharded over the devices; arg2 is replicated.
Array mixed_axes(Array arg1, Array arg2, Array arg3);
/// The value on each device after the sums of their rows are combined: one number per device.
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

/// Points of a noisy sine: x and y, of shape (n, 1).
std::pair<Array, Array> make_data(Array key, std::int64_t n);

/// The model, Adam's moments and counter, and the number of steps.
using State = optim::TrainState<Mlp>;

struct Training {
  State replicated;  // as the last step returned it: one row per device
  std::vector<float> losses;
};
/// Runs `steps` steps of Adam on all of x and y, sharded over `devices`, starting from one model
/// made from `key`.
Training train(Array key, Array x, Array y, std::int64_t devices, std::int64_t steps);

// --- Part 4: gathering
/// Returns the state that all devices hold, after checking that their copies are equal.
State gather(const Training& t);

}  // namespace pmap_intro
