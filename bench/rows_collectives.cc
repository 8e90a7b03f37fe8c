// Collectives of four devices, each holding 16 MB, and many small sums.
#include "rows.h"

namespace bench {

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
  // A hundred sums that need each other.
  add("psum_chain", {4, 1000}, [](Array x) {
    for (int i = 0; i < 100; ++i) x = ts::psum(x, "i") * 0.25f + static_cast<float>(i);
    return x;
  });
}

}  // namespace bench
