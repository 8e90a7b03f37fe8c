// Fourier transforms of one line.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::inline v0::codegen {

/// The transform of n points, forward or backward, without a factor. In doubles, whatever the
/// numbers are stored in: what float32 loses is then one rounding.
class FftPlan {
 public:
  using Number = std::complex<double>;
  virtual ~FftPlan() = default;
  /// `work` has room for `work_points` numbers; nothing overlaps. Safe from several threads.
  virtual void run(const Number* in, Number* out, Number* work) const = 0;
  virtual std::size_t work_points() const { return 0; }

  /// Plans are shared by everybody who holds one, and the last used ones kept, up to some 64 MB.
  static std::shared_ptr<const FftPlan> get(std::int64_t n, bool backward);
};

}  // namespace tessera::inline v0::codegen
