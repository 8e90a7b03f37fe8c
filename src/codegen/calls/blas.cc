#include "codegen/calls/blas.h"

#include <cblas.h>

#include <mutex>

namespace tessera::inline v0::codegen {
namespace {

// OpenBLAS knows one number of threads for the whole process. It is 1 while any call of ours runs,
// and what it was before once the last has returned; a product of the user's that runs meanwhile
// uses one thread, which changes its speed only.
class OneThread {
 public:
  OneThread() {
    std::lock_guard lock(mutex_);
    if (inside_++ == 0) {
      before_ = openblas_get_num_threads();
      if (before_ != 1) openblas_set_num_threads(1);
    }
  }
  ~OneThread() {
    std::lock_guard lock(mutex_);
    if (--inside_ == 0 && before_ != 1) openblas_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;

 private:
  static inline std::mutex mutex_;
  static inline int inside_ = 0, before_ = 1;
};

}  // namespace

void dgemm(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
           std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  OneThread guard;
  auto i = [](std::int64_t v) { return static_cast<blasint>(v); };
  cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, i(m),
              i(n), i(k), 1.0, a, i(lda), b, i(ldb), 0.0, c, i(ldc));
}

}  // namespace tessera::inline v0::codegen
