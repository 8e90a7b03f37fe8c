// Applies functions of fixed-width vectors to vectors of any width.
#pragma once

#include "codegen/kernel/llvm_ir.h"

#include <algorithm>
#include <vector>

namespace tessera::inline v0::codegen {

/// Applies f to operands that are scalars or vectors of equal width. Longer vectors are cut into
/// pieces of `lanes`; shorter vectors and scalars are repeated to fill one. Widths are powers of
/// two. f maps vectors of `lanes` to a vector.
template <class F>
llvm::Value* in_pieces(IrBuilder& b, int lanes, const std::vector<llvm::Value*>& operands, F f) {
  const int width = width_of(operands[0]);
  if (width == lanes) return f(operands);
  auto piece = [&](llvm::Value* v, int begin) -> llvm::Value* {
    if (!width) return b.CreateVectorSplat(static_cast<unsigned>(lanes), v);
    std::vector<int> mask;
    for (int i = 0; i < lanes; ++i) mask.push_back((begin + i) % width);
    return b.CreateShuffleVector(v, mask);
  };
  std::vector<llvm::Value*> parts;
  for (int i = 0; i < std::max(width, 1); i += lanes) {
    std::vector<llvm::Value*> pieces;
    for (llvm::Value* v : operands) pieces.push_back(piece(v, i));
    parts.push_back(f(pieces));
  }
  if (!width) return b.CreateExtractElement(parts[0], std::uint64_t{0});
  while (parts.size() > 1) {
    std::vector<llvm::Value*> joined;
    int n = width_of(parts[0]);
    std::vector<int> mask;
    for (int i = 0; i < 2 * n; ++i) mask.push_back(i);
    for (std::size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], mask));
    parts = std::move(joined);
  }
  if (width > lanes) return parts[0];
  std::vector<int> mask;
  for (int i = 0; i < width; ++i) mask.push_back(i);
  return b.CreateShuffleVector(parts[0], mask);
}

}  // namespace tessera::inline v0::codegen
