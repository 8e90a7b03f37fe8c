// Lesson 8: meshes, shardings, and programs that follow their data.
#include "lessons/lesson.h"

int main() {
  part("mesh");
  ts::set_device_count(8);
  ts::Mesh mesh({{"data", 2}, {"model", 4}});
  std::cout << mesh << "\n";

  part("put");
  Array x = ts::arange(32).reshape(4, 8);
  Array a = ts::device_put(x, mesh, ts::P("data", "model"));
  std::cout << a.sharding() << "\n" << ts::visualize_sharding(a);
  std::cout << "device 5 holds " << a.shards()[5].data[0] << "\n"
            << "               " << a.shards()[5].data[1] << "\n";

  part("picture");
  std::vector<std::pair<std::string, Array>> drawn;
  auto draw = [&](const char* title, ts::PartitionSpec spec) {
    drawn.emplace_back(title, ts::device_put(x, mesh, spec));
  };
  draw("P()", ts::P());
  draw("P('data')", ts::P("data"));
  draw("P(none, 'model')", ts::P(ts::none, "model"));
  draw("P('data', 'model')", ts::P("data", "model"));
  draw("P('model', 'data')", ts::P("model", "data"));
  draw("P(none, {'data', 'model'})", ts::P(ts::none, {"data", "model"}));
  save_shardings("specs.svg", drawn);

  part("follows");
  Array rows = ts::device_put(ts::ones({4, 8}), mesh, ts::P("data"));
  std::cout << (2 * rows).sharding() << "\n";
  std::cout << ts::sum(rows, 1).sharding() << "\n";
  std::cout << ts::sum(rows, 0).sharding() << "\n";

  part("layer");
  auto layer = ts::jit([](Array x, Array w1, Array w2) { return ts::nn::relu(x.dot(w1)).dot(w2); },
                       {.mesh = mesh,
                        .in_shardings = {ts::P("data"), ts::P(ts::none, "model"), ts::P("model")},
                        .out_shardings = ts::P("data")});
  Array inputs = ts::ones({4, 8}), w1 = ts::ones({8, 16}), w2 = ts::ones({16, 8});
  std::cout << layer(inputs, w1, w2)[0] << "\n";

  part("collectives");
  for (const auto& use : layer.lower(inputs, w1, w2).collectives()) std::cout << use << "\n";

  part("partitioned");
  std::cout << layer.lower(inputs, w1, w2).partitioned();

  part("mistake");
  try {
    ts::device_put(ts::ones({6, 8}), mesh, ts::P("model"));
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("answer move");
  Array columns = ts::device_put(rows, mesh, ts::P(ts::none, "data"));
  std::cout << rows.sharding() << " -> " << columns.sharding() << "\n"
            << ts::array_equal(rows, columns) << "\n";

  part("answer columns");
  auto worse = ts::jit([](Array x, Array w1, Array w2) { return ts::nn::relu(x.dot(w1)).dot(w2); },
                       {.mesh = mesh,
                        .in_shardings = {ts::P("data"), ts::P("model"), ts::P("model")},
                        .out_shardings = ts::P("data")});
  for (const auto& use : worse.lower(inputs, w1, w2).collectives()) std::cout << use << "\n";
}
