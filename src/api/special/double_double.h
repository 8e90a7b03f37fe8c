// Numbers as unevaluated sums of two doubles, about 100 bits, for exponents and cancelling terms
// where a double loses too much. Only additions and multiplications are used, so that every
// processor gives the same result (T. J. Dekker, "A floating-point technique for extending the
// available precision", Numer. Math. 18 (1971); D. E. Knuth, TAOCP 4.2.2).
#pragma once

#include "api/special/in_float64.h"

namespace tessera::inline v0::detail {

/// Both parts are finite; |low| is at most half an ulp of high. log_of and exp_of are not
/// differentiable: functions that use them have derivative rules of their own.
struct DoubleDouble {
  Array high, low;
};

DoubleDouble sum_of(const Array& x, const Array& y);      // exact
DoubleDouble product_of(const Array& x, const Array& y);  // exact for factors below 1e290
DoubleDouble pair_of(const Array& x);
/// A constant given as the sum of two doubles, in the shape of `like`.
DoubleDouble pair_like(const Array& like, double high, double low);

DoubleDouble plus(const DoubleDouble& x, const DoubleDouble& y);
DoubleDouble plus(const DoubleDouble& x, const Array& y);
DoubleDouble times(const DoubleDouble& x, const DoubleDouble& y);
DoubleDouble times(const DoubleDouble& x, const Array& y);
DoubleDouble minus(const DoubleDouble& x);
DoubleDouble over(const DoubleDouble& x, const DoubleDouble& y);
DoubleDouble chosen(const Array& condition, const DoubleDouble& x, const DoubleDouble& y);
Array rounded(const DoubleDouble& x);

/// The same functions on doubles, so that code can be generic over both.
Array plus(const Array& x, const Array& y);
Array times(const Array& x, const Array& y);
Array minus(const Array& x);
Array over(const Array& x, const Array& y);
Array chosen(const Array& condition, const Array& x, const Array& y);
Array rounded(const Array& x);
/// The leading part of a number; a double is its own.
inline const Array& head(const DoubleDouble& x) { return x.high; }
inline const Array& head(const Array& x) { return x; }
/// x + y, x, and a constant in the shape of `like`, each as a Number: DoubleDouble or Array.
template <class Number>
Number sum_as(const Array& x, const Array& y) {
  if constexpr (std::is_same_v<Number, DoubleDouble>)
    return sum_of(x, y);
  else
    return x + y;
}
template <class Number>
Number number_of(const Array& x) {
  if constexpr (std::is_same_v<Number, DoubleDouble>)
    return pair_of(x);
  else
    return x;
}
template <class Number>
Number constant_as(const Array& like, double high, double low) {
  if constexpr (std::is_same_v<Number, DoubleDouble>)
    return pair_like(like, high, low);
  else
    return full_like(like, high);
}

/// The logarithm of a positive normal number; relative error 2^-77.
DoubleDouble log_of(const DoubleDouble& x);
/// log(1 + t) for t >= 0, with the same error.
DoubleDouble log1p_of(const DoubleDouble& t);
/// Relative error below 2^-70 if the result is normal, one ulp if it is subnormal; 0 and inf
/// beyond.
DoubleDouble exp_of(const DoubleDouble& x);
/// The logarithm of the gamma function of a positive number; the absolute error is about 2^-70 plus
/// 2^-77 of the result.
DoubleDouble log_gamma_of(const DoubleDouble& x);
/// log(gamma(1 + x)) for small positive x; the error is 2^-70 x.
DoubleDouble log_gamma_near_one(const Array& x);
/// The logarithm of the beta function of positive numbers. Number is DoubleDouble or Array.
template <class Number>
Number log_beta_of(const Array& a, const Array& b);

}  // namespace tessera::inline v0::detail
