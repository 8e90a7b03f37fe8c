// Discrete Fourier transforms, under NumPy's names: ts::fft::rfft(x).
//
// The forward transform is X(k) = sum over j of x(j) exp(-2 pi i j k / n). Transforms of float64
// and complex128 give complex128, all others complex64 (float64 and float32 if the result is real);
// integers count as floats. Any n takes O(n log n) time.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0::fft {

/// `n`: the number of points along `axis`; the operand is truncated or zero-padded to it. Default:
/// the operand's extent. `norm`: "backward" divides the inverse transform by n, "forward" the
/// forward one, and "ortho" each by sqrt(n).
struct FftOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> n = {};
  std::int64_t axis = -1;
  std::string norm = "backward";
};
/// `s`: the number of points along each of `axes`. Default: the operand's extents. `axes` defaults
/// to the last ones, as many as `s` has, or else to all.
struct FftnOptions {
  detail::Named named = detail::Named();
  std::vector<std::int64_t> s = {};
  AxisList axes = {};
  std::string norm = "backward";
};

// All of these throw ShapeError for an axis that the operand does not have, for fewer than one
// point and for an unknown norm, and DTypeError for a complex operand where a real one is required.

/// Transforms along one axis.
TESSERA_API Array fft(Operand x, const FftOptions& o = {});
/// The inverse transform along one axis; with the default norm it divides by the number of points.
TESSERA_API Array ifft(Operand x, const FftOptions& o = {});
/// The transform of a real operand: the first n / 2 + 1 points, which determine the others by
/// conjugation.
TESSERA_API Array rfft(Operand x, const FftOptions& o = {});
/// The inverse of rfft: `n` real points, by default 2 (m - 1) for m input points.
TESSERA_API Array irfft(Operand x, const FftOptions& o = {});
/// The transform of a Hermitian signal given by its first half: real, with `n` points as in irfft.
TESSERA_API Array hfft(Operand x, const FftOptions& o = {});
/// The inverse of hfft, for a real operand.
TESSERA_API Array ihfft(Operand x, const FftOptions& o = {});

/// Transforms along the last two axes, or those given.
TESSERA_API Array fft2(Operand x, const FftnOptions& o = {});
/// The inverse of fft2.
TESSERA_API Array ifft2(Operand x, const FftnOptions& o = {});
/// The transform of real numbers along two axes, which keeps the non-negative frequencies of the
/// last one: n / 2 + 1 points.
TESSERA_API Array rfft2(Operand x, const FftnOptions& o = {});
/// The inverse of rfft2, with real results.
TESSERA_API Array irfft2(Operand x, const FftnOptions& o = {});

/// Transforms along several axes. The real ones halve the last axis.
TESSERA_API Array fftn(Operand x, const FftnOptions& o = {});
/// The inverse of fftn.
TESSERA_API Array ifftn(Operand x, const FftnOptions& o = {});
/// The transform of real numbers along several axes, which keeps the non-negative frequencies of
/// the last one.
TESSERA_API Array rfftn(Operand x, const FftnOptions& o = {});
/// The inverse of rfftn, with real results.
TESSERA_API Array irfftn(Operand x, const FftnOptions& o = {});

/// The frequencies of the n points of fft, in cycles per unit of the spacing `d`: 0 first, then the
/// positive ones, then the negative ones. Throws ShapeError if n is below 1.
TESSERA_API Array fftfreq(std::int64_t n, double d = 1.0, DType dtype = DType::float32,
                          std::source_location loc = std::source_location::current());
/// The frequencies of rfft.
TESSERA_API Array rfftfreq(std::int64_t n, double d = 1.0, DType dtype = DType::float32,
                           std::source_location loc = std::source_location::current());
/// Shifts frequency 0 to the middle of the axes (by default all).
TESSERA_API Array fftshift(Operand x, const AxisList& axes = {});
/// Shifts frequency 0 back from the middle to the front of the axes.
TESSERA_API Array ifftshift(Operand x, const AxisList& axes = {});

}  // namespace tessera::inline v0::fft
