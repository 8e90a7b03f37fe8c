// The attributes of transforms and solvers.
#pragma once

#include "ops/space_movement.h"

namespace walk {

inline Drawn draw_fft(Dice& dice, const Type& x) {
  if (rank_of(x) == 0 || !is_inexact(x.dtype)) return std::nullopt;
  Ints length;
  const std::int64_t first = rank_of(x) - 1 - dice.below(std::min<std::int64_t>(3, rank_of(x)));
  for (std::int64_t d = first; d < rank_of(x); ++d)
    length.push_back(x.shape[static_cast<std::size_t>(d)]);
  std::string kind = "RFFT";
  if (is_complex(x.dtype)) {
    kind = dice.of(std::vector<std::string>{"FFT", "IFFT", "IRFFT"});
    if (kind == "IRFFT") length.back() = 2 * (length.back() - 1) + dice.below(2);
  }
  return OpExample{{x}, {{"kind", kind}, {"length", length}}};
}

}  // namespace walk
