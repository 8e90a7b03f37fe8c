#include "golden/golden.h"

#include <tessera/bits.h>
#include <tessera/combine.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>
#include <tessera/special.h>

namespace golden {

namespace ts = tessera;

namespace {

ts::DType dtype_named(const std::string& name) {
  for (int d = 0; d < ts::kDTypeCount; ++d)
    if (name_of(static_cast<ts::DType>(d)) == name) return static_cast<ts::DType>(d);
  throw std::invalid_argument("no dtype " + name);
}
Array affine(Array x, Array y) { return x * y + x + y; }

std::vector<Array> random_bits(const Inputs& in, const std::string& variant) {
  const std::size_t first = variant.find(' '), second = variant.find(' ', first + 1);
  const std::vector<std::int64_t> shape = numbers(variant.substr(second + 1));
  const ts::RandomBits out = ts::rng_bit_generator(
      in[0], ts::Shape(shape),
      variant.substr(0, first) == "philox" ? ts::BitGenerator::philox : ts::BitGenerator::three_fry,
      dtype_named(variant.substr(first + 1, second - first - 1)));
  return {out.state, out.bits};
}

std::vector<Array> first_max(const Inputs& in, const std::string& variant) {
  const Array places =
      ts::broadcast_to(ts::arange(in[0].shape()[1]).astype(ts::i32), in[0].shape());
  return ts::reduce(
      {in[0], places}, {Array(INT32_MIN), Array(99)},
      [](std::vector<Array> a, std::vector<Array> b) {
        const Array keep = a[0] > b[0] || (a[0] == b[0] && a[1] <= b[1]);
        return std::vector<Array>{ts::where(keep, a[0], b[0]), ts::where(keep, a[1], b[1])};
      },
      numbers(variant));
}

}  // namespace

void add_ops(std::map<std::string, Function>& t) {
  auto add = [&](const char* name, auto f) {
    t[name] = [f](const Inputs& in, const std::string& v) { return std::vector<Array>{f(in, v)}; };
  };
  using Text = const std::string&;
  add("population_count", [](const Inputs& in, Text) { return ts::population_count(in[0]); });
  add("bitwise_count", [](const Inputs& in, Text) { return ts::bitwise_count(in[0]); });
  add("count_leading_zeros", [](const Inputs& in, Text) { return ts::count_leading_zeros(in[0]); });
  add("mulhi", [](const Inputs& in, Text) { return ts::mulhi(in[0], in[1]); });
  add("nextafter", [](const Inputs& in, Text) { return ts::nextafter(in[0], in[1]); });
  add("reduce_precision", [](const Inputs& in, Text v) {
    const std::vector<std::int64_t> bits = numbers(v);
    return ts::reduce_precision(in[0], static_cast<int>(bits[0]), static_cast<int>(bits[1]));
  });
  add("bitcast_convert_type",
      [](const Inputs& in, Text v) { return ts::bitcast_convert_type(in[0], dtype_named(v)); });
  add("gammaln", [](const Inputs& in, Text) { return ts::gammaln(in[0]); });
  add("digamma", [](const Inputs& in, Text) { return ts::digamma(in[0]); });
  add("polygamma", [](const Inputs& in, Text v) { return ts::polygamma(numbers(v)[0], in[0]); });
  t["rng_bit_generator"] = random_bits;
  add("reduce_affine",
      [](const Inputs& in, Text v) { return ts::reduce(in[0], 0.5, affine, numbers(v)); });
  add("grad_reduce_affine", [](const Inputs& in, Text v) {
    return ts::grad(
        [&](Array x) { return ts::sum(ts::square(ts::reduce(x, 0, affine, numbers(v)))); })(in[0]);
  });
  add("reduce_window_affine", [](const Inputs& in, Text) {
    return ts::reduce_window(in[0], 0.5, affine,
                             {.window = {2, 3},
                              .strides = {1, 2},
                              .padding = {{1, 0}, {0, 1}},
                              .base_dilation = {1, 2}});
  });
  t["reduce_first_max"] = first_max;
}

}  // namespace golden
