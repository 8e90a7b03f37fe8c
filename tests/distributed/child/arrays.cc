// Arrays whose shards are in several processes: placing them, computing with them, and reading
// them.
#include "child.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace child {
namespace {

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

// Meshes whose order is not that of the devices, so that the shards of a process are not
// contiguous.
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

// Of four processes, the two in the middle have devices of the first mesh, and three have devices
// of the second.
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
          [](Array v) {  // as often as the global value says
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

// Each process passes the data that it has read.
// Process 1 reads its parts of an array, which the other processes do not have.
void own_parts() {
  const Array x = draw(5, {8, 16});
  const Array a = ts::device_put(x, ts::Mesh({{"x", 4}, {"y", 2}}), P("x", "y"));
  if (ts::process_index() == 1)
    for (const ts::Shard& s : a.shards())
      if (s.data.to_vector<float>() != x(s.index[0], s.index[1]).to_vector<float>())
        throw std::runtime_error("a part is wrong");
  show("whole", a);
}

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
  const std::int64_t r = std::min(all, 2),
                     c = all / r;  // of a grid, for blocks of rows and columns
  show("blocks", ts::make_array_from_process_local_data(
                     ts::Sharding(grid, P("data", "model")),
                     x(ts::range(me / c * 16 / r, (me / c + 1) * 16 / r),
                       ts::range(me % c * 24 / c, (me % c + 1) * 24 / c))));
  show("replicated", ts::make_array_from_process_local_data(
                         ts::Sharding(grid, P(ts::none, "model")),
                         x(ts::all, ts::range(me % c * 24 / c, (me % c + 1) * 24 / c))));
}

// Each process reads its own examples of a data set: the batches and their order are the same.
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

}  // namespace

Modes arrays_modes() {
  return {{"arrays", arrays},        {"meshes", meshes},     {"local_data", local_data},
          {"own_parts", own_parts},  {"data_set", data_set}, {"some", some},
          {"first_ones", first_ones}};
}

}  // namespace child
