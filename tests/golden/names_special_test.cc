#include "golden/names.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/special.h>

namespace golden {

namespace ts = tessera;

namespace {
using In = const Arrays&;
using Args = const Arguments&;
// Both parts of complex numbers; derivatives are those of the first part.
Arrays parts_of(const Array& w) { return {ts::real(w), ts::imag(w)}; }
void add_further(Table& t) {
  const auto put = [&](const char* name, Arrays (*f)(In), double ulps) {
    t[name] = {[f](In in, Args) { return f(in); }, ulps, true, true};
  };
  put(
      "owens_t", [](In in) { return Arrays{ts::owens_t(in[0], in[1])}; }, 64);
  put(
      "hyp1f1", [](In in) { return Arrays{ts::hyp1f1(in[0], in[1], in[2])}; }, 64);
  put(
      "hyp2f1", [](In in) { return Arrays{ts::hyp2f1(in[0], in[1], in[2], in[3])}; }, 256);
  put(
      "loggamma", [](In in) { return Arrays{ts::loggamma(in[0])}; }, 64);
  // Near a zero of one part, its error in units grows with the ratio of the other part to it; the
  // points avoid such zeros.
  put(
      "loggamma (complex)", [](In in) { return parts_of(ts::loggamma(ts::complex(in[0], in[1]))); },
      64);
  put(
      "wofz", [](In in) { return parts_of(ts::wofz(ts::complex(in[0], in[1]))); }, 64);
  put(
      "sici",
      [](In in) {
        const auto [si, ci] = ts::sici(in[0]);
        return Arrays{si, ci};
      },
      64);
  put(
      "fresnel",
      [](In in) {
        const auto [s, c] = ts::fresnel(in[0]);
        return Arrays{s, c};
      },
      64);
  // The results oscillate, and are less exact near a zero.
  put(
      "bessel_jn",
      [](In in) {
        const Array all = ts::bessel_jn(in[0], 5);
        Arrays orders;
        for (std::int64_t n = 0; n <= 5; ++n) orders.push_back(all[n]);
        return orders;
      },
      1024);
  t["sph_harm_y"] = {
      [](In in, Args a) {
        return parts_of(ts::sph_harm_y(Array(static_cast<int>(a.n(0))),
                                       Array(static_cast<int>(a.n(1))), in[0], in[1], 8));
      },
      64, true, true};
}
}  // namespace

// The bounds are in units of each result, for float64; float32 results are rounded once.
void add_special(Table& t) {
#define ONE(name, ulps) \
  t[#name] = {[](In in, Args) { return Arrays{ts::name(in[0])}; }, ulps, true, true}
#define TWO(name, ulps) \
  t[#name] = {[](In in, Args) { return Arrays{ts::name(in[0], in[1])}; }, ulps, true, true}
  ONE(gamma, 128);  // by the exponential of a logarithm as large as 74
  ONE(expi, 8);
  ONE(gammasgn, 0), ONE(factorial, 8), ONE(exp1, 8), ONE(spence, 8);
  ONE(erfcx, 256), ONE(dawsn, 256);  // their derivatives cancel: 1 - 2 x f
  for (const std::int64_t n : {0, 2, 7, 100})
    t["expn (" + std::to_string(n) + ")"] = {
        [n](In in, Args) { return Arrays{ts::expn(n, in[0])}; }, 8, true, true};
  TWO(beta, 64), TWO(poch, 64), TWO(comb, 8), TWO(boxcox, 8), TWO(boxcox1p, 8);
  ONE(i0, 4), ONE(i1, 4), ONE(i0e, 4);
  ONE(i1e, 8);     // its derivative cancels beyond its maximum
  ONE(ndtr, 256);  // the argument of erfc is rounded
  ONE(log_ndtr, 256);
  ONE(ndtri, 16), ONE(logit, 4), ONE(entr, 4);
  TWO(betaln, 64), TWO(zeta, 4), TWO(gammainc, 64), TWO(gammaincc, 64);
  TWO(xlogy, 4), TWO(xlog1py, 4), TWO(rel_entr, 8), TWO(kl_div, 64);
  t["betainc"] = {[](In in, Args) { return Arrays{ts::betainc(in[0], in[1], in[2])}; }, 128, true,
                  true};
  add_further(t);
#undef ONE
#undef TWO
}

}  // namespace golden
