// NumPy-level functions: small groups of ops, written on values so that the same code traces into
// the innermost program or, outside any trace, becomes one small program that is compiled once and
// run as a unit.
#pragma once

#include "api/trace/trace.h"
#include "ops/build.h"

#include <functional>
#include <initializer_list>
#include <span>

namespace tessera::inline v0::detail {

/// `body` receives the operands as values of builder `b` and returns the results as values of it.
/// Errors that it throws are reported as the user's. `name` heads them and names the compiled
/// program.
using CompositeBody = std::function<Values(Builder& b, std::span<const Value> in)>;
std::vector<Array> composite(const char* name, std::span<const Array> inputs, const SourceLoc& loc,
                             const CompositeBody& body);

/// Together with the operands' types, identifies the program that a composite builds.
struct CompositeKey {
  const char* name = nullptr;  // compared by address: a literal
  void (*function)() = nullptr;
  int kind = 0;  // distinguishes uses of `function`
  bool operator==(const CompositeKey&) const = default;
};
/// As composite, for a body with one result that depends only on `key` and the types of its one or
/// two operands. Each thread remembers the compiled programs of its last calls, so that a repeated
/// call outside traces neither builds nor hashes the program again.
Array composite_once(const CompositeKey& key, std::span<const Array> inputs, const SourceLoc& loc,
                     const CompositeBody& body);

/// As composite, for a body with one result.
template <class F>
Array composite1(const char* name, std::initializer_list<Array> inputs, const SourceLoc& loc,
                 F&& body) {
  return composite(name, std::span<const Array>(inputs.begin(), inputs.size()), loc,
                   [&](Builder& b, std::span<const Value> in) { return Values{body(b, in)}; })[0];
}
template <class F>
Array composite1(const char* name, std::span<const Array> inputs, const SourceLoc& loc, F&& body) {
  return composite(name, inputs, loc,
                   [&](Builder& b, std::span<const Value> in) { return Values{body(b, in)}; })[0];
}

/// Broadcasts to `shape` by NumPy's rules.
Value broadcast_to(Value x, const Shape& shape);
/// Brings both to their promoted dtype (weak if both are) and their common shape. `name` heads the
/// errors.
void promote_and_broadcast(Value& x, Value& y, const char* name);
void promote_dtypes(Value& x, Value& y);
/// The types that two operands are promoted to, by `promote`, except that weak float scalars are
/// doubles.
Promoted promote_types(const Type& x, const Type& y);
/// x in a floating dtype: integers and booleans become float32 (64-bit ones and weak scalars
/// float64), other dtypes are kept.
Value to_inexact(Value x);
/// As to_inexact, but a weak double becomes float32: for functions that draw numbers of their
/// operand's dtype.
Value to_visible_inexact(Value x);
/// Brings both to the floating form of their promoted dtype in one conversion, so that -3 with a
/// uint8 operand stays -3.
void promote_inexact(Value& x, Value& y);
/// `axes` normalised, sorted and unique; all axes if empty. Throws ShapeError, naming `name`, for
/// invalid axes.
Ints normalize_axes(std::span<const std::int64_t> axes, int rank, const char* name,
                    const SourceLoc& loc);
/// `x` with axes of extent 1 inserted at `axes`.
Value keep_dims(Value x, const Ints& axes);

}  // namespace tessera::inline v0::detail
