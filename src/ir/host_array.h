// A dense row-major array in host memory, which evaluators read and write.
#pragma once

#include "base/function_ref.h"
#include "ir/attrs.h"
#include "ir/type.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tessera::inline v0 {

struct HostArray {
  DType dtype = DType::float32;
  Shape shape;
  std::shared_ptr<std::byte[]> owner;  // empty for a view
  std::byte* bytes = nullptr;

  HostArray() = default;
  /// Allocates uninitialised memory.
  HostArray(DType d, Shape s);
  /// Creates a view of memory that the caller keeps alive.
  HostArray(DType d, Shape s, void* memory)
      : dtype(d), shape(std::move(s)), bytes(static_cast<std::byte*>(memory)) {}
  static HostArray from(const Literal& literal);

  std::int64_t count() const { return shape.count(); }
  std::int64_t size_bytes() const { return count() * size_of(dtype); }
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes);
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes);
  }
  /// Element `flat` as a double, for tests and printing.
  double number(std::int64_t flat) const;
};

/// Evaluates a program equation by equation with the ops' evaluators, including control flow but
/// not collectives.
std::vector<HostArray> evaluate(const Program& p, std::span<const HostArray> inputs);

/// Calls `f` for all multi-indices of `shape` in row-major order.
void for_each_index(const Shape& shape, FunctionRef<void(const Shape& index)> f);
inline std::int64_t flat_index(const Shape& index, const Shape& strides) {
  std::int64_t f = 0;
  for (std::size_t i = 0; i < index.size(); ++i) f += index[i] * strides[i];
  return f;
}

}  // namespace tessera::inline v0
