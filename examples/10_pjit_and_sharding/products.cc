#include "cells.h"

#include <chrono>

namespace pjit_and_sharding {

namespace {

Array multiply(Array a, Array b) { return ts::dot(a, b); }

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string moves(const ts::Lowered& program) {
  std::string text;
  for (const ts::CollectiveUse& use : program.collectives())
    text += (text.empty() ? "" : "; ") + ts::to_string(use);
  return text.empty() ? "nothing" : text;
}

Meshes make_meshes() {
  const std::int64_t n = ts::device_count();
  // An axis of one device does not partition anything, so programs that name it need no second
  // version.
  return {Mesh({{"x", n}}), n >= 4 ? Mesh({{"data", 2}, {"model", 2}})  // the first four devices
                                   : Mesh({{"data", n}, {"model", 1}})};
}

Product simple_product(const Mesh& line) {
  // Specs refer to the mesh of the scope; other cells name their mesh with .mesh.
  const auto scope = ts::use_mesh(line);
  auto pjit_simple = ts::pjit(multiply, {.in_shardings = {P("x"), P()}, .out_shardings = P("x")});
  Array x = ts::random::normal(ts::random::key(42), {ts::device_count() * 4, std::int64_t{64}});
  Array y = ts::random::normal(ts::random::key(43), {64, 32});
  return {x, y, pjit_simple(x, y), moves(pjit_simple.lower(x, y))};
}

std::vector<Strategy> strategies() {
  return {{"row_sharded", P("x"), P(), P("x")},
          {"col_sharded", P(), P(none, "x"), P(none, "x")},
          {"replicated", P(), P(), P()}};
}

std::vector<Product> matrix_multiply_variants(const Mesh& line) {
  Array a = ts::random::normal(ts::random::key(0), {128, 64});
  Array b = ts::random::normal(ts::random::key(1), {64, 96});
  std::vector<Product> products;
  for (const Strategy& s : strategies()) {
    auto pjit_multiply =
        ts::pjit(multiply, {.mesh = line, .in_shardings = {s.a, s.b}, .out_shardings = s.result});
    products.push_back({a, b, pjit_multiply(a, b), moves(pjit_multiply.lower(a, b))});
  }
  return products;
}

Product product_on_grid(const Mesh& grid) {
  auto pjit_2d = ts::pjit(multiply, {.mesh = grid,
                                     .in_shardings = {P("data", "model"), P("model", none)},
                                     .out_shardings = P("data", none)});
  Array a = ts::random::normal(ts::random::key(30), {256, 256});
  Array b = ts::random::normal(ts::random::key(31), {256, 128});
  return {a, b, pjit_2d(a, b), moves(pjit_2d.lower(a, b))};
}

std::vector<Timing> benchmark_sharding_strategies(const Mesh& line, int trials) {
  Array a = ts::random::normal(ts::random::key(60), {512, 512});
  Array b = ts::random::normal(ts::random::key(61), {512, 512});
  std::vector<Timing> timings;
  for (const Strategy& s : strategies()) {
    auto pjit_multiply =
        ts::pjit(multiply, {.mesh = line, .in_shardings = {s.a, s.b}, .out_shardings = s.result});
    // The document's operands are resharded in every call. Here they are placed before the clock
    // starts, and the first call, which compiles, is waited for.
    Array placed_a = ts::device_put(a, line, s.a), placed_b = ts::device_put(b, line, s.b);
    pjit_multiply(placed_a, placed_b).block_until_ready();
    const double start = seconds();
    for (int i = 0; i < trials; ++i) pjit_multiply(placed_a, placed_b).block_until_ready();
    timings.push_back({s.name, (seconds() - start) / trials});
  }
  return timings;
}

}  // namespace pjit_and_sharding
