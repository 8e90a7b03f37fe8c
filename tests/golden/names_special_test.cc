#include "golden/names.h"

#include <tessera/special.h>

namespace golden {

namespace ts = tessera;

namespace {
using In = const Arrays&;
using Args = const Arguments&;
}  // namespace

// To so many units of the results themselves: of float64, of float32 one rounding.
void add_special(Table& t) {
#define ONE(name, ulps) \
  t[#name] = {[](In in, Args) { return Arrays{ts::name(in[0])}; }, ulps, true, true}
#define TWO(name, ulps) \
  t[#name] = {[](In in, Args) { return Arrays{ts::name(in[0], in[1])}; }, ulps, true, true}
  ONE(gamma, 128);  // the exponential of a logarithm as large as 74
  ONE(expi, 8);
  ONE(gammasgn, 0), ONE(factorial, 8), ONE(exp1, 8), ONE(spence, 8);
  ONE(erfcx, 256), ONE(dawsn, 256);  // their derivatives cancel, 1 - 2 x f
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
#undef ONE
#undef TWO
}

}  // namespace golden
