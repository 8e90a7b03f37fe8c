// What an Array handle points at.
#pragma once

#include "ir/builder.h"
#include "runtime/array_data.h"

#include <tessera/array.h>

#include <atomic>

namespace tessera::inline v0::detail {

struct ArrayImpl {
  Type type;
  // concrete
  runtime::ArrayDataPtr data;  // of what is no bare number
  mutable std::shared_ptr<const std::vector<float>>
      as_floats;  // a weak double or its parts, for host()
  /// A bare C++ number: a literal inside traces, an argument outside them (so that x * i compiles
  /// once for every i).
  bool is_number = false;
  mutable std::atomic<bool> has_number{false};
  mutable runtime::ArrayDataPtr number;  // a bare number as an argument, made on first use
  union {
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer;
    double real;
  };
  double imaginary = 0;  // of a complex one
  // traced: a variable of the trace whose id this is
  std::uint64_t trace = 0;
  Var var = 0;
  SourceLoc loc;  // where it came from, for the story of a leaked value

  bool concrete() const { return is_number || data != nullptr; }
  bool traced() const { return trace != 0; }
};

/// A weak float is computed in double until it meets a dtype, so that 0.1 is 0.1 in a float64
/// program; to users it is what it becomes where it meets none: float32. So are complex numbers.
inline DType visible_dtype(const Type& t) {
  if (!t.weak) return t.dtype;
  return t.dtype == DType::float64      ? DType::float32
         : t.dtype == DType::complex128 ? DType::complex64
                                        : t.dtype;
}
/// A type as users see it, for messages: "f32[3]", "f32[]*" where it is weak.
std::string visible_text(const Type& t);

/// The data of a concrete array; makes it for a number.
const runtime::ArrayDataPtr& data_of(const ArrayImpl& a);
/// The same, but null for what has none and for a number that none was made for yet.
const runtime::ArrayData* known_data(const ArrayImpl& a);
/// The literal of a bare number.
Literal literal_of(const ArrayImpl& a);

Array make_concrete(runtime::ArrayDataPtr data);
Array make_traced(std::uint64_t trace, Var var, const Type& type, const SourceLoc& loc);
Array make_abstract(const Type& type);

/// An array whose values `function` reads while this lives: nothing writes over them meanwhile.
/// TraceError where there are none: it is empty, traced, abstract, or was donated. Every way to an
/// array's values goes through one of these, or is a call's (runtime/holds.h).
class Reading {
 public:
  Reading(const Array& array, const char* function, const SourceLoc& loc = {});
  const runtime::ArrayData& operator*() const { return *data_; }
  const runtime::ArrayData* operator->() const { return data_.get(); }
  const runtime::ArrayDataPtr& data() const { return data_; }

 private:
  const runtime::ArrayDataPtr& data_;  // of the array, which outlives this
  runtime::Use use_;
};

/// TraceError in the name of `function` where one of the arrays was donated.
void check_alive(std::span<const Array> inputs, const char* function, const SourceLoc& loc = {});

/// An array of its own with the values of `x`, for a function that changes nothing: what becomes of
/// the one is not the other's affair.
Array same_values(const Array& x, const char* function, const SourceLoc& loc);

/// The impl of a non-empty array; TraceError naming `function` for an empty one.
const ArrayImpl& need(const Array& a, const char* function, const SourceLoc& loc = {});

}  // namespace tessera::inline v0::detail
