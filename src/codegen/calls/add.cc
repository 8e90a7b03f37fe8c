#include "codegen/calls/add.h"

namespace tessera::inline v0::codegen {
namespace {

template <class T>
void add(T* sum, const T* part, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += part[i];
}

template <class T>
void add_matrix(T* sum, std::int64_t leading, const T* part, std::int64_t m, std::int64_t n) {
  if (leading == n) return add(sum, part, m * n);
  for (std::int64_t i = 0; i < m; ++i) add(sum + i * leading, part + i * n, n);
}

}  // namespace

void add_to(float* sum, const float* part, std::size_t n) {
  add(sum, part, static_cast<std::int64_t>(n));
}
void add_rows(float* sum, std::int64_t leading, const float* part, std::int64_t m, std::int64_t n) {
  add_matrix(sum, leading, part, m, n);
}
void add_rows(double* sum, std::int64_t leading, const double* part, std::int64_t m,
              std::int64_t n) {
  add_matrix(sum, leading, part, m, n);
}

}  // namespace tessera::inline v0::codegen
