// Writes plans as JSON and as pages into a folder, for pages.py.
#include "transformer.h"

#include <fstream>
#include <iostream>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

void write(const ts::Plan& plan, const std::string& folder, const std::string& name) {
  ts::save_html(plan, folder + "/" + name + ".html");
  ts::save_trace(plan, folder + "/" + name + ".trace.json");
  std::ofstream(folder + "/" + name + ".json") << ts::to_json(plan);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: plan_pages FOLDER\n";
    return 2;
  }
  const std::string folder = words[1];
  const ts::Mesh mesh = ts::Mesh::abstract({{"data", 2}, {"model", 2}});
  const auto mlp = [](Array x, Array w1, Array w2) {
    return ts::dot(ts::maximum(ts::dot(x, w1), 0), w2);
  };
  const Array x = ts::abstract(ts::f32, {8, 16}), w1 = ts::abstract(ts::f32, {16, 32}),
              w2 = ts::abstract(ts::f32, {32, 16});
  write(ts::jit(mlp, {.mesh = mesh,
                      .in_shardings = {P("data"), P(ts::none, "model"), P("model")},
                      .out_shardings = P("data"),
                      .name = "mlp </script><b>&\"name\""})
            .explain(x, w1, w2),
        folder, "mlp");
  write(ts::jit(mlp, {.name = "one device"}).explain(x, w1, w2), folder, "one");
  const transformer::Sizes small{6, 512, 16, 256, 64, 4096};
  const ts::Mesh pod = ts::Mesh::abstract({{"data", 16}, {"model", 4}});
  write(transformer::plan(transformer::written_out(small), small, pod), folder, "transformer");
  write(transformer::plan(transformer::scanned(small), small, pod), folder, "scan");
}
