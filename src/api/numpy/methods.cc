// The methods of Array that call functions of the same name.
#include <tessera/array.h>
#include <tessera/contractions.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>

namespace tessera::inline v0 {

Array Array::transpose(std::source_location loc) const { return v0::transpose({*this, loc}); }
Array Array::transpose(const std::vector<std::int64_t>& p, std::source_location loc) const {
  return v0::transpose({*this, loc}, p);
}
Array Array::swapaxes(std::int64_t a, std::int64_t b, std::source_location loc) const {
  return v0::swapaxes({*this, loc}, a, b);
}
Array Array::squeeze(AxisList axis, std::source_location loc) const {
  return v0::squeeze({*this, loc}, std::move(axis));
}
Array Array::clip(const Operand& lo, const Operand& hi) const {
  return v0::clip({*this, lo.loc}, lo, hi);
}
Array Array::round(std::source_location loc) const { return v0::round({*this, loc}); }
Array Array::dot(const Operand& y) const { return v0::dot({*this, y.loc}, y); }
Array Array::matmul(const Operand& y) const { return v0::matmul({*this, y.loc}, y); }

#define TESSERA_METHOD_(name, Options)                                  \
  Array Array::name(std::source_location loc) const {                   \
    return v0::name(Operand(*this, loc), Options());                    \
  }                                                                     \
  Array Array::name(const Options& o, std::source_location loc) const { \
    return v0::name(Operand(*this, loc), o);                            \
  }
TESSERA_METHOD_(sum, ReduceOptions)
TESSERA_METHOD_(prod, ReduceOptions)
TESSERA_METHOD_(mean, MeanOptions)
TESSERA_METHOD_(var, VarOptions)
TESSERA_METHOD_(std, VarOptions)
TESSERA_METHOD_(max, ReduceOptions)
TESSERA_METHOD_(min, ReduceOptions)
TESSERA_METHOD_(any, LogicOptions)
TESSERA_METHOD_(all, LogicOptions)
TESSERA_METHOD_(argmax, ArgOptions)
TESSERA_METHOD_(argmin, ArgOptions)
TESSERA_METHOD_(cumsum, CumulativeOptions)
TESSERA_METHOD_(cumprod, CumulativeOptions)
#undef TESSERA_METHOD_

}  // namespace tessera::inline v0
