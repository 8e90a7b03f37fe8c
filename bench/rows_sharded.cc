// Programs of whole arrays over meshes: products that are partitioned in every way, a reshard, and
// the cost of a call.
#include "rows.h"

namespace bench {

namespace {

using ts::none;
using ts::P;

struct Way {
  const char* name;
  ts::PartitionSpec a, b, result;
};
const std::vector<Way>& ways() {
  static const std::vector<Way> all = {{"whole", P(), P(), P()},
                                       {"rows", P("x"), P(), P("x")},
                                       {"columns", P(), P(none, "x"), P(none, "x")},
                                       {"contracted", P(none, "x"), P("x"), P()},
                                       {"grid", P("x"), P(none, "y"), P("x", "y")}};
  return all;
}

Call product(const Way& way, std::int64_t n, std::int64_t devices) {
  const bool grid = std::string(way.name) == "grid";
  const ts::Mesh mesh =
      grid ? ts::Mesh({{"x", devices / 2}, {"y", 2}}) : ts::Mesh({{"x", devices}});
  auto f = ts::jit([](Array a, Array b) { return ts::dot(a, b); },
                   {.mesh = mesh, .in_shardings = {way.a, way.b}, .out_shardings = way.result});
  return bound(f, ts::device_put(normal(0, {n, n}), mesh, way.a),
               ts::device_put(normal(1, {n, n}), mesh, way.b));
}

}  // namespace

void add_sharded_rows() {
  for (const Way& way : ways())
    for (std::int64_t n : {512, 2048})
      for (std::int64_t devices : {4, 8})
        rows().push_back({std::string("sharded_matmul_") + way.name + "/" + std::to_string(n) +
                              "/" + std::to_string(devices),
                          [=] { return product(way, n, devices); }});
  rows().push_back({"reshard/4", [] {  // reshards 64 MB from rows to columns
                      const ts::Mesh mesh({{"x", 4}});
                      auto f = ts::jit(
                          [](Array x) { return x; },
                          {.mesh = mesh, .in_shardings = P("x"), .out_shardings = P(none, "x")});
                      return bound(f, ts::device_put(normal(0, {4096, 4096}), mesh, P("x")));
                    }});
  rows().push_back({"sharded_plus_one", [] {
                      const ts::Mesh mesh({{"x", 4}});
                      auto f =
                          ts::jit([](Array x) { return x + 1; },
                                  {.mesh = mesh, .in_shardings = P("x"), .out_shardings = P("x")});
                      return bound(f, ts::device_put(ts::zeros({4, 8}), mesh, P("x")));
                    }});
}

}  // namespace bench
