// Collectives of four devices, each of which holds 16 MB, and many small sums; and each collective
// by the bytes that a device holds, for devices of several processes.
#include "rows.h"

namespace bench {

namespace {

// Each device's data is split into as many shards as there are devices if the collective sends
// shards to them.
void add_by_size(const std::string& size, std::int64_t each, std::int64_t devices) {
  auto add = [&](const char* name, const ts::Shape& shape, auto f) {
    rows().push_back({name + ("/" + size + "/" + std::to_string(devices)), [=] {
                        const ts::Mesh mesh({{"i", devices}});
                        return bound(ts::pmap(f, {.axis_name = "i"}),
                                     ts::device_put(normal(0, shape), mesh, ts::P("i")));
                      }});
  };
  const ts::Shape whole{devices, each}, parts{devices, devices, each / devices};
  std::vector<std::pair<std::int64_t, std::int64_t>> ring;
  for (std::int64_t d = 0; d < devices; ++d) ring.emplace_back(d, (d + 1) % devices);
  add("psum", whole, [](Array x) { return ts::psum(x, "i"); });
  add("all_gather", whole, [](Array x) { return ts::all_gather(x, "i"); });
  add("psum_scatter", parts, [](Array x) { return ts::psum_scatter(x, "i"); });
  add("all_to_all", parts, [](Array x) { return ts::all_to_all(x, "i", 0, 0); });
  add("ppermute", whole, [=](Array x) { return ts::ppermute(x + 1, "i", ring); });
}

}  // namespace

void add_collective_rows() {
  auto add = [](const char* name, const ts::Shape& shape, Array (*f)(Array)) {
    rows().push_back(
        {name, [=] { return bound(ts::pmap(f, {.axis_name = "i"}), normal(0, shape)); }});
  };
  constexpr std::int64_t kEach = 4 * 1024 * 1024;
  add("psum", {4, kEach}, [](Array x) { return ts::psum(x, "i"); });
  add("all_gather", {4, kEach}, [](Array x) { return ts::all_gather(x, "i"); });
  add("psum_scatter", {4, 4, kEach / 4}, [](Array x) { return ts::psum_scatter(x, "i"); });
  add("all_to_all", {4, 4, kEach / 4}, [](Array x) { return ts::all_to_all(x, "i", 0, 0); });
  add("ppermute", {4, kEach}, [](Array x) {
    return ts::ppermute(x + 1, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  });
  rows().push_back({"psum_100", [] {
                      std::vector<Array> tree(100);
                      for (std::size_t i = 0; i < tree.size(); ++i) tree[i] = normal(i, {4, 1000});
                      auto f = ts::pmap([](std::vector<Array> t) { return ts::psum(t, "i"); },
                                        {.axis_name = "i"});
                      return bound(f, tree);
                    }});
  // A hundred sums, each of which depends on the one before.
  add("psum_chain", {4, 1000}, [](Array x) {
    for (int i = 0; i < 100; ++i) x = ts::psum(x, "i") * 0.25f + static_cast<float>(i);
    return x;
  });
  for (std::int64_t devices : {4, 8}) {
    add_by_size("1KB", 256, devices);
    add_by_size("1MB", 256 * 1024, devices);
    add_by_size("16MB", kEach, devices);
  }
}

}  // namespace bench
