#include "golden/golden.h"

#include <tessera/creation.h>
#include <tessera/random.h>

namespace golden {

namespace ts = tessera;
namespace random = tessera::random;

void add_random(std::map<std::string, Function>& t) {
  using Out = std::vector<Array>;
  auto dtype = [](const std::string& v) {
    return v == "uint8"    ? ts::u8
           : v == "uint16" ? ts::u16
           : v == "uint64" ? ts::u64
           : v == "f64"    ? ts::f64
           : v == "bf16"   ? ts::bf16
           : v == "uint32" ? ts::u32
                           : ts::f32;
  };
  t["bits"] = [=](const Inputs& in, const std::string& v) {
    return Out{random::bits(in[0], v == "uint64" ? ts::Shape{4} : ts::Shape{3, 2}, dtype(v))};
  };
  t["random_split"] = [](const Inputs& in, const std::string&) {
    return Out{random::split(in[0], 5)};
  };
  t["fold_in"] = [](const Inputs& in, const std::string&) {
    return Out{random::fold_in(in[0], 7)};
  };
  t["uniform"] = [=](const Inputs& in, const std::string& v) {
    if (v == "-2,3") return Out{random::uniform(in[0], {5}, ts::f32, -2, 3)};
    return Out{random::uniform(in[0], {v == "f64" ? 4 : 5}, dtype(v))};
  };
  t["normal"] = [=](const Inputs& in, const std::string& v) {
    return Out{v == "f64" ? random::normal(in[0], {4}, ts::f64) : random::normal(in[0], {2, 3})};
  };
  t["randint"] = [](const Inputs& in, const std::string&) {
    return Out{random::randint(in[0], {9}, -3, 10)};
  };
  t["permutation"] = [](const Inputs& in, const std::string&) {
    return Out{random::permutation(in[0], 13)};
  };
  t["bernoulli"] = [](const Inputs& in, const std::string&) {
    return Out{random::bernoulli(in[0], 0.3, ts::Shape{9})};
  };
  t["gumbel"] = [](const Inputs& in, const std::string&) {
    return Out{random::gumbel(in[0], {4})};
  };
  t["categorical"] = [](const Inputs& in, const std::string&) {
    return Out{random::categorical(in[0], ts::array({{0.1, 2.0, -1.0}, {1.0, 1.0, 1.0}}))};
  };
  t["truncated_normal"] = [](const Inputs& in, const std::string&) {
    return Out{random::truncated_normal(in[0], -2.0, 1.5, {5})};
  };
  t["choice"] = [](const Inputs& in, const std::string& v) {
    if (v == "p") return Out{random::choice(in[0], 4, {6}, true, ts::array({0.1, 0.2, 0.3, 0.4}))};
    return Out{random::choice(in[0], 10, {4}, v == "replace")};
  };
  t["exponential"] = [](const Inputs& in, const std::string&) {
    return Out{random::exponential(in[0], {4})};
  };
}

}  // namespace golden
