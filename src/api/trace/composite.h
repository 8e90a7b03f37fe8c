// NumPy-level functions: a few ops that belong together, written on values so that the same lines
// trace into the innermost program or, outside any trace, become one small program that is compiled
// once and run as a unit.
#pragma once

#include "api/trace/trace.h"
#include "ops/build.h"

#include <functional>
#include <initializer_list>
#include <span>

namespace tessera::inline v0::detail {

/// `body` gets the operands as values of one builder and gives the results as values of it. Errors
/// that it throws are the user's. `name` heads them and names the compiled program.
using CompositeBody = std::function<Values(Builder& b, std::span<const Value> in)>;
std::vector<Array> composite(const char* name, std::span<const Array> inputs, const SourceLoc& loc,
                             const CompositeBody& body);

/// What decides the program that a composite builds, besides the types of its operands.
struct CompositeKey {
  const char* name = nullptr;  // by address: literals
  void (*function)() = nullptr;
  int kind = 0;  // of what is done around `function`
  bool operator==(const CompositeKey&) const = default;
};
/// As composite, for a body with one result that `key` and the types of one or two operands decide.
/// Each thread remembers the compiled programs of its last calls, so that a call outside traces
/// neither builds nor hashes one again.
Array composite_once(const CompositeKey& key, std::span<const Array> inputs, const SourceLoc& loc,
                     const CompositeBody& body);

/// One result.
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

/// NumPy broadcasting to `shape`.
Value broadcast_to(Value x, const Shape& shape);
/// Both in their promoted dtype (weak where both are) and their common shape. `name` heads the
/// errors.
void promote_and_broadcast(Value& x, Value& y, const char* name);
void promote_dtypes(Value& x, Value& y);
/// What two operands become: `promote`, and weak floats of no dimensions are doubles.
Promoted promote_types(const Type& x, const Type& y);
/// In a floating dtype: integers and booleans become float32 (float64 for 64-bit ones, and for weak
/// scalars), others are kept.
Value to_inexact(Value x);
/// As to_inexact, but a weak double in float32: for what draws numbers of its operand's dtype.
Value to_visible_inexact(Value x);
/// Both in the floating dtype of what they promote to, converted once: -3 beside uint8 stays -3.
void promote_inexact(Value& x, Value& y);
/// `axes` normalised, sorted and unique; all axes when empty. ShapeError naming `name` otherwise.
Ints normalize_axes(std::span<const std::int64_t> axes, int rank, const char* name,
                    const SourceLoc& loc);
/// `x` with extents of 1 put back at `axes`.
Value keep_dims(Value x, const Ints& axes);

}  // namespace tessera::inline v0::detail
