#include <tessera/special.h>

#include "api/trace/composite.h"
#include "ops/elementwise/special.h"

namespace tessera::inline v0 {

using detail::composite1;
using detail::to_inexact;

Array gammaln(Operand x) {
  return composite1("gammaln", {x.array}, x.loc, [](Builder&, std::span<const Value> in) {
    return ops::lgamma(to_inexact(in[0]));
  });
}
Array digamma(Operand x) {
  return composite1("digamma", {x.array}, x.loc, [](Builder&, std::span<const Value> in) {
    return ops::digamma(to_inexact(in[0]));
  });
}
Array polygamma(std::int64_t n, Operand x) {
  return composite1("polygamma", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::polygamma(to_inexact(in[0]), n);
  });
}

}  // namespace tessera::inline v0
