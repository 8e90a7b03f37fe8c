// Meshes, specs, and arrays that are sharded by them.
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>

#include "api/check.h"
#include "isolated.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

namespace ts = tessera;
using api_test::f32s;
using ts::Array;
using ts::Device;
using ts::P;
using ts::Shape;

namespace {

using Floats = std::vector<float>;

class Meshes : public testing::Test {
 protected:
  template <class T>
  static std::string text(const T& x) {
    std::ostringstream out;
    out << x;
    return out.str();
  }
  // The ranges of each device's shard, such as "0:2 4:8".
  static std::vector<std::string> ranges(const ts::Sharding& s, const Shape& shape) {
    std::vector<std::string> all;
    for (const auto& index : s.indices(shape)) {
      std::string one;
      for (const ts::Range& r : index)
        one += (one.empty() ? "" : " ") + std::to_string(*r.start) + ":" + std::to_string(*r.stop);
      all.push_back(one);
    }
    return all;
  }
  const ts::Mesh mesh = [] {
    ts::set_device_count(8);
    return ts::Mesh({{"x", 4}, {"y", 2}});
  }();
};

TEST_F(Meshes, Mesh) {
  EXPECT_EQ(text(mesh), "Mesh('x': 4, 'y': 2)");
  EXPECT_EQ(mesh.size(), 8);
  EXPECT_EQ(mesh.size("x"), 4);
  EXPECT_EQ(mesh.axis_names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(mesh.axis_sizes(), (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(mesh.devices(), ts::devices());
  EXPECT_EQ(mesh, ts::make_mesh({4, 2}, {"x", "y"}));
  EXPECT_FALSE(mesh == ts::Mesh({{"y", 4}, {"x", 2}}));
  EXPECT_FALSE(mesh.empty());
  EXPECT_TRUE(ts::Mesh().empty());
  EXPECT_EQ(ts::Mesh().size(), 0);
  EXPECT_EQ(text(ts::Mesh()), "Mesh()");
}

TEST_F(Meshes, AnySubsetAndOrderOfDevices) {
  const ts::Mesh some({{"x", 3}}, {{5}, {2}, {7}});
  EXPECT_EQ(some.devices(), (std::vector<Device>{{5}, {2}, {7}}));
  const Array a = ts::device_put(ts::arange(6.0), some, P("x"));
  EXPECT_EQ(f32s(a), (Floats{0, 1, 2, 3, 4, 5}));
  const std::vector<ts::Shard> shards = a.shards();
  EXPECT_EQ(shards[1].device, Device{2});
  EXPECT_EQ(f32s(shards[1].data), (Floats{2, 3}));
}

TEST_F(Meshes, AbstractMeshesAreOfAnySize) {
  const ts::Mesh pod = ts::Mesh::abstract({{"data", 64}, {"model", 64}});
  EXPECT_EQ(text(pod), "AbstractMesh('data': 64, 'model': 64)");
  EXPECT_EQ(pod.size(), 4096);
  EXPECT_TRUE(pod.is_abstract());
  EXPECT_TRUE(pod.devices().empty());
  const ts::Sharding s(pod, P("data", "model"));
  EXPECT_EQ(s.shard_shape({128, 64}), (Shape{2, 1}));
  EXPECT_EQ(ranges(s, {128, 64})[65], "2:4 1:2");
}

TEST_F(Meshes, SpecsPrintAsTheyAreWritten) {
  EXPECT_EQ(text(P()), "P()");
  EXPECT_EQ(text(P("x")), "P('x')");
  EXPECT_EQ(text(P(ts::none, "x", ts::none)), "P(none, 'x', none)");
  EXPECT_EQ(text(P({"x", "y"}, ts::none)), "P(('x', 'y'), none)");
  EXPECT_EQ(text(P(ts::unconstrained, std::string("y"))), "P(unconstrained, 'y')");
  EXPECT_EQ(P("x"), P("x", ts::none));
  EXPECT_EQ(P(), P(ts::none));
  EXPECT_FALSE(P("x") == P(ts::none, "x"));
  EXPECT_FALSE(P({"x", "y"}) == P({"y", "x"}));
  EXPECT_FALSE(P(ts::unconstrained) == P());
}

// The worked example of the semantics: blocks in mixed radix, replicas counted in mesh order.
TEST_F(Meshes, PartsAndReplicas) {
  const auto replicas = [&](const ts::PartitionSpec& spec) {
    std::vector<int> ids;
    for (const ts::Shard& s : ts::device_put(ts::zeros({8, 2}), mesh, spec).shards())
      ids.push_back(s.replica_id);
    return ids;
  };
  const auto shape = [&](const ts::PartitionSpec& spec) {
    return ts::Sharding(mesh, spec).shard_shape({8, 2});
  };
  EXPECT_EQ(shape(P("x", "y")), (Shape{2, 1}));
  EXPECT_EQ(replicas(P("x", "y")), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shape(P("x")), (Shape{2, 2}));
  EXPECT_EQ(replicas(P("x")), (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(shape(P("y")), (Shape{4, 2}));
  EXPECT_EQ(replicas(P("y")), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(shape(P({"x", "y"})), (Shape{1, 2}));
  EXPECT_EQ(replicas(P()), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(ranges(ts::Sharding(mesh, P({"y", "x"})), {8, 2}),
            (std::vector<std::string>{"0:1 0:2", "4:5 0:2", "1:2 0:2", "5:6 0:2", "2:3 0:2",
                                      "6:7 0:2", "3:4 0:2", "7:8 0:2"}));
}

TEST_F(Meshes, ShardingsAreComparedByWhatTheyDo) {
  const ts::Mesh flat({{"z", 8}}), one({{"x", 8}, {"unit", 1}});
  EXPECT_TRUE(ts::Sharding(mesh, P({"x", "y"})).is_equivalent_to(ts::Sharding(flat, P("z")), 2));
  EXPECT_FALSE(ts::Sharding(mesh, P({"y", "x"})).is_equivalent_to(ts::Sharding(flat, P("z")), 2));
  EXPECT_FALSE(ts::Sharding(mesh, P("x")).is_equivalent_to(ts::Sharding(flat, P("z")), 2));
  EXPECT_TRUE(ts::Sharding(one, P("x")).is_equivalent_to(ts::Sharding(one, P({"x", "unit"})), 1));
  EXPECT_FALSE(ts::Sharding(mesh, P()).is_equivalent_to(ts::Sharding(Device{0}), 1));
  EXPECT_TRUE(ts::Sharding(one, P("unit")).is_fully_replicated());
  EXPECT_FALSE(ts::Sharding(one, P("x")).is_fully_replicated());
  EXPECT_EQ(text(ts::Sharding(Device{3})), "SingleDevice(CpuDevice(id=3))");
  EXPECT_EQ(text(ts::Sharding(mesh, P("x"))), "NamedSharding(Mesh('x': 4, 'y': 2), P('x'))");
}

// Moves from any spec to any other keep the values, give each shard its part, and copy the
// predicted number of bytes.
TEST_F(Meshes, EverySpecToEveryOther) {
  const Array whole = ts::arange(8.0 * 4 * 2).reshape(8, 4, 2);
  const std::vector<ts::PartitionSpec> specs{
      P(),           P("x"),        P("y"),      P(ts::none, "x"), P(ts::none, ts::none, "y"),
      P({"x", "y"}), P({"y", "x"}), P("y", "x"), P("x", "y"),      P(ts::none, "x", "y")};
  for (const auto& from : specs) {
    const Array a = ts::device_put(whole, mesh, from);
    EXPECT_EQ(a.sharding(), ts::Sharding(mesh, from));
    for (const auto& to : specs) {
      const Array b = ts::device_put(a, mesh, to);
      EXPECT_EQ(f32s(b), f32s(whole)) << from << " to " << to;
      for (const ts::Shard& s : b.shards()) {
        const Array part = whole(s.index[0], s.index[1], s.index[2]);
        EXPECT_EQ(f32s(s.data), f32s(part)) << from << " to " << to << ", " << s.device;
      }
    }
  }
}

TEST_F(Meshes, TreesBySpecsAsAPrefix) {
  struct Layer {
    Array w, b;
  };
  struct Model {
    std::vector<Layer> layers;
    Array head;
  };
  const Model model{{{ts::ones({4, 8}), ts::ones({8})}, {ts::ones({8, 4}), ts::ones({4})}},
                    ts::ones({8, 2})};
  const auto placed = ts::device_put(model, mesh, {{{P(ts::none, "x"), P("x")}, P()}, P("x", "y")});
  EXPECT_EQ(placed.layers[0].w.sharding().spec(), P(ts::none, "x"));
  EXPECT_EQ(placed.layers[0].b.sharding().spec(), P("x"));
  EXPECT_EQ(placed.layers[1].w.sharding().spec(), P());
  EXPECT_EQ(placed.layers[1].b.sharding().spec(), P());
  EXPECT_EQ(placed.head.sharding().spec(), P("x", "y"));
  const ts::SpecTree by_path =
      ts::specs(model, {{"layers/*/w", P(ts::none, "x")}, {"**/b", P("y")}, {"**", P()}});
  EXPECT_EQ(to_string(by_path), "{P(none, 'x'), P('y'), P(none, 'x'), P('y'), P()}");
  const auto again = ts::device_put(model, mesh, by_path);
  EXPECT_EQ(again.layers[1].w.sharding().spec(), P(ts::none, "x"));
  EXPECT_EQ(again.head.sharding().spec(), P());
}

// A layer without a bias has an empty leaf, which needs no rule; a rule for biases is not
// superfluous.
TEST_F(Meshes, EmptyLeavesNeedNoRule) {
  struct Layer {
    Array w, b;
  };
  const std::vector<Layer> layers{{ts::ones({4, 4}), Array()}, {ts::ones({4, 4}), Array()}};
  EXPECT_EQ(to_string(ts::specs(layers, {{"*/w", P("x")}})), "{P('x'), P(), P('x'), P()}");
  EXPECT_EQ(to_string(ts::specs(layers, {{"*/w", P("x")}, {"*/b", P("x")}})),
            "{P('x'), P('x'), P('x'), P('x')}");
  const auto placed = ts::device_put(layers, mesh, ts::specs(layers, {{"*/w", P("x")}}));
  EXPECT_EQ(placed[1].w.sharding().spec(), P("x"));
  EXPECT_TRUE(placed[1].b.is_empty());
}

TEST_F(Meshes, PatternsOfPaths) {
  const auto fits = [](const char* pattern, const char* path) {
    try {
      ts::detail::specs_by_path({path}, {{pattern, P()}}, {});
      return true;
    } catch (const ts::TreeError&) {
      return false;
    }
  };
  EXPECT_TRUE(fits("layers/0/w", "layers/0/w"));
  EXPECT_FALSE(fits("layers/0/w", "layers/0/w2"));
  EXPECT_TRUE(fits("layers/*/w", "layers/10/w"));
  EXPECT_FALSE(fits("layers/*/w", "layers/10/attention/w"));
  EXPECT_TRUE(fits("layers/**/w", "layers/10/attention/w"));
  EXPECT_TRUE(fits("layers/**/w", "layers/w"));
  EXPECT_FALSE(fits("layers/**/w", "layers/10/aw"));
  EXPECT_TRUE(fits("**/w", "w"));
  EXPECT_TRUE(fits("**/w", "a/b/w"));
  EXPECT_FALSE(fits("**/w", "a/bw"));
  EXPECT_TRUE(fits("**", ""));
  EXPECT_TRUE(fits("*", ""));
  EXPECT_FALSE(fits("*", "a/b"));
  EXPECT_TRUE(fits("*w*", "rowwise"));
  EXPECT_TRUE(fits("a**", "a/b/c"));
  // Matching takes quadratic time, not exponential.
  EXPECT_FALSE(fits("**a**a**a**a**a**a**a**a**a**a**a**a**b",
                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

TEST_F(Meshes, ScopesNest) {
  EXPECT_TRUE(ts::current_mesh().empty());
  const ts::Mesh other({{"x", 2}});
  {
    const auto outer = ts::use_mesh(mesh);
    EXPECT_EQ(ts::current_mesh(), mesh);
    {
      const auto inner = ts::use_mesh(other);
      EXPECT_EQ(ts::device_put(ts::ones({4}), P("x")).sharding(), ts::Sharding(other, P("x")));
    }
    EXPECT_EQ(ts::device_put(std::pair(ts::ones({4}), 1.0), {P("x"), P()}).first.sharding(),
              ts::Sharding(mesh, P("x")));
    std::thread([] { EXPECT_TRUE(ts::current_mesh().empty()); }).join();
  }
  EXPECT_TRUE(ts::current_mesh().empty());
}

TEST_F(Meshes, ScopesEndInAnyOrder) {
  const ts::Mesh other({{"x", 2}});
  auto outer = std::make_unique<ts::MeshScope>(mesh);
  auto inner = std::make_unique<ts::MeshScope>(other);
  outer.reset();
  EXPECT_EQ(ts::current_mesh(), other);
  inner.reset();
  EXPECT_TRUE(ts::current_mesh().empty());
  // Another thread may also end the scope.
  outer = std::make_unique<ts::MeshScope>(mesh);
  std::thread([&] {
    const ts::MeshScope own(other);
    outer.reset();
    EXPECT_EQ(ts::current_mesh(), other);
  }).join();
  EXPECT_TRUE(ts::current_mesh().empty());
}

TEST_F(Meshes, ArraysFromACallback) {
  int calls = 0;
  const ts::Sharding rows(mesh, P("x"));
  const Array a = ts::make_array_from_callback({8, 3}, rows, [&](const auto& index) {
    ++calls;
    const auto start = static_cast<float>(*index[0].start);
    return ts::full({*index[0].stop - *index[0].start, 3}, start);
  });
  EXPECT_EQ(calls, 4);  // different parts; each is on two devices
  EXPECT_EQ(a.sharding(), rows);
  EXPECT_EQ(f32s(ts::sum(a, 1)), (Floats{0, 0, 6, 6, 12, 12, 18, 18}));
}

TEST_F(Meshes, ArraysFromParts) {
  const ts::Mesh four({{"x", 2}, {"y", 2}}, {{3}, {1}, {0}, {2}});
  const ts::Sharding s(four, P("y", "x"));
  std::vector<Array> parts;
  for (int id = 0; id < 4; ++id)
    parts.push_back(ts::device_put(ts::full({1, 2}, static_cast<float>(id)), Device{id}));
  const Array a = ts::make_array_from_single_device_arrays({2, 4}, s, parts);
  EXPECT_EQ(f32s(a), (Floats{3, 3, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(a.sharding(), s);
  EXPECT_EQ(f32s(parts[3]), (Floats{3, 3}));
}

// Data in memory is not copied again: rows of an array that is whole, or sharded into fewer rows.
TEST_F(Meshes, RowsAreViews) {
  NEEDS_CPU(memory);
  const Array whole = ts::zeros({1024, 256});
  whole.block_until_ready();
  const auto before = ts::physical_memory_stats().live;
  const Array replicated = ts::device_put(whole, mesh, P());
  const Array rows = ts::device_put(replicated, mesh, P({"x", "y"}));
  const Array fewer = ts::device_put(rows, mesh, P("y"));
  const Array all = ts::device_put(fewer, Device{3});
  EXPECT_EQ(ts::physical_memory_stats().live, before);
  EXPECT_EQ(f32s(all), f32s(whole));
}

// Moves from any spec to any other, also to another mesh of other devices, copy only those wanted
// blocks that are not contiguous in an existing shard, each of them once.
TEST_F(Meshes, OnlyWhatLiesApartIsCopied) {
  NEEDS_CPU(memory);
  const Shape shape{8, 4, 32};
  const Array whole = ts::arange(8.0 * 4 * 32).reshape(shape).astype(ts::f32);
  whole.block_until_ready();
  const ts::Mesh other({{"x", 2}, {"y", 4}}, {{3}, {1}, {0}, {2}, {7}, {6}, {5}, {4}});
  // The numbers of the elements of each distinct shard, shard after shard.
  const auto parts_of = [&](const ts::Sharding& s) {
    std::map<Floats, Floats> parts;  // by their first indices
    for (const auto& index : s.indices(shape)) {
      Floats start, elements;
      for (const ts::Range& r : index) start.push_back(static_cast<float>(*r.start));
      for (auto i = *index[0].start; i < *index[0].stop; ++i)
        for (auto j = *index[1].start; j < *index[1].stop; ++j)
          for (auto k = *index[2].start; k < *index[2].stop; ++k)
            elements.push_back(static_cast<float>((i * 4 + j) * 32 + k));
      parts[start] = elements;
    }
    return parts;
  };
  const std::vector<ts::PartitionSpec> specs{
      P(),           P("x"),        P("y"),      P(ts::none, "x"), P(ts::none, ts::none, "y"),
      P({"x", "y"}), P({"y", "x"}), P("y", "x"), P("x", "y"),      P(ts::none, "x", "y")};
  int views = 0, copies = 0;
  for (const auto& from : specs)
    for (const auto& to : specs)
      for (const ts::Mesh& there : {mesh, other}) {
        const Array a = ts::device_put(whole, mesh, from);
        Floats memory;
        for (const auto& [start, part] : parts_of(ts::Sharding(mesh, from)))
          memory.insert(memory.end(), part.begin(), part.end());
        std::int64_t apart = 0;
        for (const auto& [start, part] : parts_of(ts::Sharding(there, to))) {
          const bool piece =
              std::search(memory.begin(), memory.end(), part.begin(), part.end()) != memory.end();
          apart += piece ? 0 : 4 * std::ssize(part);
          ++(piece ? views : copies);
        }
        const auto before = ts::physical_memory_stats().live;
        const Array b = ts::device_put(a, there, to);
        EXPECT_EQ(ts::physical_memory_stats().live - before, apart)
            << from << " to " << to << " on " << there;
        EXPECT_EQ(f32s(b), f32s(whole));
      }
  EXPECT_GT(views, copies / 4);
}

TEST_F(Meshes, Pictures) {
  NEEDS_CPU(devices);
  const auto picture = [&](const Shape& shape, const ts::PartitionSpec& spec,
                           std::vector<int> dims = {0, 1}) {
    return ts::visualize_sharding(shape, ts::Sharding(mesh, spec), {.dims = dims, .color = false});
  };
  EXPECT_EQ(picture({8, 4}, P("y", "x")),
            "┌───────┬───────┬───────┬───────┐\n"
            "│ CPU 0 │ CPU 2 │ CPU 4 │ CPU 6 │\n"
            "├───────┼───────┼───────┼───────┤\n"
            "│ CPU 1 │ CPU 3 │ CPU 5 │ CPU 7 │\n"
            "└───────┴───────┴───────┴───────┘\n");
  EXPECT_EQ(picture({8}, P("y")),
            "┌─────────────┬─────────────┐\n"
            "│ CPU 0,2,4,6 │ CPU 1,3,5,7 │\n"
            "└─────────────┴─────────────┘\n");
  EXPECT_EQ(picture({}, P()),
            "┌─────────┐\n"
            "│ CPU 0-7 │\n"
            "└─────────┘\n");
  EXPECT_EQ(picture({8, 6, 2}, P("x", ts::none, "y"), {2, 1}),
            "┌─────────────┐\n"
            "│ CPU 0,2,4,6 │\n"
            "├─────────────┤\n"
            "│ CPU 1,3,5,7 │\n"
            "└─────────────┘\n"
            "dimension 0 is cut by 'x' too\n");
  EXPECT_EQ(picture({0, 4}, P("y")),
            "┌─────────────┐\n"
            "│ CPU 0,2,4,6 │\n"
            "├─────────────┤\n"
            "│ CPU 1,3,5,7 │\n"
            "└─────────────┘\n");
  const std::string colours =
      ts::visualize_sharding({2}, ts::Sharding(ts::Mesh({{"x", 2}}), P("x")), {.color = true});
  EXPECT_EQ(colours,
            "┌───────┬───────┐\n"
            "│\033[38;2;0;0;0;48;2;141;211;199m CPU 0 \033[0m"
            "│\033[38;2;0;0;0;48;2;255;237;111m CPU 1 \033[0m│\n"
            "└───────┴───────┘\n");
}

// For any two dimensions, in either order, each shard has a box at its position, in a colour of its
// own and with its devices.
TEST_F(Meshes, Drawings) {
  NEEDS_CPU(devices);
  const ts::Sharding s(mesh, P("x", ts::none, "y"));
  for (int down = 0; down < 3; ++down)
    for (int across = 0; across < 3; ++across) {
      if (down == across) continue;
      const std::vector<std::int64_t> cuts{4, 1, 2};
      const auto parts = static_cast<std::size_t>(cuts[static_cast<std::size_t>(down)] *
                                                  cuts[static_cast<std::size_t>(across)]);
      const std::string svg = ts::sharding_svg({8, 6, 2}, s, {.dims = {down, across}});
      EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
      std::set<std::string> places, colours;
      std::multiset<int> devices;
      const std::regex box("<rect x=(\"[0-9.]+\" y=\"[0-9.]+\") [^>]*fill=\"(rgb[^\"]+)\""),
          label(">CPU ([0-9,-]+)</text>");
      for (std::sregex_iterator i(svg.begin(), svg.end(), box), end; i != end; ++i) {
        places.insert((*i)[1]);
        colours.insert((*i)[2]);
      }
      for (std::sregex_iterator i(svg.begin(), svg.end(), label), end; i != end; ++i) {
        const std::string ids = (*i)[1];
        const std::regex run("([0-9]+)(?:-([0-9]+))?");
        for (std::sregex_iterator r(ids.begin(), ids.end(), run); r != end; ++r)
          for (int id = std::stoi((*r)[1]); id <= std::stoi((*r)[(*r)[2].matched ? 2 : 1]); ++id)
            devices.insert(id);
      }
      EXPECT_EQ(places.size(), parts) << svg;
      EXPECT_EQ(colours.size(), parts) << svg;
      EXPECT_EQ(devices, (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7})) << svg;
      EXPECT_NE(svg.find("dimension " + std::to_string(down) + ": "), std::string::npos) << svg;
      EXPECT_NE(svg.find("dimension " + std::to_string(across) + ": "), std::string::npos) << svg;
    }
}

}  // namespace
