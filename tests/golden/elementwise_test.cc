#include "golden/golden.h"

#include <tessera/elementwise.h>
#include <tessera/nn.h>

namespace golden {

namespace ts = tessera;

void add_elementwise(std::map<std::string, Function>& t) {
  auto unary = [&](const char* name, Array (*f)(ts::Operand)) {
    t[name] = [f](const Inputs& in, const std::string&) { return std::vector<Array>{f(in[0])}; };
  };
  auto binary = [&](const char* name, Array (*f)(ts::Operand, ts::Operand)) {
    t[name] = [f](const Inputs& in, const std::string&) {
      return std::vector<Array>{f(in[0], in[1])};
    };
  };
#define UNARY(name) unary(#name, ts::name)
  UNARY(exp);
  UNARY(exp2);
  UNARY(expm1);
  UNARY(log);
  UNARY(log2);
  UNARY(log10);
  UNARY(log1p);
  UNARY(sqrt);
  UNARY(rsqrt);
  UNARY(cbrt);
  UNARY(sin);
  UNARY(cos);
  UNARY(tan);
  UNARY(arcsin);
  UNARY(arccos);
  UNARY(arctan);
  UNARY(sinh);
  UNARY(cosh);
  UNARY(tanh);
  UNARY(arcsinh);
  UNARY(arccosh);
  UNARY(arctanh);
  UNARY(erf);
  UNARY(erfc);
  UNARY(erf_inv);
  UNARY(sigmoid);
  UNARY(reciprocal);
  UNARY(floor);
  UNARY(ceil);
  UNARY(round);
  UNARY(trunc);
  UNARY(negative);
  UNARY(abs);
  UNARY(sign);
  UNARY(square);
  UNARY(isnan);
  UNARY(isinf);
  UNARY(isfinite);
  UNARY(nan_to_num);
  UNARY(logical_not);
  UNARY(bitwise_not);
#undef UNARY
#define BINARY(name) binary(#name, ts::name)
  BINARY(add);
  BINARY(subtract);
  BINARY(multiply);
  BINARY(divide);
  BINARY(maximum);
  BINARY(minimum);
  BINARY(floor_divide);
  BINARY(remainder);
  BINARY(arctan2);
  BINARY(logaddexp);
  BINARY(hypot);
  BINARY(equal);
  BINARY(less);
  BINARY(greater_equal);
  BINARY(power);
#undef BINARY
  binary("operator&", [](ts::Operand x, ts::Operand y) { return x & y; });
  binary("operator|", [](ts::Operand x, ts::Operand y) { return x | y; });
  binary("operator^", [](ts::Operand x, ts::Operand y) { return x ^ y; });
  binary("operator<<", [](ts::Operand x, ts::Operand y) { return x << y; });
  binary("operator>>", [](ts::Operand x, ts::Operand y) { return x >> y; });
  t["where"] = [](const Inputs& in, const std::string&) {
    return std::vector<Array>{ts::where(in[0], in[1], in[2])};
  };
  t["clip"] = [](const Inputs& in, const std::string&) {
    return std::vector<Array>{ts::clip(in[0], in[1], in[2])};
  };
  unary("relu", ts::nn::relu);
  unary("silu", ts::nn::silu);
  unary("softplus", ts::nn::softplus);
  unary("gelu", [](ts::Operand x) { return ts::nn::gelu(x); });
  unary("leaky_relu", [](ts::Operand x) { return ts::nn::leaky_relu(x); });
  unary("softmax", [](ts::Operand x) { return ts::nn::softmax(x); });
  unary("log_softmax", [](ts::Operand x) { return ts::nn::log_softmax(x); });
  t["cross_entropy"] = [](const Inputs& in, const std::string&) {
    return std::vector<Array>{ts::nn::softmax_cross_entropy_with_integer_labels(in[0], in[1])};
  };
  t["promotion"] = [](const Inputs&, const std::string&) {
    // The script's order is bool, signed, unsigned, then float16, bfloat16, float32, float64, which
    // is that of DType.
    std::vector<std::int32_t> codes;
    constexpr int reals = static_cast<int>(ts::f64) + 1;
    for (int a = 0; a < reals; ++a)
      for (int b = 0; b < reals; ++b)
        codes.push_back(static_cast<int>(
            ts::promote(static_cast<ts::DType>(a), false, static_cast<ts::DType>(b), false).dtype));
    return std::vector<Array>{Array(codes, {reals, reals})};
  };
}

}  // namespace golden
