// What processes_test.cc starts in one process and in several: each mode prints what it computes,
// every bit of it, in process 0.
#include <tessera/tessera.h>

#include "plan/transformer.h"

#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

constexpr int kDevices = 8, kManyDevices = 24;

// The bits of a value, on however many devices of however many processes it lies.
void show(const std::string& name, const Array& x) {
  const Array whole = x.sharding().devices().size() > 1 ? ts::process_allgather(x) : x;
  if (ts::process_index() != 0) return;
  std::printf("%s %s", name.c_str(), to_string(whole.shape()).c_str());
  for (const float v : whole.astype(ts::f32).to_vector<float>()) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    std::printf(" %08x", bits);
  }
  std::printf("\n");
}

Array draw(std::int64_t seed, const ts::Shape& shape) {
  return ts::random::normal(ts::random::key(seed), shape);
}

// A function of one device's row, over the axis "i".
using Body = Array (*)(Array);
const std::map<std::string, Body>& bodies() {
  static const std::map<std::string, Body> all{
      {"psum", [](Array v) { return v + ts::psum(v * v, "i"); }},
      {"pmax", [](Array v) { return ts::pmax(v, "i") - ts::pmin(v, "i"); }},
      {"pmean", [](Array v) { return v - ts::pmean(v, "i"); }},
      {"psum_scatter", [](Array v) { return v + ts::psum_scatter(v, "i") * 3; }},
      {"all_gather", [](Array v) { return ts::sum(ts::all_gather(v, "i") * v, 1); }},
      {"all_to_all", [](Array v) { return ts::all_to_all(v, "i", 0, 0); }},
      {"ppermute",
       [](Array v) {
         std::vector<std::pair<std::int64_t, std::int64_t>> ring;
         for (std::int64_t d = 0; d + 1 < kDevices; ++d) ring.emplace_back(d, d + 1);
         return v + ts::ppermute(v, "i", ring);
       }},
      {"axis_index", [](Array v) { return v * (1.0f + ts::axis_index("i").astype(ts::f32)); }},
      {"loop",
       [](Array v) {
         return ts::fori_loop(
             0, 5, [](Array, Array c) { return c * 0.5f + ts::pmean(ts::sin(c), "i"); }, v);
       }},
      {"ring",  // what communication gives is the body's result as it is
       [](Array v) {
         std::vector<std::pair<std::int64_t, std::int64_t>> ring;
         for (std::int64_t d = 0; d < kDevices; ++d) ring.emplace_back(d, (d + 1) % kDevices);
         return ts::fori_loop(
             0, 3, [&](Array, Array c) { return ts::ppermute(c, "i", ring); }, v);
       }},
      {"branch",
       [](Array v) {
         return ts::cond(
             ts::psum(ts::sum(v), "i") < 100, [](Array u) { return ts::psum(ts::sin(u), "i"); },
             [](Array u) { return u; }, v);
       }},
      {"draws",
       [](Array v) {
         return v + ts::random::normal(ts::random::fold_in(ts::random::key(3), ts::axis_index("i")),
                                       v.shape());
       }},
  };
  return all;
}

void maps() {
  const Array x = draw(0, {kDevices, 8});
  for (const auto& [name, body] : bodies()) {
    const auto f = ts::pmap(body, {.axis_name = "i"});
    show(name.c_str(), f(x));
    show(name + " in jit", ts::jit([&](Array x) { return f(ts::sin(x)) * 2; })(x));
    show(name + ", summed", ts::jit([&](Array x) { return ts::sum(f(x), 0); })(x));
    if (name == "pmax") continue;  // it has no derivative
    show(name + ", gradient", ts::grad([&](Array x) { return ts::sum(ts::cos(f(x))); })(x));
  }
}

struct Layer {
  Array w, b;
};
void steps() {
  const std::map<std::string, ts::Mesh> meshes{
      {"data", ts::Mesh({{"data", 8}})},
      {"data and model", ts::Mesh({{"data", 4}, {"model", 2}})},
      {"model and data", ts::Mesh({{"model", 2}, {"data", 4}})},
  };
  const Array x = draw(1, {64, 16}), y = draw(2, {64, 16});
  for (const auto& [name, mesh] : meshes)
    for (const auto& [kind, weights] : std::map<std::string, ts::PartitionSpec>{
             {"replicated", P()},
             {"sharded", P("data")},
             {"by columns", name == "data" ? P(ts::none, "data") : P(ts::none, "model")}}) {
      const ts::SpecTree specs(weights);
      Layer layer{draw(4, {16, 16}) * 0.25f, ts::zeros({16})};
      layer.w = ts::device_put(layer.w, mesh, weights);
      layer.b = ts::device_put(layer.b, mesh, P());
      const auto step = ts::jit(
          [](Layer l, Array x, Array y) {
            const auto loss = [&](Layer l) {
              return ts::mean(ts::square(ts::tanh(ts::matmul(x, l.w) + l.b) - y));
            };
            const auto [value, g] = ts::value_and_grad(loss)(l);
            return std::pair(value, Layer{l.w - 0.1f * g.w, l.b - 0.1f * g.b});
          },
          {.mesh = mesh});
      const Array a = ts::device_put(x, mesh, P("data")), b = ts::device_put(y, mesh, P("data"));
      Array loss;
      for (int t = 0; t < 5; ++t) std::tie(loss, layer) = step(layer, a, b);
      show(name + ", " + kind + ": loss", loss);
      show(name + ", " + kind + ": weights", layer.w);
    }
}

void arrays() {
  const ts::Mesh mesh({{"x", 4}, {"y", 2}});
  const Array x = draw(5, {8, 16});
  const Array a = ts::device_put(x, mesh, P("x", "y"));
  show("placed", a);
  show("a + a", a + a);
  show("a.T", ts::transpose(a));
  show("row sums", ts::sum(a, 1));
  show("all", ts::sum(a));
  show("a[3]", a[3]);
  show("sorted", ts::sort(a, 0));
  show("cumsum", ts::cumsum(a, 0));
  show("product", ts::matmul(a, ts::transpose(a)));
  const auto other =
      ts::jit([](Array x) { return x; }, {.mesh = mesh, .out_shardings = P("y", "x")});
  show("moved", other(a));
  show("from a callback", ts::make_array_from_callback(
                              {8, 16}, ts::Sharding(mesh, P("x")),
                              [&](const std::vector<ts::Range>& r) { return x(r[0], r[1]) * 2; }));
}

const Array& rows() {
  static const Array all = ts::ones({kDevices, 4});
  return all;
}
std::vector<ts::Device> devices_of(const std::vector<int>& ids) {
  std::vector<ts::Device> all;
  for (const int id : ids) all.push_back({id});
  return all;
}
// Meshes whose places are not in the order of the devices: what a process has of them is no block.
void meshes() {
  const Array x = draw(6, {24, 8});
  for (const auto& [name, mesh] : std::map<std::string, ts::Mesh>{
           {"reversed", ts::Mesh({{"a", 8}}, devices_of({7, 6, 5, 4, 3, 2, 1, 0}))},
           {"shuffled", ts::Mesh({{"a", 4}, {"b", 2}}, devices_of({3, 6, 0, 5, 7, 1, 4, 2}))},
           {"columns", ts::Mesh({{"a", 2}, {"b", 4}}, devices_of({0, 2, 4, 6, 1, 3, 5, 7}))}}) {
    const bool two = mesh.axis_names().size() == 2;
    const Array a = ts::device_put(x, mesh, two ? P("a", "b") : P("a"));
    show(name + ": placed", a);
    show(name + ": sums", ts::sum(a, 1));
    show(name + ": product", ts::matmul(a, ts::transpose(a)));
    show(name + ": row", a[5]);
    const auto gradient = ts::jit(
        [](Array x) {
          return ts::grad(
              [](Array x) { return ts::sum(ts::tanh(ts::matmul(x, ts::transpose(x)))); })(x);
        },
        {.mesh = mesh});
    show(name + ": gradient", gradient(a));
    const auto loop = ts::jit(
        [](Array x) {
          return ts::fori_loop(
              0, 3, [](Array, Array c) { return c - ts::mean(c, 0, true) * 0.5f; }, x);
        },
        {.mesh = mesh, .out_shardings = P()});
    show(name + ": loop", loop(a));
  }
}
// The bits of a large value, told by a sum of them that knows their places.
void show_large(const std::string& name, const Array& x) {
  const Array whole = x.sharding().devices().size() > 1 ? ts::process_allgather(x) : x;
  if (ts::process_index() != 0) return;
  std::uint64_t h = 14695981039346656037u;
  for (const float v : whole.astype(ts::f32).to_vector<float>()) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    h = (h ^ bits) * 1099511628211u;
  }
  std::printf("%s %s %016llx\n", name.c_str(), to_string(whole.shape()).c_str(),
              static_cast<unsigned long long>(h));
}
// Layers so large that what processes exchange for one has another one's work beside it.
struct Deep {
  std::vector<Array> layers;

  Deep(const ts::Mesh& mesh, const ts::PartitionSpec& spec) {
    for (int k = 0; k < 5; ++k)
      layers.push_back(ts::device_put(draw(30 + k, {kWidth, kWidth}) * 0.05f, mesh, spec));
  }
  static Array loss(const std::vector<Array>& layers, const Array& x) {
    Array h = x;
    for (const Array& w : layers) h = h + ts::tanh(ts::matmul(h, w));
    return ts::mean(ts::square(h));
  }
  static auto step(const ts::Mesh& mesh) {
    return ts::jit(
        [](const std::vector<Array>& layers, const Array& x) {
          const auto [value, g] =
              ts::value_and_grad([&](const std::vector<Array>& l) { return loss(l, x); })(layers);
          return std::pair(
              value, ts::tree::map([](Array w, Array dw) { return w - 0.1f * dw; }, layers, g));
        },
        {.mesh = mesh});
  }
  static constexpr std::int64_t kWidth = 384;
};
Array batch_of(const ts::Mesh& mesh) {
  return ts::device_put(draw(29, {128, Deep::kWidth}), mesh, P("data"));
}
const std::map<std::string, ts::PartitionSpec>& deep_specs() {
  static const std::map<std::string, ts::PartitionSpec> all{{"replicated", P()},
                                                            {"sharded", P("data")}};
  return all;
}
void beside() {
  const ts::Mesh mesh({{"data", kDevices}});
  const Array x = batch_of(mesh);
  for (const auto& [name, spec] : deep_specs()) {
    Deep deep(mesh, spec);
    const auto step = Deep::step(mesh);
    for (int t = 0; t < 3; ++t) {
      Array loss;
      std::tie(loss, deep.layers) = step(deep.layers, x);
      show(name + ": loss", loss);
    }
    for (const Array& w : deep.layers) show_large(name + ": weights", w);
  }
}
// How many of the phases of collectives begin before their turn.
void beside_plans() {
  const ts::Mesh mesh({{"data", kDevices}});
  const Array x = batch_of(mesh);
  for (const auto& [name, spec] : deep_specs()) {
    const std::string plan = Deep::step(mesh).lower(Deep(mesh, spec).layers, x).schedule();
    const auto times = [&](const std::string& text) {
      int n = 0;
      for (std::size_t at = 0; (at = plan.find(text, at)) != std::string::npos; ++at) ++n;
      return n;
    };
    if (ts::process_index() == 0)
      std::printf("%s: %d of %d\n", name.c_str(), times(" begins\n"), times(": collectives\n"));
  }
}
// Some steps in a trace of all processes.
void profile() {
  const ts::Mesh mesh({{"data", kDevices}});
  const Array x = batch_of(mesh);
  Deep deep(mesh, P("data"));
  const auto step = Deep::step(mesh);
  deep.layers = step(deep.layers, x).second;
  ts::block_until_ready(deep.layers);
  ts::Profile trace = ts::profile(std::getenv("TRACE_FILE"));
  for (int t = 0; t < 40; ++t) deep.layers = step(deep.layers, x).second;
  ts::block_until_ready(deep.layers);
  trace.finish();
}
// Others find out beside work of theirs.
void leave_beside() {
  const ts::Mesh mesh({{"data", kDevices}});
  const Array x = batch_of(mesh);
  const Deep deep(mesh, P());
  const auto step = Deep::step(mesh);
  show("before", step(deep.layers, x).first);
  if (ts::process_index() != 1) step(deep.layers, x).first.block_until_ready();
}
// What holds code of the host or rules of the program's own is one program in all processes.
void hooks() {
  const Array x = draw(50, {kDevices, 8});
  std::atomic<int> printed{0};
  ts::debug::set_print_handler([&](const ts::debug::Printed&) { ++printed; });
  const auto prints = ts::pmap(
      [](Array v) {
        const Array all = ts::psum(v, "i");
        ts::debug::print("{} of {}", ts::axis_index("i"), all);
        return v * all;
      },
      {.axis_name = "i"});
  show("prints", prints(x));
  show("and again", prints(x + 1));
  const Array times = ts::process_allgather(Array(static_cast<std::int32_t>(printed.load())));
  show("printed", ts::sum(times));
  ts::debug::set_print_handler({});
  const auto sine = ts::custom_vjp([](Array v) { return ts::sin(v); },
                                   [](Array v) { return std::pair(ts::sin(v), ts::cos(v)); },
                                   [](Array c, Array g) { return g * c * 2; });
  const auto softplus = ts::custom_jvp(
      [](Array v) { return ts::log1p(ts::exp(v)); },
      [](Array v, Array t) { return std::pair(ts::log1p(ts::exp(v)), t / (1 + ts::exp(-v))); });
  const auto loss = [&](Array v) {
    const auto body = [&](Array u) {
      const Array w = ts::psum(sine(u) * softplus(u), "i");
      ts::debug::check(w);
      return ts::sum(w * u);
    };
    return ts::checkpoint(body, {.policy = ts::policies::dots_saveable()})(v);
  };
  const auto along = [](auto f) { return ts::pmap(f, {.axis_name = "i"}); };
  show("rules", along([&](Array v) { return ts::pmean(loss(v), "i"); })(x));
  show("their gradients", along([&](Array v) {
         return ts::pmean(ts::grad([&](Array u) { return loss(u); })(v), "i");
       })(x));
}
// Steps of a transformer: parameters whole, cut over all devices, as Megatron cuts them, and both.
void transformers() {
  using Model = transformer::Model<transformer::Block>;
  const transformer::Sizes s{
      .layers = 2, .width = 16, .heads = 4, .sequence = 8, .batch = 16, .vocabulary = 32};
  const Model sizes = transformer::scanned(s);
  std::int64_t seed = 40;
  const Model first =
      ts::tree::map([&](Array leaf) { return draw(seed++, leaf.shape()) * 0.1f + 0.2f; }, sizes);
  const auto tokens = [&](std::int64_t key) {
    return ts::random::randint(ts::random::key(key), {s.batch, s.sequence}, 0, s.vocabulary);
  };
  const ts::Mesh mesh({{"data", 4}, {"model", 2}});
  const ts::PartitionSpec::Dim all{"data", "model"};
  const ts::SpecTree fully = ts::specs(
      sizes, {{"blocks/norm*", P(ts::none, all)}, {"blocks/**", P(ts::none, all)}, {"**", P(all)}});
  const ts::SpecTree both = ts::specs(sizes, {{"**/query", P(ts::none, "data", "model")},
                                              {"**/key", P(ts::none, "data", "model")},
                                              {"**/value", P(ts::none, "data", "model")},
                                              {"**/out", P(ts::none, "model", "data")},
                                              {"**/up", P(ts::none, "data", "model")},
                                              {"**/down", P(ts::none, "model", "data")},
                                              {"embedding", P("data", "model")},
                                              {"head", P("data", "model")},
                                              {"**", P()}});
  struct Form {
    const char* name;
    ts::SpecTree specs;
    ts::PartitionSpec rows;
  };
  for (const Form& f :
       {Form{"whole", P(), P(all)}, Form{"fully sharded", fully, P(all)},
        Form{"tensor", transformer::specs(sizes), P("data")}, Form{"both", both, P("data")}}) {
    const auto step = ts::jit(
        transformer::step_of<transformer::Block>(s.heads),
        {.mesh = mesh, .in_shardings = {f.specs, f.rows, f.rows}, .out_shardings = {f.specs, P()}});
    Model m = first;
    for (int t = 0; t < 3; ++t) {
      Array loss;
      std::tie(m, loss) = step(m, tokens(60 + t), tokens(70 + t));
      show(std::string(f.name) + ": loss", loss);
    }
    int leaf = 0;
    for (const Array& x : ts::tree::leaves(m))
      show_large(std::string(f.name) + ": leaf " + std::to_string(leaf++), x);
  }
}
// What one turn of a loop leaves for another is equal on all devices, and read by what runs once: of
// a process that has not the first device, too.
void scans() {
  struct Block {
    Array w, b;
  };
  for (const ts::Mesh& mesh :
       {ts::Mesh({{"data", 8}}), ts::Mesh({{"data", 8}}, devices_of({3, 6, 0, 5, 7, 1, 4, 2})),
        ts::Mesh({{"model", 2}, {"data", 4}})}) {
    Block blocks{draw(20, {3, 8, 8}) * 0.25f, ts::zeros({3, 8})};
    const Array x = draw(21, {64, 8});
    const auto loss = ts::shard_map(
        [](const Block& blocks, Array x) {
          const auto next = [](Array h, const Block& p) {
            return std::pair(h + ts::tanh(ts::dot(h, p.w) + p.b), std::tuple<>());
          };
          return ts::pmean(ts::mean(ts::square(ts::scan(next, x, blocks).first)), "data");
        },
        {.mesh = mesh, .in_specs = {P(), P("data")}, .out_specs = P()});
    const auto gradient = ts::jit(ts::value_and_grad(loss));
    const auto update = ts::jit([](const Block& p, const Block& g) {
      return ts::tree::map([](Array x, Array dx) { return x - 0.1f * dx; }, p, g);
    });
    for (int step = 0; step < 3; ++step) {
      const auto [value, g] = gradient(blocks, x);
      blocks = update(blocks, g);
      const std::string of = " of step " + std::to_string(step) + ", " + to_string(mesh);
      show("loss" + of, value);
      show("gradient" + of, g.w);
      show("bias" + of, blocks.b);
    }
  }
}
// Operands of more than is exchanged at once, in pieces and parts that are not of one size.
void large() {
  for (const ts::DType dtype : {ts::f32, ts::f16, ts::i32}) {
    const Array x = (draw(7, {kDevices, 211, 997}) * 1000).astype(dtype);
    const std::string of = " of " + std::string(name_of(dtype));
    for (const char* name : {"psum", "pmax", "all_gather", "all_to_all", "ppermute"})
      if (dtype != ts::i32 || name != std::string("all_to_all"))
        show_large(name + of, ts::pmap(
                                  [&](Array v) {
                                    if (name == std::string("psum")) return ts::psum(v, "i");
                                    if (name == std::string("pmax")) return ts::pmax(v, "i");
                                    if (name == std::string("all_gather"))
                                      return ts::sum(ts::all_gather(v, "i") * v, 0);
                                    if (name == std::string("ppermute"))
                                      return ts::ppermute(v, "i", {{0, 7}, {3, 1}, {6, 2}});
                                    const Array u = v(ts::range(0, 208));
                                    return ts::all_to_all(u, "i", 0, 0, {.tiled = true});
                                  },
                                  {.axis_name = "i"})(x));
  }
  const ts::Mesh mesh({{"data", 2}, {"model", 4}}), turned({{"model", 4}, {"data", 2}});
  const Array x = draw(8, {2, 4, 150001});
  for (const ts::Mesh& m : {mesh, turned}) {
    const std::string of = ", " + to_string(m);
    const Array a = ts::device_put(x, m, P("data", "model"));
    show_large("sums over one axis" + of,
               ts::jit([](Array v) { return ts::sum(v, 0); }, {.mesh = m})(a));
    show_large("sums over the other" + of,
               ts::jit([](Array v) { return ts::sum(v, 1); }, {.mesh = m})(a));
    show_large(
        "in a loop" + of,
        ts::shard_map(
            [](Array v) {
              return ts::fori_loop(
                  0, 3,
                  [](Array, Array c) {
                    return c * 0.5f +
                           ts::pmean(ts::sin(c), std::vector<std::string>{"data", "model"});
                  },
                  v);
            },
            {.mesh = m, .in_specs = {P("data", "model")}, .out_specs = P("data", "model")})(a));
  }
}
// Of combinations a process lays out what its own operands come to: 12, 6, 3 and 1 of 24, of groups
// fewer, and of groups that are not alike, or whose members alternate, each operand.
void sums() {
  const std::map<std::string, ts::AxisGroups> grouped{
      {"all", {}},
      {"thirds",
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {8, 9, 10, 11, 12, 13, 14, 15},
        {16, 17, 18, 19, 20, 21, 22, 23}}},
      {"turned",
       {{0, 1, 12, 13},
        {3, 2, 22, 23},
        {5, 4, 15, 14},
        {7, 6, 17, 16},
        {9, 8, 19, 18},
        {11, 10, 21, 20}}},
      {"by turns",
       {{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}, {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}}},
      {"not alike",
       {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, {18, 19, 20, 21, 22, 23}}},
  };
  // What float32 does not hold of a double is shown beside it.
  const auto show_all = [](const std::string& name, const Array& x) {
    const Array high = x.astype(ts::f32);
    show_large(name, high);
    if (x.dtype() == ts::f64)
      show_large(name + ", the rest", (x - high.astype(ts::f64)).astype(ts::f32));
  };
  for (const ts::DType dtype : {ts::f32, ts::f64, ts::f16, ts::bf16, ts::i32, ts::u8}) {
    const Array drawn = draw(10, {kManyDevices, 24, 7}) * 5;
    const Array x = (dtype == ts::u8 ? ts::abs(drawn) : drawn).astype(dtype);
    for (const auto& [kind, groups] : grouped) {
      const std::string of = " of " + kind + ", " + std::string(name_of(dtype));
      const auto along = [&](auto f) {
        return ts::pmap([&](Array v) { return f(v); }, {.axis_name = "i"})(x);
      };
      show_all("psum" + of, along([&](Array v) { return ts::psum(v, "i", groups); }));
      show_all("pmax" + of, along([&](Array v) { return ts::pmax(v, "i", groups); }));
      show_all("pmin" + of, along([&](Array v) { return ts::pmin(v, "i", groups); }));
      if (kind == "not alike") continue;
      show_all("psum_scatter" + of, along([&](Array v) {
                 return ts::psum_scatter(v, "i", {.tiled = true, .groups = groups});
               }));
    }
  }
  const ts::Mesh mesh({{"data", 4}, {"model", 6}}), turned({{"model", 6}, {"data", 4}});
  const Array x = draw(11, {4, 6, 40}).astype(ts::bf16);
  for (const ts::Mesh& m : {mesh, turned})
    for (const int axis : {0, 1}) {
      const Array a = ts::device_put(x, m, P("data", "model"));
      show_all("sums over axis " + std::to_string(axis) + ", " + to_string(m),
               ts::jit([&](Array v) { return ts::sum(v, axis); }, {.mesh = m})(a));
    }
}
// Each process gives what it has read.
void local_data() {
  const Array x = draw(9, {16, 24});
  const int me = ts::process_index(), all = ts::process_count();
  const ts::Mesh rows_first({{"data", 8}}), grid({{"data", 2}, {"model", 4}}),
      columns({{"model", 8}});
  const std::int64_t n = 16 / all;
  const Array rows = x(ts::range(me * n, (me + 1) * n));
  show("rows", ts::make_array_from_process_local_data(ts::Sharding(rows_first, P("data")), rows));
  show("rows of a size that is given",
       ts::make_array_from_process_local_data(ts::Sharding(rows_first, P("data")), rows,
                                              ts::Shape{16, 24}));
  show("all of it", ts::make_array_from_process_local_data(ts::Sharding(rows_first, P("data")), x,
                                                           ts::Shape{16, 24}));
  const std::int64_t m = 24 / all;
  show("columns",
       ts::make_array_from_process_local_data(ts::Sharding(columns, P(ts::none, "model")),
                                              x(ts::all, ts::range(me * m, (me + 1) * m))));
  const std::int64_t r = std::min(all, 2), c = all / r;  // of a grid: blocks of rows and columns
  show("blocks", ts::make_array_from_process_local_data(
                     ts::Sharding(grid, P("data", "model")),
                     x(ts::range(me / c * 16 / r, (me / c + 1) * 16 / r),
                       ts::range(me % c * 24 / c, (me % c + 1) * 24 / c))));
  show("replicated", ts::make_array_from_process_local_data(
                         ts::Sharding(grid, P(ts::none, "model")),
                         x(ts::all, ts::range(me % c * 24 / c, (me % c + 1) * 24 / c))));
}

// A set of which each process reads its own examples: the same batches in the same order.
void data_set() {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tessera_set_" + std::string(std::getenv("SET_NUMBER")));
  if (ts::process_index() == 0) {
    std::vector<char> bytes{0, 0, 8, 2, 0, 0, 0, 40, 0, 0, 0, 6};
    for (int i = 0; i < 240; ++i) bytes.push_back(static_cast<char>(i));
    std::FILE* f = std::fopen(path.c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), f);
    std::fclose(f);
  }
  ts::distributed::barrier();
  const ts::data::IdxFile file(path.string());
  ts::distributed::barrier();
  if (ts::process_index() == 0) std::filesystem::remove(path);
  const ts::Mesh mesh({{"data", 4}, {"model", 2}});
  const ts::Sharding sharding(mesh, P("data"));
  for (const ts::data::BatchIndices& batch :
       ts::data::batches(file.shape()[0], 16, ts::random::key(1))) {
    const std::vector<std::int32_t> own = ts::data::process_part(batch.indices, sharding);
    const Array x = ts::make_array_from_process_local_data(sharding, file.rows(own));
    show("batch", x);
    show("its columns", ts::sum(x.astype(ts::f32), 0));
  }
}

// Before anything was exchanged that has elements; and what is no number, or at the limits.
void odd_ones() {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> odd{0.f,    -0.f, inf,  -inf, std::nanf(""), 3e38f, -3e38f,
                               1e-45f, 1.f,  -1.f, 7.f};
  for (const std::int64_t n : {0, 1, 37}) {
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < kDevices * n; ++i)
      numbers.push_back(odd[static_cast<std::size_t>(i * 7 + i / 5) % odd.size()]);
    const Array x = Array(numbers).reshape(kDevices, n);
    for (const ts::DType d : {ts::f32, ts::bf16, ts::f64}) {
      const auto along = [&](Body f) { return ts::pmap(f, {.axis_name = "i"})(x.astype(d)); };
      const std::string of = " of " + std::to_string(n) + " " + std::string(name_of(d));
      // Which NaN it is is not told.
      const auto told = [&](const char* name, const Array& y) {
        show(name + of, ts::where(ts::isnan(y), ts::zeros_like(y) + 99, y));
      };
      told("psum", along([](Array v) { return ts::psum(v, "i"); }));
      told("signs", along([](Array v) { return 1 / ts::psum(v, "i"); }));
      told("pmax", along([](Array v) { return ts::pmax(v, "i"); }));
      told("pmin", along([](Array v) { return ts::pmin(v, "i"); }));
      told("all_gather", along([](Array v) { return ts::all_gather(v, "i"); }));
    }
  }
  for (const ts::DType d : {ts::i8, ts::u8, ts::i16, ts::i32, ts::u32, ts::i64, ts::u64}) {
    const Array x = ts::stack({ts::full({kDevices}, 127, d), ts::full({kDevices}, 3, d)}, 1);
    show("integers " + std::string(name_of(d)),
         ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"})(x));
  }
}
// Stages take ways of their own, in which their devices communicate.
void ways() {
  for (const ts::Mesh& mesh :
       {ts::Mesh({{"stage", 2}, {"model", 4}}), ts::Mesh({{"stage", 4}, {"model", 2}}),
        ts::Mesh({{"model", 4}, {"stage", 2}}),
        ts::Mesh({{"stage", 2}, {"model", 2}}, devices_of({2, 3, 4, 5}))}) {
    const std::string of = ", " + to_string(mesh);
    const auto over_all = [&](Body f) {
      return ts::shard_map(
          f, {.mesh = mesh, .in_specs = {P("stage", "model")}, .out_specs = P("stage", "model")});
    };
    const auto branches = over_all([](Array v) {
      return ts::cond(
          ts::axis_index("stage") == 0, [](Array u) { return ts::psum(u, "model") + u; },
          [](Array u) { return ts::pmax(u * 2, "model") - u; }, v);
    });
    const Array x = draw(22, {4, 8});
    show("ways" + of, branches(x));
    show("ways in jit" + of, ts::jit([&](Array x) { return branches(ts::sin(x)) * 2; })(x));
    // As many turns as the stage's number, and some more.
    const auto loops = over_all([](Array v) {
      return ts::while_loop(
                 [](std::pair<Array, Array> c) {
                   return c.first < 2 + 3 * ts::axis_index("stage");
                 },
                 [](std::pair<Array, Array> c) {
                   return std::pair(c.first + 1,
                                    c.second * 0.5f + ts::pmean(ts::sin(c.second), "model"));
                 },
                 std::pair(Array(0), v))
          .second;
    });
    show("turns" + of, loops(x));
    const auto nested = over_all([](Array v) {
      return ts::cond(
          ts::axis_index("stage") % 2 == 1,
          [](Array u) {
            return ts::fori_loop(
                0, 3, [](Array, Array c) { return c - ts::pmean(c, "model") * 0.25f; }, u);
          },
          [](Array u) {
            return ts::cond(
                ts::psum(ts::sum(u), "model") > 0,
                [](Array w) { return ts::all_gather(w, "model")[0] + w; },
                [](Array w) { return ts::psum(w * w, "model"); }, u);
          },
          v);
    });
    show("nested" + of, nested(x));
    show("gradient" + of, ts::grad([&](Array x) { return ts::sum(ts::sin(nested(x))); })(x));
    show_large("large" + of, branches(draw(24, {4, 100003 * 8})));
  }
}
// Of four processes the two in the middle have devices of the first mesh, three of the second.
void some() {
  const Array x = draw(25, {12, 6});
  const std::vector<ts::Mesh> meshes{
      ts::Mesh({{"a", 4}}, devices_of({2, 3, 4, 5})), ts::Mesh({{"a", 3}}, devices_of({6, 1, 3})),
      ts::Mesh({{"a", 2}, {"b", 3}}, devices_of({7, 5, 4, 1, 2, 3})), ts::Mesh({{"a", 8}}),
      ts::Mesh({{"a", 2}}, devices_of({0, 1}))};
  for (int turn = 0; turn < 2; ++turn)
    for (const ts::Mesh& mesh : meshes) {
      const std::string of = ", " + to_string(mesh) + " in turn " + std::to_string(turn);
      const bool two = mesh.axis_names().size() == 2;
      const Array y = mesh.size() == 8 ? draw(26, {24, 6}) : x;
      const Array a = ts::device_put(y * (turn + 1), mesh, two ? P("a", "b") : P("a"));
      show("placed" + of, a);
      show("a sine of it" + of, ts::sin(a) + 1);
      const Array whole = ts::jit([](Array v) { return ts::sum(ts::cos(v)); }, {.mesh = mesh})(a);
      show("their sum" + of, whole);
      show("and more" + of, whole * 2 + 1);
      show("again" + of, a * whole);
      show("product" + of, ts::matmul(a, ts::transpose(a)));
      const auto gradient = ts::jit(
          [](Array x) {
            return ts::grad(
                [](Array x) { return ts::sum(ts::tanh(ts::matmul(x, ts::transpose(x)))); })(x);
          },
          {.mesh = mesh});
      show("gradient" + of, gradient(a));
      const auto halves = ts::shard_map(
          [](Array v) {  // as often as what they have together asks for
            return ts::while_loop(
                [](Array c) { return ts::psum(ts::sum(c * c), "a") > 1; },
                [](Array c) { return ts::psum_scatter(ts::all_gather(c * 0.0625f, "a"), "a"); }, v);
          },
          {.mesh = mesh, .in_specs = {P("a")}, .out_specs = P("a")});
      if (!two) show("halves" + of, halves(y));
      show_large("large" + of, ts::jit([](Array v) { return ts::sum(ts::sin(v), 0); },
                                       {.mesh = mesh, .out_shardings = P()})(ts::device_put(
                                   draw(27, {mesh.size() == 8 ? 8 : 12, 150001}), mesh, P("a"))));
    }
}
// One mesh has devices of all of four processes, the other one of two.
void two_meshes() {
  const ts::Mesh all({{"a", 8}}), half({{"a", 4}}, devices_of({2, 3, 4, 5}));
  const auto on = [](const ts::Mesh& mesh) {
    return ts::shard_map([](Array v) { return v + ts::psum(v, "a"); },
                         {.mesh = mesh, .in_specs = {P("a")}, .out_specs = P("a")});
  };
  (void)ts::jit([&](Array x) { return on(half)(on(all)(x) * 2); })(draw(28, {8, 4}));
}
// A process has other devices of the one stage than of the other.
void mixed_ways() {
  const ts::Mesh mesh({{"stage", 2}, {"model", 4}}, devices_of({3, 6, 0, 5, 7, 1, 4, 2}));
  const auto f = ts::shard_map(
      [](Array v) {
        return ts::cond(
            ts::axis_index("stage") == 0, [](Array u) { return ts::psum(u, "model") + u; },
            [](Array u) { return ts::pmax(u * 2, "model") - u; }, v);
      },
      {.mesh = mesh, .in_specs = {P("stage", "model")}, .out_specs = P("stage", "model")});
  (void)f(draw(22, {4, 8}));
}
void first_ones() {
  const Array x = ts::ones({2, 4});
  const auto f = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"});
  show("what they have", f(x));
  const Array all = ts::jit([&](Array x) { return ts::sum(f(x)); })(x);
  const Array more = all * 2 + 1;
  if (ts::process_index() == 0) std::printf("more %g\n", more.item<double>());
  std::fflush(stdout);
  ts::distributed::barrier();
  (void)more.item<double>();
}

// Three threads of each process call what all processes run together, each as fast as it can.
void threads() {
  const ts::Mesh mesh({{"i", 8}}), middle({{"i", 4}}, devices_of({2, 3, 4, 5}));
  const Array x = draw(30, {8, 64});
  std::vector<Array> results(3);
  const auto busy = [](int turn) {  // processes are not equally fast
    Array y = ts::ones({16, 16});
    for (int i = 0; i < (turn * 7 + ts::process_index() * 5) % 11; ++i)
      y = ts::matmul(y, y) * 0.01f;
    y.block_until_ready();
  };
  std::vector<std::thread> all;
  all.emplace_back([&] {
    const auto f =
        ts::pmap([](Array v) { return v * 0.5f + ts::pmean(ts::sin(v), "i"); }, {.axis_name = "i"});
    Array v = x;
    for (int t = 0; t < 40; ++t) {
      busy(t);
      v = f(v);
    }
    results[0] = v;
  });
  all.emplace_back([&] {
    const auto f =
        ts::jit([](Array v) { return v - ts::mean(v, 0, true) * 0.25f; }, {.mesh = mesh});
    Array v = ts::device_put(x, mesh, P("i"));
    for (int t = 0; t < 30; ++t) {
      v = f(v);
      busy(t + 3);
    }
    results[1] = v;
  });
  all.emplace_back([&] {
    const auto f = ts::jit([](Array v) { return ts::cos(v) + ts::sum(v); }, {.mesh = middle});
    Array v = ts::device_put(x, middle, P("i")), sums = ts::zeros({8, 64});
    for (int t = 0; t < 10; ++t) {
      v = f(v);
      sums = sums + ts::process_allgather(v);
      ts::distributed::barrier();
    }
    results[2] = sums;
  });
  for (std::thread& t : all) t.join();
  for (int i = 0; i < 3; ++i)
    show("thread " + std::to_string(i), results[static_cast<std::size_t>(i)]);
  const auto last = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"});
  show("and this one", last(x));
}
// A thread begins with a program that another one began with, which lives still.
void like_threads() {
  const auto f = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"});
  show("first", f(rows()));
  std::string text;
  std::thread([&] {
    try {
      f(rows() * 2).block_until_ready();
    } catch (const ts::CollectiveError& e) {
      text = e.what();
    }
  }).join();
  show("and again", f(rows()));
  if (!text.empty()) throw std::runtime_error(text);
}
// One thread after the other, each begins with the same: they are not there together.
void more_threads() {
  const auto f = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"});
  for (int i = 0; i < 3; ++i)
    std::thread([&] { show("turn " + std::to_string(i), f(draw(i, {8, 4}))); }).join();
  show("at last", f(rows()));
}

// What plans know of processes and machines, and what a job measures.
void explain() {
  const ts::Mesh mesh({{"data", 4}, {"model", 2}});
  const auto f = ts::jit([](Array x, Array w) { return ts::sum(ts::matmul(x, w)); },
                         {.mesh = mesh, .in_shardings = {P("data", "model"), P("model")}});
  const ts::Plan plan =
      f.explain(ts::abstract(ts::f32, {4096, 512}), ts::abstract(ts::f32, {512, 256}));
  const std::string text = to_string(plan);
  if (ts::process_index() != 0) return;
  const std::size_t begin = text.find("  communication");
  std::printf("%s", text.substr(begin, text.find("\n\n", begin) + 1 - begin).c_str());
  for (const ts::PlannedAxis& a : plan.axes)
    std::printf("%s: %d processes, %d machines, %g s, %g B/s\n", a.name.c_str(),
                static_cast<int>(a.processes), static_cast<int>(a.machines), a.link.latency,
                a.link.bandwidth);
}
void calibrate() {
  const ts::PlanOptions speeds = ts::calibrate_links(ts::Mesh({{"data", 4}, {"model", 2}}));
  std::printf("process %d:", ts::process_index());
  for (const auto& [axis, link] : speeds.links)
    std::printf(" %s %a %a", axis.c_str(), link.latency, link.bandwidth);
  std::printf(" %a %a\n", speeds.peak_flops, speeds.memory_bandwidth);
}
void table() {
  std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);  // at once: a launcher mixes lines of processes
  const Array x = ts::device_put(ts::zeros({8, 1024}), ts::Mesh({{"i", 8}}), P("i"));
  std::printf("%s", ts::memory_table().c_str());
}

// What one process does otherwise than the others. They say what they were told.
Array mean(const Array& x) {
  return ts::pmap([](Array v) { return ts::pmean(v, "i"); }, {.axis_name = "i"})(x);
}
Array sum(const Array& x) {
  return ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"})(x);
}
void differ() {
  show("before", sum(rows()));
  (ts::process_index() == 1 ? mean(rows()) : sum(rows() * 2)).block_until_ready();
}
// Two threads make calls, which nothing orders: process 1's the other way round.
void race_threads() {
  const auto make = [](bool squares) {
    if (squares) sum(rows()).block_until_ready();
    if (!squares) mean(rows()).block_until_ready();
  };
  show("before", sum(rows()));
  if (ts::process_index() == 1) make(false);
  std::string text;
  std::thread([&] {
    try {
      make(true);
    } catch (const ts::CollectiveError& e) {
      text = e.what();
    }
  }).join();
  if (!text.empty()) throw std::runtime_error(text);
  if (ts::process_index() == 0) make(false);
}
// A body of one process that differs in one equation, an argument's shape, or a parameter.
void differ_within() {
  const bool odd = ts::process_index() == ts::process_count() - 1;
  const auto f = ts::pmap(
      [&](Array v) {
        const Array u = ts::exp(v);
        const Array w = odd ? ts::sin(u)   // on a line of its own
                            : ts::cos(u);  // and this
        return ts::psum(w * w, "i");
      },
      {.axis_name = "i"});
  f(rows()).block_until_ready();
}
void differ_in_shapes() {
  const Array x = ts::ones({kDevices, 4 + ts::process_index()});
  sum(x).block_until_ready();
}
void differ_in_loops() {
  const int turns = 3 + ts::process_index();
  const auto f = ts::pmap(
      [&](Array v) {
        return ts::fori_loop(
            0, turns, [](Array, Array c) { return c + ts::pmean(c, "i"); }, v);
      },
      {.axis_name = "i"});
  f(rows()).block_until_ready();
}
// One process sends, and does not read what the other one has.
void differ_one_way_and_end() {
  const auto f = ts::pmap(
      [&](Array v) {
        if (ts::process_index() == 1) v = v * 3;
        return ts::ppermute(v, "i", {{7, 0}});
      },
      {.axis_name = "i"});
  f(rows()).block_until_ready();
}
void differ_one_way() {
  differ_one_way_and_end();
  sum(rows()).block_until_ready();
}
// An exception that one process alone catches, which goes on with what comes next.
void go_on_alone() {
  show("before", sum(rows()));
  try {
    if (ts::process_index() == 1) throw std::runtime_error("no such file");
    sum(rows()).block_until_ready();
  } catch (const std::runtime_error& e) {
    if (ts::process_index() != 1) throw;
  }
  mean(rows()).block_until_ready();
}
void exhaust() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) (void)ts::zeros({std::int64_t{1} << 50}).block_until_ready();
  sum(rows()).block_until_ready();
}
// A file that ends within its header, where one process reads it.
void bad_file() {
  show("before", sum(rows()));
  const std::string path =
      std::filesystem::temp_directory_path() / ("tessera_bad_" + std::to_string(::getpid()));
  if (ts::process_index() == 1) {
    ts::save_safetensors(path, {{{"w", rows()}}, {}});
    std::filesystem::resize_file(path, 40);
    const struct Removed {
      std::string path;
      ~Removed() { std::filesystem::remove(path); }
    } removed{path};
    (void)ts::load_safetensors(path);
  }
  sum(rows()).block_until_ready();
}
void leave() {
  show("before", sum(rows()));
  if (ts::process_index() != 1) sum(rows()).block_until_ready();
}
void die() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) ::raise(SIGKILL);
  sum(rows()).block_until_ready();
}
void hang() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) ::pause();
  sum(rows()).block_until_ready();
}
// What takes longer than others wait for each other, without any of them: writing a file, perhaps.
void finish_late() {
  show("before", sum(rows()));
  if (ts::process_index() != 0) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2500);
  while (std::chrono::steady_clock::now() < end) (void)ts::ones({64}).block_until_ready();
  std::printf("written\n");
}
void give_up() {
  show("before", sum(rows()));
  if (ts::process_index() == 1) throw std::runtime_error("no such file");
  sum(rows()).block_until_ready();
}
void gather_other_shapes() { (void)ts::process_allgather(ts::ones({3 + ts::process_index()})); }
void come_to_other_calls() {
  if (ts::process_index() == 0)
    ts::distributed::barrier();
  else
    (void)ts::process_allgather(ts::ones({3}));
}
void read_others() {
  const Array x = ts::device_put(draw(0, {8, 2}), ts::Mesh({{"i", 8}}), P("i"));
  (void)x.to_vector<float>();
}
void place_on_others() { (void)ts::device_put(rows(), ts::Device{7 - 4 * ts::process_index()}); }

// What of MPI is in this process once it has computed.
void loaded() {
  const Array x = ts::jit([](Array v) { return ts::sin(v) * 2; })(rows());
  const Array y = ts::pmap([](Array v) { return ts::psum(v, "i"); }, {.axis_name = "i"})(x);
  y.block_until_ready();
  std::set<std::string> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const std::string name = std::filesystem::path(info->dlpi_name).filename();
        if (name.starts_with("libmpi") || name.starts_with("libtessera_mpi"))
          static_cast<std::set<std::string>*>(to)->insert(name.substr(0, name.find('.')));
        return 0;
      },
      &found);
  std::string text = "process " + std::to_string(ts::process_index()) + " of " +
                     std::to_string(ts::process_count()) + ":";
  for (const std::string& name : found) text += " " + name;
  std::puts(text.c_str());
}
void count() {
  std::printf("process %d of %d: devices %s, %d of them mine %s\n", ts::process_index(),
              ts::process_count(), std::to_string(ts::devices().size()).c_str(),
              static_cast<int>(ts::local_device_count()),
              (std::ostringstream() << ts::local_devices()).str().c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, std::function<void()>> modes{
      {"maps", maps},
      {"steps", steps},
      {"arrays", arrays},
      {"count", count},
      {"loaded", loaded},
      {"finish_late", finish_late},
      {"meshes", meshes},
      {"large", large},
      {"sums", sums},
      {"beside", beside},
      {"beside_plans", beside_plans},
      {"leave_beside", leave_beside},
      {"transformers", transformers},
      {"hooks", hooks},
      {"scans", scans},
      {"local_data", local_data},
      {"data_set", data_set},
      {"odd_ones", odd_ones},
      {"ways", ways},
      {"some", some},
      {"two_meshes", two_meshes},
      {"mixed_ways", mixed_ways},
      {"first_ones", first_ones},
      {"threads", threads},
      {"like_threads", like_threads},
      {"more_threads", more_threads},
      {"race", race_threads},
      {"explain", explain},
      {"calibrate", calibrate},
      {"table", table},
      {"differ", differ},
      {"differ_within", differ_within},
      {"differ_in_shapes", differ_in_shapes},
      {"differ_in_loops", differ_in_loops},
      {"differ_one_way", differ_one_way},
      {"differ_one_way_and_end", differ_one_way_and_end},
      {"go_on_alone", go_on_alone},
      {"exhaust", exhaust},
      {"bad_file", bad_file},
      {"profile", profile},
      {"leave", leave},
      {"die", die},
      {"hang", hang},
      {"give_up", give_up},
      {"read", read_others},
      {"other_shapes", gather_other_shapes},
      {"other_calls", come_to_other_calls},
      {"place", place_on_others}};
  if (argc != 2 || !modes.count(argv[1])) return 2;
  // A second only where it is to be over: a busy machine takes longer to come to a collective.
  const std::string mode = argv[1];
  ts::distributed::initialize({.timeout = mode == "hang" || mode == "finish_late" ? 1.0 : 60.0,
                               .several_threads = mode.ends_with("threads")});
  ts::set_device_count(mode == "sums" ? kManyDevices : kDevices);
  modes.at(argv[1])();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "process %d: %s\n", ts::process_index(), e.what());
  return 1;
}
