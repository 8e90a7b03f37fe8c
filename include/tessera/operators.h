// The operators of arrays, with NumPy's broadcasting and promotion. Comparisons return boolean
// arrays; use array_equal and allclose to compare whole arrays.
#pragma once

#include <tessera/array.h>

#include <concepts>

namespace tessera::inline v0 {

TESSERA_API Array operator+(Operand x, Operand y);
TESSERA_API Array operator-(Operand x, Operand y);
TESSERA_API Array operator*(Operand x, Operand y);
/// True division: integers give floats.
TESSERA_API Array operator/(Operand x, Operand y);
/// The remainder with the sign of the divisor, as in NumPy.
TESSERA_API Array operator%(Operand x, Operand y);
TESSERA_API Array operator-(Operand x);
TESSERA_API Array operator+(Operand x);
TESSERA_API Array operator==(Operand x, Operand y);
TESSERA_API Array operator!=(Operand x, Operand y);
TESSERA_API Array operator<(Operand x, Operand y);
TESSERA_API Array operator<=(Operand x, Operand y);
TESSERA_API Array operator>(Operand x, Operand y);
TESSERA_API Array operator>=(Operand x, Operand y);
TESSERA_API Array operator&(Operand x, Operand y);
TESSERA_API Array operator|(Operand x, Operand y);
TESSERA_API Array operator^(Operand x, Operand y);
TESSERA_API Array operator~(Operand x);
TESSERA_API Array operator<<(Operand x, Operand y);
TESSERA_API Array operator>>(Operand x, Operand y);
// Both sides are always evaluated. An Array converts explicitly to bool, which makes the built-in
// && || ! viable candidates. The overloads win over them because their left operand is an exact
// match; the right operand is converted to an Operand, which captures the caller's line. If one
// side is a number, both sides must match exactly, as for !, so no line is captured.
TESSERA_API Array operator&&(const Array& x, Operand y);
TESSERA_API Array operator||(const Array& x, Operand y);
TESSERA_API Array operator!(const Array& x);
/// One of the two is an Array and the other a C++ number.
template <class X, class Y>
concept ArrayAndNumber = (std::same_as<X, Array> && Number<Y>) ||
                         (Number<X> && std::same_as<Y, Array>);
template <class X, class Y>
requires ArrayAndNumber<X, Y> Array operator&&(const X& x, const Y& y) {
  return operator&&(Array(x), Operand(y));
}
template <class X, class Y>
requires ArrayAndNumber<X, Y> Array operator||(const X& x, const Y& y) {
  return operator||(Array(x), Operand(y));
}
inline Array& operator+=(Array& x, Operand y) { return x = Operand(x, y.loc) + y; }
inline Array& operator-=(Array& x, Operand y) { return x = Operand(x, y.loc) - y; }
inline Array& operator*=(Array& x, Operand y) { return x = Operand(x, y.loc) * y; }
inline Array& operator/=(Array& x, Operand y) { return x = Operand(x, y.loc) / y; }

}  // namespace tessera::inline v0
