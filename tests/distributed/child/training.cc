// Training steps with several specs, and programs that contain host code.
#include "child.h"

#include "explain/transformer.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace child {
namespace {

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

// Layers so large that the exchange for one overlaps the work of another.
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

// The number of phases of collectives that start early.
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

// Profiles some steps in all processes.
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

// Process 1 does not make the second call; the other process finds out while it works.
void leave_beside() {
  const ts::Mesh mesh({{"data", kDevices}});
  const Array x = batch_of(mesh);
  const Deep deep(mesh, P());
  const auto step = Deep::step(mesh);
  show("before", step(deep.layers, x).first);
  if (ts::process_index() != 1) step(deep.layers, x).first.block_until_ready();
}

// Programs that contain host code or custom rules are one program in all processes.
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
    return ts::remat(body, {.policy = ts::policies::dots_saveable()})(v);
  };
  const auto along = [](auto f) { return ts::pmap(f, {.axis_name = "i"}); };
  show("rules", along([&](Array v) { return ts::pmean(loss(v), "i"); })(x));
  show("their gradients", along([&](Array v) {
         return ts::pmean(ts::grad([&](Array u) { return loss(u); })(v), "i");
       })(x));
}

// Steps of a transformer with replicated parameters, fully sharded, with tensor parallelism, and
// with both.
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

// Values that one iteration of a loop leaves for the next are equal on all devices. Equations that
// run once read them, also in a process without the first device.
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

}  // namespace

Modes training_modes() {
  return {{"steps", steps},
          {"beside", beside},
          {"beside_plans", beside_plans},
          {"leave_beside", leave_beside},
          {"transformers", transformers},
          {"hooks", hooks},
          {"scans", scans},
          {"profile", profile}};
}

}  // namespace child
