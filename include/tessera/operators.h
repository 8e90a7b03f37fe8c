// The operators of arrays: NumPy broadcasting and promotion. Comparisons give boolean arrays; whole
// arrays compare with array_equal and allclose.
#pragma once

#include <tessera/array.h>

#include <concepts>

namespace tessera::inline v0 {

TESSERA_API Array operator+(Operand x, Operand y);
TESSERA_API Array operator-(Operand x, Operand y);
TESSERA_API Array operator*(Operand x, Operand y);
/// True division: integers give floats.
TESSERA_API Array operator/(Operand x, Operand y);
/// Remainder with the sign of the divisor, as NumPy has it.
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
// An Array converts explicitly to bool, which makes the language's own && || ! candidates: an exact
// match on the left wins over them, and leaves the right operand to bring the caller's line. Where
// a number is on one side both have to match exactly, as for !, and there is no line. Both sides
// are always evaluated.
TESSERA_API Array operator&&(const Array& x, Operand y);
TESSERA_API Array operator||(const Array& x, Operand y);
TESSERA_API Array operator!(const Array& x);
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
