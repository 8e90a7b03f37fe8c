// What an Array handle points at.
#pragma once

#include "ir/builder.h"
#include "runtime/array_data.h"

#include <tessera/array.h>

namespace tessera::inline v0::detail {

struct ArrayImpl {
  Type type;
  // concrete
  mutable runtime::ArrayDataPtr data;    // made on first use for a bare number
  mutable runtime::BufferPtr host_copy;  // keeps a gathered copy alive for host()
  mutable std::shared_ptr<const std::vector<float>> as_floats;  // a weak double, for host()
  /// A bare C++ number: a literal inside traces, an argument outside them (so that x * i compiles
  /// once for every i).
  bool is_number = false;
  union {
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer;
    double real;
  };
  // traced: a variable of the trace whose id this is
  std::uint64_t trace = 0;
  Var var = 0;
  SourceLoc loc;  // where it came from, for the story of a leaked value

  bool concrete() const { return is_number || data != nullptr; }
  bool traced() const { return trace != 0; }
};

/// A weak float is computed in double until it meets a dtype, so that 0.1 is 0.1 in a float64
/// program; to users it is what it becomes where it meets none: float32.
inline DType visible_dtype(const Type& t) {
  return t.weak && t.dtype == DType::float64 ? DType::float32 : t.dtype;
}
/// A type as users see it, for messages: "f32[3]", "f32[]*" where it is weak.
std::string visible_text(const Type& t);

/// The data of a concrete array; makes it for a number.
const runtime::ArrayDataPtr& data_of(const ArrayImpl& a);
/// The literal of a bare number.
Literal literal_of(const ArrayImpl& a);

Array make_concrete(runtime::ArrayDataPtr data);
Array make_traced(std::uint64_t trace, Var var, const Type& type, const SourceLoc& loc);
Array make_abstract(const Type& type);

/// The impl of a non-empty array; TraceError naming `function` for an empty one.
const ArrayImpl& need(const Array& a, const char* function, const SourceLoc& loc = {});

}  // namespace tessera::inline v0::detail
