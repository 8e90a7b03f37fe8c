// Discrete Fourier transforms of the last dimensions.
#pragma once

#include "ir/routine.h"
#include "ops/build.h"

#include <complex>
#include <optional>
#include <string_view>

namespace tessera::inline v0::ops {

enum class FftKind { fft, ifft, rfft, irfft };
/// Parses the name of an FFT kind as StableHLO spells it; nullopt for any other name.
std::optional<FftKind> fft_kind(std::string_view name);

/// The transform of the last `length.size()` dimensions with these lengths. {kind: string, length:
/// ints}
Value fft(Value x, const std::string& kind, const Ints& length);

/// exp(2 pi i k / n) for k in [0, n), accurate to about half a unit in the last place.
std::complex<double> unit_root(std::int64_t k, std::int64_t n);

/// The routine; defined in codegen/calls/fft.cc, the only place that knows the library.
std::shared_ptr<const Routine> fft_call(const CallArgs& a);

}  // namespace tessera::inline v0::ops
