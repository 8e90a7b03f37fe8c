// Shared by the block functions of random bits: philox4x32 and threefry2x32.
#pragma once

#include "ir/emit.h"
#include "ir/op.h"

#include <array>
#include <cstdint>
#include <string>

namespace tessera::inline v0::ops {

/// An op of `inputs` operands and `outputs` results, all uint32 and of one shape: everything but
/// its cost, its evaluator and its kernel. `advice` tells the user how to get uint32 operands.
Op block_op(std::string name, std::string doc, int inputs, int outputs, std::string advice);

/// Arithmetic on 32-bit words in evaluators. `product` gives the high and the low word.
struct WordNumbers {
  using W = std::uint32_t;
  W word(W v) const { return v; }
  W add(W a, W b) const { return a + b; }
  W exclusive_or(W a, W b) const { return a ^ b; }
  W rotate(W a, int n) const { return (a << n) | (a >> (32 - n)); }
  std::array<W, 2> product(W a, W b) const {
    const std::uint64_t p = std::uint64_t{a} * b;
    return {static_cast<W>(p >> 32), static_cast<W>(p)};
  }
};
/// The same arithmetic in kernels.
struct WordLanes {
  Emitter& e;
  Lane word(std::uint32_t v) const;
  Lane add(Lane a, Lane b) const;
  Lane exclusive_or(Lane a, Lane b) const;
  Lane rotate(Lane a, int n) const;
  std::array<Lane, 2> product(Lane a, std::uint32_t b) const;
};

}  // namespace tessera::inline v0::ops
