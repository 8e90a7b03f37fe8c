// Discrete Fourier transforms, under NumPy's names: ts::fft::rfft(x).
//
// The forward transform is X(k) = sum over j of x(j) exp(-2 pi i j k / n). In float64 and
// complex128 they give complex128, in all other dtypes complex64 (float64 and float32 where the
// result is real); integers count as floats. Any n takes time n log n.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0::fft {

/// `n`: how many points along `axis` are transformed; the operand is cut or filled up with zeros to
/// them. Absent: as many as there are. `norm`: "backward" divides the inverse transform by n,
/// "forward" the forward one, "ortho" each by the root of n.
struct FftOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> n = {};
  std::int64_t axis = -1;
  std::string norm = "backward";
};
/// `s`: the points along each of `axes`. Absent: as many as there are. No axes: the last as many as
/// `s` has, or all.
struct FftnOptions {
  detail::Named named = detail::Named();
  std::vector<std::int64_t> s = {};
  AxisList axes = {};
  std::string norm = "backward";
};

// All of these throw ShapeError for an axis that the operand does not have, for less than one
// point, and for a norm that is none of the three; DTypeError where a real operand is wanted.

/// Along one axis.
TESSERA_API Array fft(Operand x, const FftOptions& o = {});
TESSERA_API Array ifft(Operand x, const FftOptions& o = {});
/// Of a real operand: the n / 2 + 1 first points, of which the others are the conjugates.
TESSERA_API Array rfft(Operand x, const FftOptions& o = {});
/// The inverse of rfft: real, `n` points, 2 (m - 1) of m where it is absent.
TESSERA_API Array irfft(Operand x, const FftOptions& o = {});
/// The transform of what is Hermitian, given by its first half: real, `n` points as in irfft.
TESSERA_API Array hfft(Operand x, const FftOptions& o = {});
/// The inverse of hfft, of a real operand.
TESSERA_API Array ihfft(Operand x, const FftOptions& o = {});

/// Along the last two axes, or those that are named.
TESSERA_API Array fft2(Operand x, const FftnOptions& o = {});
TESSERA_API Array ifft2(Operand x, const FftnOptions& o = {});
TESSERA_API Array rfft2(Operand x, const FftnOptions& o = {});
TESSERA_API Array irfft2(Operand x, const FftnOptions& o = {});

/// Along several axes. Those of real numbers halve the last of them.
TESSERA_API Array fftn(Operand x, const FftnOptions& o = {});
TESSERA_API Array ifftn(Operand x, const FftnOptions& o = {});
TESSERA_API Array rfftn(Operand x, const FftnOptions& o = {});
TESSERA_API Array irfftn(Operand x, const FftnOptions& o = {});

/// The frequencies of the n points of fft, in cycles a unit of the spacing `d`: 0 first, then the
/// positive ones, then the negative ones. ShapeError for an n below 1.
TESSERA_API Array fftfreq(std::int64_t n, double d = 1.0, DType dtype = DType::float32,
                          std::source_location loc = std::source_location::current());
/// Those of rfft.
TESSERA_API Array rfftfreq(std::int64_t n, double d = 1.0, DType dtype = DType::float32,
                           std::source_location loc = std::source_location::current());
/// Frequency 0 in the middle of the axes, all where none is named; and back.
TESSERA_API Array fftshift(Operand x, const AxisList& axes = {});
TESSERA_API Array ifftshift(Operand x, const AxisList& axes = {});

}  // namespace tessera::inline v0::fft
