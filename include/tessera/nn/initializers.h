// Initialisers: functions from a key, a shape and a dtype to an array, under the names of
// jax.nn.initializers, with the same values for the same key up to rounding.
#pragma once

#include <tessera/array.h>
#include <functional>

#include <string>

namespace tessera::inline v0::nn {

/// Normal or uniform with variance scale / fan; `fan` is "in", "out" or "average". The receptive
/// field (all axes but the last two) counts in both fans. "truncated_normal" is truncated at two
/// standard deviations and rescaled (He et al. 2015, Glorot and Bengio 2010, LeCun et al. 1998).
struct VarianceScaling {
  double scale = 1.0;
  std::string fan = "in";
  std::string distribution = "truncated_normal";  // or "normal", "uniform"
  TESSERA_API Array operator()(const Array& key, const Shape& shape, DType dtype = DType::float32,
                               std::source_location loc = std::source_location::current()) const;
};

/// Any initialiser: one from this header, or a function (key, shape, dtype) that returns an array
/// of that shape and dtype.
class Initializer {
 public:
  using Function = std::function<Array(const Array& key, const Shape& shape, DType dtype)>;
  Initializer(VarianceScaling scaling) : scaling_(std::move(scaling)) {}
  template <class F>
  requires(std::is_invocable_r_v<Array, F&, const Array&, const Shape&, DType> &&
           !std::is_same_v<std::decay_t<F>, Initializer> &&
           !std::is_same_v<std::decay_t<F>, VarianceScaling>) Initializer(F f)
      : function_(std::move(f)) {}
  /// Throws ShapeError for an invalid key, a negative extent or a result of another shape, and
  /// DTypeError for a dtype without fractions.
  TESSERA_API Array operator()(const Array& key, const Shape& shape, DType dtype = DType::float32,
                               std::source_location loc = std::source_location::current()) const;

 private:
  VarianceScaling scaling_;
  Function function_;
};

/// Truncated normal with variance 1 / fan_in (LeCun et al. 1998).
inline VarianceScaling lecun_normal() { return {1.0, "in", "truncated_normal"}; }
/// Truncated normal with variance 2 / fan_in (He et al. 2015).
inline VarianceScaling he_normal() { return {2.0, "in", "truncated_normal"}; }
/// Uniform with variance 2 / fan_in.
inline VarianceScaling he_uniform() { return {2.0, "in", "uniform"}; }
/// Truncated normal with variance 2 / (fan_in + fan_out) (Glorot and Bengio 2010).
inline VarianceScaling glorot_normal() { return {1.0, "average", "truncated_normal"}; }
/// Uniform with variance 2 / (fan_in + fan_out).
inline VarianceScaling glorot_uniform() { return {1.0, "average", "uniform"}; }

namespace initializers {

/// The same as nn::glorot_normal.
using nn::glorot_normal;
/// The same as nn::glorot_uniform.
using nn::glorot_uniform;
/// The same as nn::he_normal.
using nn::he_normal;
/// The same as nn::he_uniform.
using nn::he_uniform;
/// The same as nn::lecun_normal.
using nn::lecun_normal;
/// Uniform with variance 1 / fan_in.
inline VarianceScaling lecun_uniform() { return {1.0, "in", "uniform"}; }
/// The same as he_normal.
inline VarianceScaling kaiming_normal() { return he_normal(); }
/// The same as he_uniform.
inline VarianceScaling kaiming_uniform() { return he_uniform(); }
/// The same as glorot_normal.
inline VarianceScaling xavier_normal() { return glorot_normal(); }
/// The same as glorot_uniform.
inline VarianceScaling xavier_uniform() { return glorot_uniform(); }

/// `mode` is "fan_in", "fan_out" or "fan_avg", and `distribution` "truncated_normal", "normal" or
/// "uniform". Throws Error for any other.
TESSERA_API VarianceScaling
variance_scaling(double scale, const std::string& mode, const std::string& distribution,
                 std::source_location loc = std::source_location::current());
/// Initialises to `value` everywhere.
TESSERA_API Initializer constant(double value);
/// Initialises to zeros.
TESSERA_API Initializer zeros();
/// Initialises to ones.
TESSERA_API Initializer ones();
/// Normal with this standard deviation.
TESSERA_API Initializer normal(double stddev = 1e-2,
                               std::source_location loc = std::source_location::current());
/// Uniform in [0, scale).
TESSERA_API Initializer uniform(double scale = 1e-2,
                                std::source_location loc = std::source_location::current());
/// stddev times a standard normal truncated to (lower, upper).
TESSERA_API Initializer
truncated_normal(double stddev = 1e-2, double lower = -2.0, double upper = 2.0,
                 std::source_location loc = std::source_location::current());
/// scale times an orthogonal matrix, whose columns are along `column_axis` and whose rows are all
/// other axes. Throws ShapeError for shapes with fewer than two axes, and for a column_axis out of
/// range.
TESSERA_API Initializer orthogonal(double scale = 1.0, int column_axis = -1,
                                   std::source_location loc = std::source_location::current());
/// Weights of a convolution, of shape (..., in, out) with one to three window axes: an orthogonal
/// matrix at the window's centre and zeros elsewhere, which preserves norms (Xiao et al. 2018).
/// Throws ShapeError for another number of axes, and if there are more inputs than outputs.
TESSERA_API Initializer
delta_orthogonal(double scale = 1.0, int column_axis = -1,
                 std::source_location loc = std::source_location::current());

}  // namespace initializers
}  // namespace tessera::inline v0::nn
