// Lesson 9: what a partitioned program will cost, before it runs.
#include "lessons/lesson.h"

//: model
struct Mlp {
  Array up, down;
};

Array loss(const Mlp& m, Array x, Array y) {
  Array hidden = ts::nn::gelu(ts::matmul(x, m.up));
  return ts::mean(ts::square(ts::matmul(hidden, m.down) - y));
}

std::pair<Mlp, Array> train(Mlp m, Array x, Array y) {
  auto [l, g] = ts::value_and_grad(loss)(m, x, y);
  return {ts::tree::map([](Array p, Array d) { return p - 0.01 * d; }, m, g), l};
}
//:

int main() {
  part("abstract");
  ts::Mesh mesh = ts::Mesh::abstract({{"data", 16}, {"model", 4}});
  Mlp model{ts::abstract(ts::f32, {4096, 16384}), ts::abstract(ts::f32, {16384, 4096})};
  Array batch = ts::abstract(ts::f32, {8192, 4096});

  part("data parallel");
  ts::PartitionSpec rows = ts::P({"data", "model"});  // over all 64 devices
  auto by_data = ts::jit(train, {.mesh = mesh,
                                 .in_shardings = {ts::P(), rows, rows},
                                 .out_shardings = {ts::P(), ts::P()},
                                 .name = "train"});
  ts::Plan first = by_data.explain(model, batch, batch);
  std::cout << ts::summary(first) << "\n" << ts::headline(first) << "\n";

  part("collectives");
  for (const ts::PlannedCollective& c : first.collectives)
    std::cout << c.kind << " of " << c.type << ", " << static_cast<int>(c.bytes / 1e6) << " MB, at "
              << c.line << "\n";

  part("both");
  ts::SpecTree columns_and_rows = {ts::P(ts::none, "model"), ts::P("model")};
  auto by_both = ts::jit(train, {.mesh = mesh,
                                 .in_shardings = {columns_and_rows, ts::P("data"), ts::P("data")},
                                 .out_shardings = {columns_and_rows, ts::P()},
                                 .name = "train"});
  ts::Plan second = by_both.explain(model, batch, batch);
  std::cout << ts::summary(second) << "\n";
  for (const ts::PlannedCollective& c : second.collectives)
    std::cout << c.kind << " of " << c.type << ", " << static_cast<int>(c.bytes / 1e6)
              << " MB, over " << c.axes[0] << ", at " << c.line << "\n";

  part("picture");
  save_timelines("plans.svg", {{"data", first}, {"data and model", second}});

  part("diff");
  std::cout << ts::diff(first, second);

  part("mistake");
  try {
    Mlp small{ts::ones({64, 64}), ts::ones({64, 64})};
    by_both(small, ts::ones({64, 64}), ts::ones({64, 64}));
  } catch (const ts::Error& error) {
    std::cout << error.what() << "\n";
  }

  part("answer search");
  auto found = ts::autoshard(train, {.mesh = mesh})(model, batch, batch);
  ts::Plan third = ts::jit(train, found.options()).explain(model, batch, batch);
  std::cout << "not slower: " << (third.seconds() <= second.seconds()) << "\n";
  for (const ts::PlannedEnd& end : third.arguments)
    std::cout << end.name << " " << end.spec << "\n";

  part("answer links");
  ts::PlanOptions slow;
  slow.other_links = {.latency = 5e-6, .bandwidth = 5e9};
  std::cout << ts::headline(by_both.lower(model, batch, batch).plan(slow)) << "\n";
}
