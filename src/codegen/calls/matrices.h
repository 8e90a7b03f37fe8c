// The matrices of an equation, for the routines of linear algebra.
#pragma once

#include "base/message.h"
#include "codegen/calls/internal.h"
#include "ops/linalg/matrices.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>

namespace tessera::inline v0::codegen {

struct Matrices {
  DType dtype;
  std::int64_t count, m, n;
  explicit Matrices(const Type& t)
      : dtype(t.dtype),
        count(ops::count_before(t.shape, 2)),
        m(ops::rows_of(t.shape)),
        n(ops::columns_of(t.shape)) {}
  std::int64_t few() const { return std::min(m, n); }
  double flops() const {
    const auto f = static_cast<double>(few());
    return static_cast<double>(m) * static_cast<double>(n) * f * (is_complex(dtype) ? 4 : 1);
  }
};

/// Calls f(T{}), where T is LAPACK's element type for the dtype.
template <class F>
void with_element(DType dtype, F f) {
  switch (dtype) {
    case DType::float32: return f(float{});
    case DType::float64: return f(double{});
    case DType::complex64: return f(std::complex<float>{});
    default: return f(std::complex<double>{});
  }
}

/// Result k of matrix i, with `size` elements per matrix.
template <class T>
T* result(const RoutineArgs& a, int k, std::int64_t i, std::int64_t size) {
  return static_cast<T*>(a.outputs[k]) + i * size;
}
template <class T>
const T* operand(const RoutineArgs& a, int k, std::int64_t i, std::int64_t size) {
  return static_cast<const T*>(a.inputs[k]) + i * size;
}

/// Whether LAPACK succeeded. A rejected argument is an internal error.
inline bool done(const char* routine, int info) {
  if (info < 0)
    throw InternalError(std::string(routine) + ": argument " + std::to_string(-info) +
                        " is refused");
  return info == 0;
}

inline int in32(std::int64_t n) { return static_cast<int>(n); }

/// Whether these are a few large matrices, which are factored in blocks that become tasks, because
/// LAPACK would use a single thread.
bool factored_in_blocks(const Matrices& x);
std::shared_ptr<const Routine> cholesky_in_blocks(const CallArgs& a, const Matrices& x);
/// For float and double.
std::shared_ptr<const Routine> cholesky_in_panels(const CallArgs& a, const Matrices& x);
std::shared_ptr<const Routine> lu_in_blocks(const CallArgs& a, const Matrices& x);

}  // namespace tessera::inline v0::codegen
