// Emulates the operations of a matrix unit with vectors, for tests. The registers are memory of the
// function. Their shapes are read whenever a processor would read them, so wrong shapes give wrong
// results.
#include "codegen/matrix/loop_ir.h"
#include "codegen/matrix/unit_kernel.h"
#include "codegen/matrix/unit_ops.h"

#include <cstddef>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

namespace {

using Values = std::vector<llvm::Value*>;

constexpr std::int64_t kRegisterBytes = kUnitRows * kUnitRowBytes;

class EmulatedOps final : public UnitOps {
 public:
  EmulatedOps(IrBuilder& b, Terms terms)
      : b_(b),
        terms_(terms),
        words_(llvm::FixedVectorType::get(b.getInt32Ty(), kUnitWords)),
        floats_(llvm::FixedVectorType::get(b.getFloatTy(), kUnitWords)) {
    auto* memory = b.CreateAlloca(b.getInt8Ty(), b.getInt32(kUnitRegisters * kRegisterBytes));
    memory->setAlignment(llvm::Align(kUnitRowBytes));
    memory_ = memory;
  }

  void configure(llvm::Value* shapes) override {
    shapes_ = shapes;
    for (int r = 0; r < kUnitRegisters; ++r) zero(r);
  }
  void zero(int r) override {
    for (int row = 0; row < kUnitRows; ++row)
      store_words(llvm::Constant::getNullValue(words_), at(at(r), row * kUnitRowBytes));
  }
  void load(int r, llvm::Value* from, llvm::Value* row_bytes) override {
    zero(r);
    carrying_loop(b_, rows(r), {from, at(r)}, [&](const Values& here) {
      store_words(b_.CreateMaskedLoad(words_, here[0], llvm::Align(1), mask(r),
                                      llvm::Constant::getNullValue(words_)),
                  here[1]);
      return Values{at(here[0], row_bytes), at(here[1], kUnitRowBytes)};
    });
  }
  void store(int r, llvm::Value* to, llvm::Value* row_bytes) override {
    carrying_loop(b_, rows(r), {at(r), to}, [&](const Values& here) {
      b_.CreateMaskedStore(load_words(here[0]), here[1], llvm::Align(1), mask(r));
      return Values{at(here[0], kUnitRowBytes), at(here[1], row_bytes)};
    });
  }
  void dot(int c, int a, int b) override {
    auto* const words = b_.CreateLShr(bytes(a), 2);
    carrying_loop(b_, rows(c), {at(c), at(a)}, [&](const Values& row) {
      const bool floats = terms_ == Terms::unit_bfloat16 || terms_ == Terms::unit_float16;
      llvm::Value* sum = load_words(row[0]);
      Values sums = {sum};
      if (floats) sums.assign(2, llvm::Constant::getNullValue(floats_));
      Values starts = {row[1], at(b)};
      starts.insert(starts.end(), sums.begin(), sums.end());
      const Values ends = carrying_loop(b_, words, starts, [&](const Values& here) {
        auto* x = b_.CreateVectorSplat(
            kUnitWords, b_.CreateAlignedLoad(b_.getInt32Ty(), here[0], llvm::Align(4)));
        llvm::Value* y = load_words(here[1]);
        Values next = {at(here[0], 4), at(here[1], kUnitRowBytes)};
        if (floats)
          for (int half = 0; half < 2; ++half)
            next.push_back(flushed(b_.CreateIntrinsic(
                llvm::Intrinsic::fma, {floats_},
                {number(x, half), number(y, half), here[static_cast<std::size_t>(2 + half)]})));
        else
          next.push_back(add_bytes(x, y, here[2]));
        return next;
      });
      sum = floats
                ? b_.CreateBitCast(flushed(b_.CreateFAdd(flushed(b_.CreateBitCast(sum, floats_)),
                                                         flushed(b_.CreateFAdd(ends[2], ends[3])))),
                                   words_)
                : ends[2];
      store_words(sum, row[0]);
      return Values{at(row[0], kUnitRowBytes), at(row[1], kUnitRowBytes)};
    });
  }
  void release() override {}

 private:
  llvm::Value* at(llvm::Value* p, llvm::Value* bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), p, bytes);
  }
  llvm::Value* at(llvm::Value* p, std::int64_t bytes) { return at(p, b_.getInt64(bytes)); }
  llvm::Value* at(int r) { return at(memory_, r * kRegisterBytes); }
  llvm::Value* load_words(llvm::Value* from) {
    return b_.CreateAlignedLoad(words_, from, llvm::Align(kUnitRowBytes));
  }
  void store_words(llvm::Value* v, llvm::Value* to) {
    b_.CreateAlignedStore(v, to, llvm::Align(kUnitRowBytes));
  }

  llvm::Value* rows(int r) {
    auto* from = at(shapes_, static_cast<std::int64_t>(offsetof(UnitShapes, rows)) + r);
    return b_.CreateZExt(b_.CreateLoad(b_.getInt8Ty(), from), b_.getInt64Ty());
  }
  llvm::Value* bytes(int r) {
    auto* from = at(shapes_, static_cast<std::int64_t>(offsetof(UnitShapes, bytes)) + 2 * r);
    return b_.CreateZExt(b_.CreateLoad(b_.getInt16Ty(), from), b_.getInt64Ty());
  }
  // The words of a row that exist.
  llvm::Value* mask(int r) {
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < kUnitWords; ++i) numbers.push_back(b_.getInt64(i));
    return b_.CreateICmpULT(llvm::ConstantVector::get(numbers),
                            b_.CreateVectorSplat(kUnitWords, b_.CreateLShr(bytes(r), 2)));
  }

  llvm::Value* word(std::uint32_t bits) { return llvm::ConstantInt::get(words_, bits); }
  // Replaces subnormal numbers by zeros of their sign. A processor rounds to the precision of a
  // normal number before it decides, so the two differ if a sum just below the smallest normal
  // number is rounded to it.
  llvm::Value* flushed(llvm::Value* x) {
    auto* bits = b_.CreateBitCast(x, words_);
    auto* zero = b_.CreateBitCast(b_.CreateAnd(bits, word(0x80000000u)), floats_);
    return b_.CreateSelect(b_.CreateICmpEQ(b_.CreateAnd(bits, word(0x7f800000u)), word(0)), zero,
                           x);
  }
  // The first or second number of each pair. Subnormal bfloat16 are treated as zeros; subnormal
  // float16 are normal numbers in float32.
  llvm::Value* number(llvm::Value* pairs, int half) {
    if (terms_ == Terms::unit_float16) {
      auto* bits = b_.CreateTrunc(half ? b_.CreateLShr(pairs, 16) : pairs,
                                  words_->getWithNewType(b_.getInt16Ty()));
      return b_.CreateFPExt(b_.CreateBitCast(bits, words_->getWithNewType(b_.getHalfTy())),
                            floats_);
    }
    return flushed(b_.CreateBitCast(
        half ? b_.CreateAnd(pairs, word(0xffff0000u)) : b_.CreateShl(pairs, 16), floats_));
  }
  llvm::Value* add_bytes(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    const auto byte = [&](llvm::Value* v, std::uint64_t i) {
      auto* high = b_.CreateShl(v, 24 - 8 * i);
      return terms_ == Terms::unit_int8 ? b_.CreateAShr(high, 24) : b_.CreateLShr(high, 24);
    };
    for (std::uint64_t i = 0; i < 4; ++i)
      sum = b_.CreateAdd(sum, b_.CreateMul(byte(x, i), byte(y, i)));
    return sum;
  }

  IrBuilder& b_;
  const Terms terms_;
  llvm::FixedVectorType *const words_, *const floats_;
  llvm::Value *memory_ = nullptr, *shapes_ = nullptr;
};

}  // namespace

std::unique_ptr<UnitOps> emulated_ops(IrBuilder& b, Terms terms) {
  return std::make_unique<EmulatedOps>(b, terms);
}

}  // namespace tessera::inline v0::codegen::matrix
