// Products of matrices on a processor's matrix unit (unit_kernel.h): which operands are packed, and
// the order of the blocks. None of these choices changes a bit.
//
// B is packed into panels of 32 columns, in which the words of a step are adjacent (packing.h). A
// is read in place if its steps are adjacent and fill whole registers. Otherwise it is packed,
// register by register.
#pragma once

#include "codegen/matrix/packing.h"
#include "codegen/matrix/product.h"
#include "codegen/matrix/unit_kernel.h"

#include <cstddef>
#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

/// The part of Product that a matrix unit computes. The functions are those of Product.
class UnitProduct {
 public:
  explicit UnitProduct(const Problem& problem);

  bool shares_b() const { return shares_b_; }
  std::size_t shared_bytes() const;
  std::int64_t shared_tasks() const;
  void share(const void* b, void* to, std::int64_t task) const;
  void run(const Part& part) const;

 private:
  std::int64_t steps_of_word() const { return steps_of(problem_.kind.terms); }
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(problem_.operand)); }
  /// The words of some steps, with zeros up to a whole register.
  std::int64_t padded_words(std::int64_t steps) const;
  void pack_b(const void* from, std::int64_t steps, std::int64_t columns, char* to) const;
  void pack_a(const char* from, std::int64_t steps, std::int64_t rows, std::int64_t tallest,
              char* to) const;
  struct Rows;
  void multiply(const Rows& rows, const char* b, std::int64_t steps, std::int64_t columns, char* c,
                std::int64_t c_row, bool from_result) const;

  const Problem problem_;
  const std::int64_t lanes_;
  bool shares_b_ = false, packs_a_ = false;
  PackKernel pack_a_ = nullptr, pack_b_ = nullptr, pack_b2_ = nullptr;
  PackKernel transpose_ = nullptr;  // words of A
  UnitKernel kernels_[2][2] = {};   // by UnitKernelKind::tall and ::partial
};

}  // namespace tessera::inline v0::codegen::matrix
