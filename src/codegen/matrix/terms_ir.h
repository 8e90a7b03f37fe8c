// The IR of the terms of a sum. Private to the loops of matrix products.
#pragma once

#include "codegen/kernel/llvm_ir.h"
#include "codegen/matrix/terms.h"

#include <vector>

namespace tessera::inline v0::codegen::matrix {

class TermsIr {
 public:
  /// `shifted`: the words belong to the operand to whose int8 elements 128 is added
  /// (Terms::quads_int8).
  TermsIr(IrBuilder& b, const Kind& kind, DType from, bool shifted);

  int lanes() const { return lanes_; }
  int steps() const { return steps_of(kind_.terms); }
  llvm::Type* from() const { return from_; }
  llvm::Type* word() const { return word_; }
  llvm::Type* sum() const { return sum_; }
  llvm::Type* vector_of(llvm::Type* element, int count = 1) const;

  /// Makes a vector of words from vectors of elements, one for each step of a word.
  llvm::Value* words_of_rows(const std::vector<llvm::Value*>& rows);
  /// Makes a vector of words, or a word, from elements that are in the order of the words already.
  llvm::Value* words_of_steps(llvm::Value* elements);
  /// sum + x * y, for vectors of words of A and of B.
  llvm::Value* add_products(llvm::Value* x, llvm::Value* y, llvm::Value* sum);
  llvm::Value* add(llvm::Value* x, llvm::Value* y);

 private:
  llvm::Value* convert(llvm::Value* v, llvm::Type* element);
  llvm::Value* finish(llvm::Value* words);

  IrBuilder& b_;
  const Kind kind_;
  const DType dtype_;
  const bool shifted_;
  const int lanes_;
  llvm::Type *from_, *word_, *sum_;
};

}  // namespace tessera::inline v0::codegen::matrix
