// Plans a training step of a transformer on 1 to 512 machines of 8 devices, and prints one line of
// JSON for each way to shard it and each number of machines. Nothing is allocated: arguments and
// meshes are abstract. bench/scaling/scaling.py writes docs/scaling.md from the lines.
#include "explain/transformer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

namespace ts = tessera;
using transformer::Sizes;
using ts::Array;
using ts::none;
using ts::P;
using Json = nlohmann::ordered_json;
using Model = transformer::Model<std::vector<transformer::Block>>;
using Dim = ts::PartitionSpec::Dim;

namespace {

// The sequences per device, whatever the number of devices: weak scaling.
constexpr std::int64_t kRows = 4;

// Eight devices share a machine's switch. Machines of a rack have a network card per device.
// Traffic that leaves the rack shares its uplinks.
ts::PlanOptions speeds() {
  ts::PlanOptions options;
  options.links = {{"device", {1e-6, 200e9}}, {"machine", {5e-6, 25e9}}, {"rack", {10e-6, 12.5e9}}};
  options.peak_flops = 1e14;
  options.memory_bandwidth = 2e12;
  options.alternatives = 0;
  return options;
}

struct Size {
  std::int64_t racks, machines;  // `machines`: in a rack
  std::int64_t devices() const { return racks * machines * 8; }
  // All axes of the mesh.
  Dim all() const { return over({"rack", "machine", "device"}); }
  Dim between() const { return over({"rack", "machine"}); }
  ts::Mesh mesh() const {
    std::vector<ts::Mesh::Axis> axes;
    if (racks > 1) axes.push_back({"rack", racks});
    if (machines > 1) axes.push_back({"machine", machines});
    axes.push_back({"device", 8});
    return ts::Mesh::abstract(axes);
  }

 private:
  Dim over(std::vector<std::string> axes) const {
    std::erase_if(axes, [&](const std::string& a) {
      return (a == "rack" && racks == 1) || (a == "machine" && machines == 1);
    });
    return Dim(axes);
  }
};

struct Form {
  std::string name;
  std::vector<ts::PathRule> parameters;
  Dim batch;
  ts::PartitionSpec stream;  // of the activations between layers
};

// Megatron's tensor parallelism over a machine's devices: columns of the first product and rows of
// the second, and the sequences between the products. `rest` shards the other dimensions and
// parameters.
std::vector<ts::PathRule> tensor(const Dim& rest) {
  const ts::PartitionSpec columns = P(rest, "device"), rows = P("device", rest);
  return {{"**/query", columns},  {"**/key", columns}, {"**/value", columns},
          {"**/out", rows},       {"**/up", columns},  {"**/down", rows},
          {"embedding", columns}, {"head", columns},   {"**", P(rest)}};
}

std::vector<Form> forms(const Size& size) {
  const Dim all = size.all(), between = size.between();
  return {{"data parallel", {{"**", P()}}, all, P(all)},
          {"fully sharded", {{"embedding", P(none, all)}, {"**", P(all)}}, all, P(all)},
          {"tensor inside, data between", tensor(none), between, P(between, "device")},
          {"tensor inside, fully sharded between", tensor(between), between, P(between, "device")}};
}

auto step_of(const ts::optim::Optimizer& adam, std::int64_t heads, const ts::Sharding& stream) {
  return [=](Model m, ts::optim::State state, Array ids, Array labels) {
    const auto layer = [heads](transformer::Block b, Array x) {
      return transformer::apply(b, x, heads);
    };
    const auto loss = [&](const Model& p) {
      Array x = ts::with_sharding_constraint(ts::take(p.embedding, ids, 0), stream);
      for (const transformer::Block& b : p.blocks)
        x = ts::with_sharding_constraint(ts::remat(layer)(b, x), stream);
      return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(
          ts::dot(transformer::normed(x, p.norm), p.head), labels));
    };
    auto [value, g] = ts::value_and_grad(loss)(m);
    auto [updates, next] = adam.update(g, state, m);
    return std::tuple(ts::optim::apply_updates(m, updates), next, value);
  };
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The bytes of the arguments whose names begin with `prefix`.
std::int64_t bytes_of(const ts::Plan& plan, const std::string& prefix) {
  std::int64_t sum = 0;
  for (const ts::PlannedEnd& e : plan.arguments)
    if (e.name.rfind(prefix, 0) == 0) sum += e.bytes;
  return sum;
}

Json planned(const Form& form, const Size& size, Sizes s, const ts::PlanOptions& options) {
  s.batch = kRows * size.devices();
  const Model m = transformer::written_out(s);
  const ts::optim::Optimizer adam = ts::optim::adam(1e-4);
  const auto state = ts::eval_shape([&](Model p) { return adam.init(p); }, m);
  const ts::SpecTree of_model = ts::specs(m, form.parameters);
  const ts::PartitionSpec rows = P(form.batch);
  const ts::Mesh mesh = size.mesh();
  const auto step = ts::jit(step_of(adam, s.heads, ts::Sharding(mesh, form.stream)),
                            {.mesh = mesh,
                             .in_shardings = {of_model, ts::unconstrained, rows, rows},
                             .out_shardings = {of_model, ts::unconstrained, P()},
                             .donate = {0, 1},
                             .name = form.name});
  const double begin = now();
  const auto lowered = step.lower(m, state, transformer::ids(s), transformer::ids(s));
  const ts::Plan plan = lowered.plan(options);
  const double seconds = now() - begin;
  const std::string program = lowered.partitioned();
  Json j{{"form", form.name},
         {"devices", plan.devices},
         {"seconds", plan.seconds()},
         {"work", plan.compute_seconds},
         {"flops", plan.flops},
         {"parameters", bytes_of(plan, "args[0]")},
         {"state", bytes_of(plan, "args[1]")},
         {"arguments", plan.argument_bytes},
         {"temporaries", plan.temporary_bytes},
         {"donated", plan.donated_bytes},
         {"peak", plan.peak_bytes()},
         {"collectives", plan.collectives.size()},
         {"lines", std::count(program.begin(), program.end(), '\n')},
         {"json", to_json(plan).size()},
         {"planning", seconds}};
  for (const ts::PlannedAxis& a : plan.axes)
    j["along"][a.name] = {{"size", a.size},
                          {"seconds", a.seconds},
                          {"bytes", a.moved_bytes},
                          {"latency", a.link.latency},
                          {"bandwidth", a.link.bandwidth}};
  return j;
}

}  // namespace

int main(int count, char** words) {
  Sizes s;
  if (count > 1) s.layers = std::atoll(words[1]);
  ts::PlanOptions options = speeds();
  options.memory = count <= 2 || std::string(words[2]) != "bare";
  for (const Size& size : {Size{1, 1}, Size{1, 8}, Size{1, 64}, Size{8, 64}})
    for (const Form& form : forms(size))
      std::cout << planned(form, size, s, options).dump() << std::endl;
}
