// The cost of a call apart from its arithmetic: compiled, eager and mapped functions of a few
// elements, and a gradient that is traced anew each time.
#include "rows.h"

#include <memory>

namespace bench {

void add_dispatch_rows() {
  auto add = [](const char* name, std::function<Call()> make) { rows().push_back({name, make}); };

  add("jit_scalar", [] { return bound(ts::jit([](Array x) { return x + 1; }), ts::zeros({})); });
  add("jit_tree_100", [] {
    auto f = ts::jit(
        [](std::vector<Array> t) { return ts::tree::map([](Array x) { return x + 1; }, t); });
    std::vector<Array> t(100);
    for (Array& x : t) x = ts::zeros({});
    return bound(f, t);
  });
  add("eager_add", [] { return bound([](Array x) { return x + x; }, ts::zeros({4})); });
  // An update as a user writes it without jit.
  add("eager_update", [] {
    return bound([](Array w, Array g) { return w - 0.1f * (g + 0.01f * w); }, ts::ones({8}),
                 ts::ones({8}));
  });
  add("pmap_plus_one", [] {
    return bound(ts::pmap([](Array x) { return x + 1; }), ts::zeros({4, 8}));
  });
  add("pmap_psum", [] {
    return bound(ts::pmap([](Array x) { return ts::psum(x, "i"); }, {.axis_name = "i"}),
                 ts::zeros({4, 8}));
  });
  // The result of one call is the argument of the next, as in training.
  add("pmap_chained", [] {
    auto f = ts::pmap([](Array x) { return x + 1; });
    auto x = std::make_shared<Array>(f(ts::zeros({4, 8})));
    return Call([=] {
      *x = f(*x);
      x->block_until_ready();
    });
  });
  add("grad_eager", [] {
    return bound(ts::grad([](Array x) { return ts::sum(ts::sin(x) * x); }), ts::ones({8}));
  });
}

}  // namespace bench
