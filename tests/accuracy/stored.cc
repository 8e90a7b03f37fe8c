// The functions whose exact results are stored, and their measurement.
#include "measure.h"
#include "ulps.h"

#include <map>
#include <stdexcept>

namespace accuracy {

namespace {

using In = std::span<const Array>;

const std::map<std::string, Array>& tensors_of(const std::string& folder) {
  static std::map<std::string, std::map<std::string, Array>> files;
  std::map<std::string, Array>& all = files[folder];
  const std::string from = folder.empty() ? TESSERA_SOURCE_DIR "/tests/accuracy" : folder;
  if (all.empty())
    for (const char* file :
         {"exact", "exact_several", "exact_further", "exact_integrals", "exact_complex"})
      for (const auto& [name, x] : ts::load_safetensors(from + "/" + file + ".safetensors").tensors)
        all.emplace(name, x);
  return all;
}

template <class T>
Worst measured(const Stored& f, DType dtype, const std::string& folder, const test::Share& share) {
  const std::string prefix = f.name + "/" + std::string(name_of(dtype)) + "/";
  auto tensor = [&](const std::string& part) {
    const Array& all = stored(folder, prefix + part);
    if (share.of == 1) return all;
    return all(
        ts::range(static_cast<std::int64_t>(share.first), {}, static_cast<std::int64_t>(share.of)));
  };
  std::vector<Array> in;
  for (int i = 0; i < f.operands; ++i) in.push_back(tensor("in" + std::to_string(i)));
  const auto computed = ts::jit([&f](const std::vector<Array>& v) { return f.computed(v); });
  const Array result = computed(in), high = tensor("high");
  const auto got = result.template host<T>();
  const auto exact = high.template host<double>();
  std::vector<float> part(exact.size()), least = part;
  if (has_stored(folder, prefix + "least")) least = tensor("least").template to_vector<float>();
  if constexpr (std::is_same_v<T, double>) part = tensor("part").template to_vector<float>();
  const auto rows = static_cast<std::int64_t>(exact.size());
  Worst worst{.measured = rows};
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto wide = static_cast<Wider<T>>(exact[i]);
    const double u = ulps_between<T>(got[i], wide + wide * static_cast<Wider<T>>(part[i]),
                                     static_cast<double>(least[i]));
    if (!(u > worst.ulps)) continue;
    auto operand = [&](std::size_t k) {
      return k < in.size() ? static_cast<double>(widened(in[k].template host<T>()[i])) : 0.0;
    };
    worst = {.ulps = u,
             .x = operand(0),
             .y = operand(1),
             .got = static_cast<double>(widened(got[i])),
             .exact = exact[i],
             .z = operand(2),
             .measured = rows};
  }
  return worst;
}

template <class F>
Stored one(std::string name, F f, std::string tails) {
  return {std::move(name), 1, [f](In in) { return f(in[0]); }, std::move(tails)};
}
template <class F>
Stored two(std::string name, F f, std::string tails) {
  return {std::move(name), 2, [f](In in) { return f(in[0], in[1]); }, std::move(tails)};
}

}  // namespace

const Array& stored(const std::string& folder, const std::string& name) {
  const auto& tensors = tensors_of(folder);
  const auto it = tensors.find(name);
  if (it == tensors.end()) throw std::runtime_error("no " + name + " in " + folder);
  return it->second;
}
bool has_stored(const std::string& folder, const std::string& name) {
  return tensors_of(folder).contains(name);
}

#define TESSERA_ONE(name, tails) \
  one(                           \
      #name, [](const Array& x) { return ts::name(x); }, tails)
#define TESSERA_TWO(name, tails) \
  two(                           \
      #name, [](const Array& x, const Array& y) { return ts::name(x, y); }, tails)
#define TESSERA_POLYGAMMA(n)                                                    \
  one(                                                                          \
      "polygamma (" #n ")", [](const Array& x) { return ts::polygamma(n, x); }, \
      "inf at 0, NaN below")
#define TESSERA_EXPN(n, at_zero)                                      \
  one(                                                                \
      "expn (" #n ")", [](const Array& x) { return ts::expn(n, x); }, \
      at_zero " at 0, 0 at inf, NaN below")

const std::vector<Stored>& stored_functions() {
  static const std::vector<Stored> all{
      TESSERA_ONE(digamma,
                  "NaN at zero and negative integers, inf at inf; below 0 ulps of at least what is "
                  "subtracted"),
      TESSERA_ONE(gamma, "infinite at zeros, NaN at negative integers and -inf"),
      TESSERA_TWO(betaln, "inf at 0"),
      one(
          "multigammaln (3)", [](const Array& x) { return ts::multigammaln(x, 3); }, "inf at 1"),
      TESSERA_TWO(zeta, "inf at s = 1 and q = 0, NaN below"),
      TESSERA_POLYGAMMA(1),
      TESSERA_POLYGAMMA(2),
      TESSERA_POLYGAMMA(9),
      TESSERA_TWO(gammainc, "0 at x = 0, 1 at x = inf, NaN for negative operands"),
      TESSERA_TWO(gammaincc, "1 at x = 0, 0 at x = inf, NaN for negative operands"),
      {"betainc", 3, [](In in) { return ts::betainc(in[0], in[1], in[2]); },
       "0 at x = 0, 1 at x = 1, NaN outside"},
      TESSERA_ONE(expi, "-inf at 0, 0 at -inf, inf at inf"),
      TESSERA_ONE(i0, "inf at infinities"),
      TESSERA_ONE(i0e, "0 at infinities"),
      TESSERA_ONE(i1, "infinite at infinities"),
      TESSERA_ONE(i1e, "0 at infinities"),
      TESSERA_ONE(ndtr, "0 at -inf, 1 at inf"),
      TESSERA_ONE(log_ndtr, "-inf at -inf, 0 at inf"),
      TESSERA_ONE(ndtri, "infinite at 0 and 1, NaN outside"),
      TESSERA_ONE(logit, "infinite at 0 and 1, NaN outside"),
      TESSERA_TWO(xlogy, "0 where x is 0"),
      TESSERA_TWO(xlog1py, "0 where x is 0"),
      TESSERA_ONE(entr, "0 at 0, -inf below"),
      TESSERA_TWO(rel_entr, "0 where x is 0, inf below"),
      TESSERA_TWO(kl_div, "y where x is 0, inf below"),
      TESSERA_ONE(exp1, "inf at 0, 0 at inf, NaN below"),
      TESSERA_EXPN(2, "1"),
      TESSERA_EXPN(9, "1/8"),
      TESSERA_ONE(spence, "pi^2/6 at 0, 0 at 1, -inf at inf, NaN below"),
      TESSERA_ONE(erfcx, "inf at -inf, 0 at inf"),
      TESSERA_ONE(dawsn, "0 at infinities"),
      TESSERA_TWO(poch, "1 where m is 0"),
      TESSERA_TWO(comb, "0 of negative numbers and for k above n"),
      TESSERA_TWO(beta, "inf at 0"),
      TESSERA_TWO(boxcox, "log where the power is 0"),
      TESSERA_TWO(boxcox1p, "log1p where the power is 0"),
      TESSERA_ONE(loggamma, "inf at 0, NaN below"),
      one(
          "sici (Si)", [](const Array& x) { return ts::sici(x).first; }, "pi/2 at inf"),
      one(
          "sici (Ci)", [](const Array& x) { return ts::sici(x).second; },
          "-inf at 0, 0 at inf, NaN at -inf; from 4 on ulps of at least 1 / x"),
      one(
          "fresnel (S)", [](const Array& x) { return ts::fresnel(x).first; }, "1/2 at inf"),
      one(
          "fresnel (C)", [](const Array& x) { return ts::fresnel(x).second; }, "1/2 at inf"),
      TESSERA_TWO(owens_t, "0 where h is infinite, half the tail where a is"),
      {"hyp1f1", 3, [](In in) { return ts::hyp1f1(in[0], in[1], in[2]); }, "inf at poles in b"},
      {"hyp2f1", 4, [](In in) { return ts::hyp2f1(in[0], in[1], in[2], in[3]); },
       "inf beyond 1 and at poles in c"},
      one(
          "bessel_jn (5)", [](const Array& x) { return ts::bessel_jn(x, 5)[5]; },
          "0 at infinities; from 5 on ulps of at least sqrt(2 / (pi x))"),
      one(
          "sph_harm_y (7, 3)",
          [](const Array& x) {
            return ts::astype(ts::real(ts::sph_harm_y(Array(7), Array(3), x, 0.0, 7)), x.dtype());
          },
          "ulps of at least 0.3 off the poles"),
  };
  return all;
}
#undef TESSERA_ONE
#undef TESSERA_TWO
#undef TESSERA_POLYGAMMA
#undef TESSERA_EXPN

Worst measure(const Stored& f, DType dtype, const std::string& folder, const test::Share& share) {
  switch (dtype) {
    case DType::float64: return measured<double>(f, dtype, folder, share);
    case DType::float16: return measured<ts::float16_t>(f, dtype, folder, share);
    case DType::bfloat16: return measured<ts::bfloat16_t>(f, dtype, folder, share);
    default: return measured<float>(f, dtype, folder, share);
  }
}

}  // namespace accuracy
