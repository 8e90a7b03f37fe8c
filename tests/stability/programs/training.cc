// A program as users of version 0.1 write them: a network, its training, its files. It is compiled
// with the headers of 0.1 for as long as these have to work, so it does not change.
#include <tessera/tessera.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
namespace nn = ts::nn;
namespace optim = ts::optim;
using ts::Array;

namespace {

struct State {
  nn::MLP model;
  optim::State moments;
  Array key, step;
};

const optim::Optimizer& optimizer() {
  static const optim::Optimizer adam =
      optim::chain({optim::clip_by_global_norm(1.0), optim::adamw(1e-2, 1e-4, {.b1 = 0.9})});
  return adam;
}

State first_state() {
  auto [of_model, key] = ts::random::split(ts::random::key(0));
  nn::MLP model = nn::mlp(of_model, {2, 16, 1}, "tanh");
  return {model, optimizer().init(model), key, ts::zeros({}, ts::i32)};
}

Array loss_of(const nn::MLP& model, const Array& x, const Array& y) {
  return ts::mean(ts::square(model(x) - y), {.keepdims = false});
}

auto step() {
  return ts::jit(
      [](State s, Array x, Array y) {
        auto [l, g] = ts::value_and_grad(loss_of)(s.model, x, y);
        auto [updates, moments] = optimizer().update(g, s.moments, s.model);
        return std::pair(State{optim::apply_updates(s.model, updates), moments, s.key, s.step + 1},
                         l);
      },
      {.donate = {0}, .name = "train"});
}

bool equal(const State& a, const State& b) { return ts::tree::allclose(a, b, 0, 0); }

}  // namespace

int main() try {
  std::string folder = std::filesystem::temp_directory_path() / "tessera-program-XXXXXX";
  if (!::mkdtemp(folder.data())) return 1;

  // Training lowers the loss, and goes on from a checkpoint with the same numbers.
  State state = first_state();
  const Array x = ts::random::normal(ts::random::key(1), {64, 2});
  const Array y = ts::sum(x, {.axis = 1, .keepdims = true});
  auto train = step();
  const float before = loss_of(state.model, x, y).item<float>();
  {
    ts::CheckpointManager manager(folder + "/run", {.max_to_keep = 2});
    for (int k = 1; k <= 20; ++k) {
      auto [next, l] = train(state, x, y);
      state = next;
      if (k % 5 == 0) manager.save(k, state, {.metrics = {{"loss", l.item<float>()}}});
    }
    manager.wait();
    std::cout << "steps kept " << manager.all_steps().size() << "\n";
    std::cout << "restored " << equal(manager.restore(first_state()), state) << "\n";
  }
  std::cout << "learns " << (loss_of(state.model, x, y).item<float>() < before / 2) << "\n";

  // Files.
  ts::save(folder + "/model.safetensors", state.model, {{"by", "0.1"}});
  const nn::MLP loaded = ts::load(folder + "/model.safetensors", first_state().model);
  std::cout << "model " << ts::tree::allclose(loaded, state.model, 0, 0) << "\n";
  ts::save_npz(folder + "/arrays.npz", {{"x", x}, {"y", y}});
  std::cout << "arrays " << ts::array_equal(ts::load_npz(folder + "/arrays.npz").at("y"), y)
            << "\n";
  const std::string text =
      ts::stablehlo_text([](Array v) { return ts::cumsum(2 * v); }, ts::ones(3));
  std::cout << "module " << ts::load_stablehlo_text(text)(ts::array({1.0, 2.0, 3.0}))[0] << "\n";

  // Transformations and control flow.
  auto cube = [](Array v) { return v * v * v; };
  std::cout << "derivatives " << ts::grad(ts::grad(cube))(2.0) << " "
            << ts::vmap(ts::grad(cube))(ts::array({1.0, 2.0})) << "\n";
  auto [value, tangent] = ts::jvp(cube, 2.0, 1.0);
  std::cout << "jvp " << value << " " << tangent << "\n";
  auto [total, sums] = ts::scan([](Array sum, Array v) { return std::pair(sum + v, sum); },
                                ts::zeros({}), ts::arange(4));
  std::cout << "scan " << total << " " << sums << "\n";
  std::cout << "loop "
            << ts::while_loop([](Array v) { return v < 100; }, [](Array v) { return 3 * v; }, 2.0)
            << "\n";
  auto kept = ts::remat([](Array v) { return ts::sum(ts::square(v)); });
  std::cout << "remat " << ts::grad(kept)(ts::array({1.0, 3.0})) << "\n";

  // Arrays.
  const Array a = ts::arange(12).reshape(3, 4);
  std::cout << "index " << a(ts::all, 1) << " " << a[ts::range(1, 3)].shape(0) << " "
            << a.at(0).set(7)[0] << "\n";
  std::cout << "sorted " << ts::sort(-a)[2] << " " << ts::argmax(a, 1) << "\n";
  std::cout << "product " << ts::matmul(a, ts::transpose(a)).shape(1) << " "
            << ts::einsum("ij,ij->i", a, a) << "\n";
  std::cout << "solve "
            << ts::linalg::solve(ts::array({{2.0, 0.0}, {0.0, 4.0}}), ts::array({2.0, 2.0}))
            << "\n";
  std::cout << "fft " << ts::real(ts::fft::fft(ts::array({1.0, 1.0, 1.0, 1.0}))) << "\n";

  // Data and errors.
  ts::data::EpochBatches batches(10, 5, ts::random::key(2));
  std::cout << "batch " << batches.next().indices.size() << "\n";
  try {
    ts::matmul(ts::ones({2, 3}), ts::ones({2, 3}));
  } catch (const ts::ShapeError& e) {
    std::cout << "error " << e.function() << " " << !e.problem().empty() << " " << (e.line() > 0)
              << "\n";
  }
  std::cout << "cache " << (ts::cache_stats().entries > 0) << "\n";
  std::filesystem::remove_all(folder);
} catch (const ts::Error& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
