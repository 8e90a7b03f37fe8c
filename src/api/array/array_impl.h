// The state behind an Array handle.
#pragma once

#include "ir/builder.h"
#include "runtime/array_data.h"

#include <tessera/array.h>

#include <atomic>

namespace tessera::inline v0::detail {

class Chain;  // api/trace/chain.h

struct ArrayImpl {
  Type type;
  // concrete arrays
  /// Null for a bare number. The data of a gathered result have no shards until its chain has run;
  /// their type and layout are known before.
  runtime::ArrayDataPtr data;
  mutable std::shared_ptr<const std::vector<float>>
      as_floats;  // cached parts of a weak double, for host()
  /// A bare C++ number: a literal inside traces, an argument outside them (so that x * i compiles
  /// once for every i).
  bool is_number = false;
  mutable std::atomic<bool> has_number{false};
  mutable runtime::ArrayDataPtr number;  // its data as an argument, made on first use
  union {
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer;
    double real;
  };
  double imaginary = 0;  // of a complex number
  // traced arrays: variable `var` of the trace with this id
  std::uint64_t trace = 0;
  // gathered results: variable `var` of this chain, also when it has run
  std::shared_ptr<Chain> chain;
  Var var = 0;
  SourceLoc loc;  // where the value was made, for errors about leaked values

  bool concrete() const { return is_number || data != nullptr; }
  bool traced() const { return trace != 0; }
  /// Whether it is a gathered result that has not been computed yet.
  bool waits() const;

  ArrayImpl() = default;
  ArrayImpl(const ArrayImpl&) = delete;
  ArrayImpl& operator=(const ArrayImpl&) = delete;
  ~ArrayImpl() {
    if (chain) leave_chain();
  }

 private:
  void leave_chain() const noexcept;
};

/// The dtype that users see. A weak float is computed in double until it meets an array with a
/// dtype of its own, so that 0.1 is accurate in a float64 program; users see float32, which it
/// becomes if it meets none. Weak complex numbers are treated alike.
inline DType visible_dtype(const Type& t) {
  if (!t.weak) return t.dtype;
  return t.dtype == DType::float64      ? DType::float32
         : t.dtype == DType::complex128 ? DType::complex64
                                        : t.dtype;
}
/// A type as error messages show it: "f32[3]", or "f32[]*" if it is weak.
std::string visible_text(const Type& t);

/// The data of a concrete array. For a bare number, the data is made on first use. For a gathered
/// result, its chain runs first; throws the error if that fails.
const runtime::ArrayDataPtr& data_of(const ArrayImpl& a);
/// As data_of, but null if the array has no data, or is a number whose data has not been made yet.
/// A gathered result may not have been computed.
const runtime::ArrayData* known_data(const ArrayImpl& a);
/// The literal of a bare number.
Literal literal_of(const ArrayImpl& a);

Array make_concrete(runtime::ArrayDataPtr data);
Array make_traced(std::uint64_t trace, Var var, const Type& type, const SourceLoc& loc);
Array make_abstract(const Type& type);

/// Lets `function` read the values of an array: while this object lives, nothing overwrites them.
/// Throws TraceError if the array has no values because it is empty, traced, abstract or donated.
/// All reads of an array's values go through a Reading, except those of calls (runtime/holds.h).
class Reading {
 public:
  Reading(const Array& array, const char* function, const SourceLoc& loc = {});
  const runtime::ArrayData& operator*() const { return *data_; }
  const runtime::ArrayData* operator->() const { return data_.get(); }
  const runtime::ArrayDataPtr& data() const { return data_; }

 private:
  const runtime::ArrayDataPtr& data_;  // belongs to the array, which outlives this object
  runtime::Use use_;
};

/// Throws TraceError, naming `function`, if one of the arrays was donated.
void check_alive(std::span<const Array> inputs, const char* function, const SourceLoc& loc = {});

/// A new Array with the values of `x`, for functions that return their operand unchanged: donating
/// one of the two does not affect the other.
Array same_values(const Array& x, const char* function, const SourceLoc& loc);

/// The impl of an array; throws TraceError, naming `function`, if the array is empty.
const ArrayImpl& need(const Array& a, const char* function, const SourceLoc& loc = {});

}  // namespace tessera::inline v0::detail
