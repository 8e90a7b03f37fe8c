#include "golden/golden.h"

#include <tessera/convolution.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/nn.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

namespace golden {

namespace ts = tessera;

namespace {
using Out = std::vector<Array>;
using Unary = Array (*)(ts::Operand);
}  // namespace

void add_derivatives(std::map<std::string, Function>& t) {
  auto both = [&](const char* name, Unary f) {
    t[std::string("grad_") + name] = [f](const Inputs& in, const std::string&) {
      return Out{ts::grad([f](Array x) { return ts::sum(f(x)); })(in[0])};
    };
    t[std::string("hess_") + name] = [f](const Inputs& in, const std::string&) {
      return Out{ts::vmap(ts::grad(ts::grad([f](Array x) { return f(x); })))(in[0])};
    };
  };
#define BOTH(name) both(#name, ts::name)
  BOTH(sin);
  BOTH(tanh);
  BOTH(sqrt);
  BOTH(log);
  BOTH(exp);
  BOTH(sigmoid);
  BOTH(erf);
  BOTH(abs);
  BOTH(arctan);
  BOTH(rsqrt);
  BOTH(expm1);
  BOTH(cbrt);
  BOTH(square);
#undef BOTH
  both("relu", ts::nn::relu);
  both("softplus", ts::nn::softplus);
  both("gelu", [](ts::Operand x) { return ts::nn::gelu(x); });
  auto scalar = [&](const char* name, Unary f) {
    t[name] = [f](const Inputs& in, const std::string&) {
      return Out{ts::grad([f](Array x) { return f(x); })(in[0])};
    };
  };
  scalar("grad_max", [](ts::Operand x) { return ts::max(x); });
  scalar("grad_logsumexp", [](ts::Operand x) { return ts::logsumexp(x); });
  scalar("grad_std", [](ts::Operand x) { return ts::std(x); });
  scalar("grad_prod", [](ts::Operand x) { return ts::prod(x); });
  scalar("grad_sort", [](ts::Operand x) { return ts::sum(ts::sort(x) * ts::arange(4.0)); });
  scalar("grad_cumsum", [](ts::Operand x) { return ts::sum(ts::square(ts::cumsum(x))); });
  scalar("grad_take", [](ts::Operand x) {
    return ts::sum(ts::square(ts::take(x, ts::array({0, 2, 2}))));
  });
  t["grad_power"] = [](const Inputs& in, const std::string&) {
    auto [a, b] =
        ts::grad<0, 1>([](Array x, Array p) { return ts::sum(ts::power(x, p)); })(in[0], in[1]);
    return Out{a, b};
  };
  t["conv_grad"] = [](const Inputs& in, const std::string& v) {
    ts::ConvOptions o;
    if (v == "stride2") o.strides = {2, 2};
    if (v == "groups2") o.feature_group_count = 2;
    auto [a, b] = ts::grad<0, 1>(
        [o](Array x, Array k) { return ts::sum(ts::sin(ts::conv(x, k, o))); })(in[0], in[1]);
    return Out{a, b};
  };
  scalar("max_pool_grad", [](ts::Operand x) { return ts::sum(ts::sin(ts::max_pool(x, {2, 2}))); });
}

}  // namespace golden
