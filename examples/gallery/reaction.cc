// Reaction and diffusion: two substances make patterns like those of a leopard (Gray and Scott).
// The plate is divided over four devices by rows, which exchange their edges.
#include "lessons/lesson.h"

Array spread(Array u) {  // what flows in from the four neighbours, on a plate without edges
  return ts::roll(u, 1, 0) + ts::roll(u, -1, 0) + ts::roll(u, 1, 1) + ts::roll(u, -1, 1) - 4 * u;
}

int main() {
  ts::set_device_count(4);
  ts::Mesh mesh({{"rows", 4}});
  auto react = ts::jit(
      [](Array u, Array v) {
        return ts::fori_loop(
            0, 4000,
            [](Array, std::pair<Array, Array> uv) {
              auto [u, v] = uv;
              Array reaction = u * v * v;
              return std::pair(u + 0.16 * spread(u) - reaction + 0.035 * (1 - u),
                               v + 0.08 * spread(v) + reaction - 0.1 * v);
            },
            std::pair(u, v));
      },
      {.mesh = mesh, .in_shardings = ts::P("rows"), .out_shardings = ts::P("rows")});

  const int n = 96;
  Array place = ts::random::uniform(ts::random::key(3), {n, n});
  Array seeds = (place > 0.995).astype(ts::f32);
  Array v = ts::minimum(1, seeds + ts::abs(spread(seeds))) * 0.5;
  auto [u, w] = react(1 - v, v);
  save_heatmap("reaction.svg", w, "concentration of the second substance");
  std::cout << "mean concentrations " << ts::mean(u) << " and " << ts::mean(w) << "\n";
}
