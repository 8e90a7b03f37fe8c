// Numbers as sums of two doubles, of about 100 bits: for what a double loses in exponents and where
// terms cancel. By additions and multiplications alone (T. J. Dekker, "A floating-point technique
// for extending the available precision", Numer. Math. 18 (1971); D. E. Knuth, TAOCP 4.2.2), so
// that every processor gives the same.
#pragma once

#include "api/special/in_float64.h"

namespace tessera::inline v0::detail {

/// Finite; low is at most half a unit of high. Logarithms and exponentials have no derivative: what
/// is made of them has a rule of its own.
struct DoubleDouble {
  Array high, low;
};

DoubleDouble sum_of(const Array& x, const Array& y);      // exact
DoubleDouble product_of(const Array& x, const Array& y);  // exact, of factors below 1e290
DoubleDouble pair_of(const Array& x);
/// A number as the sum of two doubles, in the shape of `like`.
DoubleDouble pair_like(const Array& like, double high, double low);

DoubleDouble plus(const DoubleDouble& x, const DoubleDouble& y);
DoubleDouble plus(const DoubleDouble& x, const Array& y);
DoubleDouble times(const DoubleDouble& x, const DoubleDouble& y);
DoubleDouble times(const DoubleDouble& x, const Array& y);
DoubleDouble minus(const DoubleDouble& x);
DoubleDouble over(const DoubleDouble& x, const DoubleDouble& y);
DoubleDouble chosen(const Array& condition, const DoubleDouble& x, const DoubleDouble& y);
Array rounded(const DoubleDouble& x);

/// The same names of doubles, so that what is written once serves both.
Array plus(const Array& x, const Array& y);
Array times(const Array& x, const Array& y);
Array minus(const Array& x);
Array over(const Array& x, const Array& y);
Array chosen(const Array& condition, const Array& x, const Array& y);
Array rounded(const Array& x);
/// The greater part of a number, and all of it.
inline const Array& head(const DoubleDouble& x) { return x.high; }
inline const Array& head(const Array& x) { return x; }
/// x + y, x and a constant in the shape of `like` as a Number: a DoubleDouble, or an Array.
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

/// Of a positive normal number, to 2^-77 of itself.
DoubleDouble log_of(const DoubleDouble& x);
/// Of t >= 0, to the same.
DoubleDouble log1p_of(const DoubleDouble& t);
/// To 2^-70 and more of itself where it is normal, to a unit where it is not, 0 and inf beyond.
DoubleDouble exp_of(const DoubleDouble& x);
/// The logarithm of the gamma function of a positive number, to 2^-70 and 2^-77 of itself.
DoubleDouble log_gamma_of(const DoubleDouble& x);
/// The same of gamma(1 + x) of small positive x, to 2^-70 of x.
DoubleDouble log_gamma_near_one(const Array& x);
/// The logarithm of the beta function of positive numbers, as a DoubleDouble or an Array.
template <class Number>
Number log_beta_of(const Array& a, const Array& b);

}  // namespace tessera::inline v0::detail
