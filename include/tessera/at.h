// Functional updates: x.at(0, all).set(y) returns x with the indexed elements replaced.
#pragma once

#include <tessera/array.h>

#include <concepts>
#include <source_location>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// A pending functional update of the indexed elements. set replaces them; add, multiply, min and
/// max combine them with the values; get reads them.
class TESSERA_API At {
 public:
  At(Array array, std::vector<AxisIndex> index)
      : array_(std::move(array)), index_(std::move(index)) {}
  /// The values broadcast to the indexed shape and are converted to the array's dtype. If an index
  /// array names an element twice, set takes the last value, and the others combine all of them.
  Array set(Operand values) const;
  Array add(Operand values) const;
  Array multiply(Operand values) const;
  Array min(Operand values) const;
  Array max(Operand values) const;
  Array get(std::source_location loc = std::source_location::current()) const {
    return array_.get(index_, loc);
  }

 private:
  Array array_;
  std::vector<AxisIndex> index_;
};

template <class... I>
requires(sizeof...(I) > 0 && (std::convertible_to<I, AxisIndex> && ...)) At Array::at(I&&... index)
const { return At(*this, {AxisIndex(std::forward<I>(index))...}); }

}  // namespace tessera::inline v0
