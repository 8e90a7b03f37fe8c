// Discrete Fourier transforms of the last dimensions.
#pragma once

#include "ir/routine.h"
#include "ops/build.h"

#include <complex>
#include <optional>
#include <string_view>

namespace tessera::inline v0::ops {

enum class FftKind { fft, ifft, rfft, irfft };
/// The kind of an attribute's name, as StableHLO spells it; none for any other.
std::optional<FftKind> fft_kind(std::string_view name);

/// Of the last `length.size()` dimensions, of so many points. {kind: string, length: ints}
Value fft(Value x, const std::string& kind, const Ints& length);

/// exp(2 pi i k / n) of a k in [0, n), right to about half a unit in the last place.
std::complex<double> unit_root(std::int64_t k, std::int64_t n);

/// The routine; codegen/calls/fft.cc, where the library is known.
std::shared_ptr<const Routine> fft_call(const CallArgs& a);

}  // namespace tessera::inline v0::ops
