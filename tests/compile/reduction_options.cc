// expect 19: has no option of this name; its options, in this order: axis
#include <tessera/tessera.h>

namespace ts = tessera;
using ts::Array;

void f(Array x) {
  ts::sum(x, {.dim = 1});
  ts::sum(x, {.ddof = 1});
  ts::prod(x, {.axes = {0, 1}});
  ts::mean(x, {.dim = 1});
  ts::mean(x, {.axis = 1, .keepdim = true});
  ts::var(x, {.correction = 1});
  ts::std(x, {.axis = 0, .unbiased = false});
  ts::max(x, {.dim = 0});
  ts::min(x, {.dim = 0, .keepdim = true});
  ts::any(x, {.dim = 0});
  ts::count_nonzero(x, {.dim = 0});
  ts::logsumexp(x, {.dim = 0});
  ts::norm(x, {.dim = 1});
  ts::norm(x, {.p = 1});
  ts::argmax(x, {.dim = 1});
  ts::argmin(x, {.axes = 1});
  ts::cumsum(x, {.dim = 1});
  ts::cumprod(x, {.axis = 1, .reverse = true});
  ts::cummax(x, {.dim = 1});
}
