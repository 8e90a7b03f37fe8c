#include "codegen/matrix/unit_kernel.h"

#include "codegen/kernel/llvm_ir.h"
#include "codegen/matrix/loop_ir.h"
#include "codegen/matrix/unit_ops.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

namespace {

using Values = std::vector<llvm::Value*>;

// The registers: sums by row and column of the block, then operands.
constexpr int kSums = 0, kOfA = 4, kOfB = 6;
constexpr std::int64_t kBlockRowBytes = 2 * kUnitRowBytes;

class UnitEmitter {
 public:
  UnitEmitter(const UnitKernelKind& kind, llvm::Module& module, const std::string& name)
      : kind_(kind), b_(module.getContext()) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
    ops_ = kind.unit == MatrixUnit::amx ? amx_ops(b_, kind.terms) : emulated_ops(b_, kind.terms);
  }

  void emit() {
    a_ = pointer(offsetof(UnitArgs, a));
    a_row_ = number(offsetof(UnitArgs, a_row));
    a_group_ = number(offsetof(UnitArgs, a_group));
    c_row_ = number(offsetof(UnitArgs, c_row));
    groups_ = number(offsetof(UnitArgs, groups));
    rows_ = number(offsetof(UnitArgs, rows));
    from_result_ = b_.CreateICmpNE(number(offsetof(UnitArgs, from_result)), b_.getInt64(0));
    if (kind_.partial) {
      columns_ = number(offsetof(UnitArgs, columns));
      auto* memory = b_.CreateAlloca(b_.getInt8Ty(), b_.getInt32(kUnitBlockRows * kBlockRowBytes));
      memory->setAlignment(llvm::Align(kUnitRowBytes));
      memory_ = memory;
    }
    auto* b_panel = number(offsetof(UnitArgs, b_panel));
    ops_->configure(pointer(offsetof(UnitArgs, shapes)));
    carrying_loop(b_, number(offsetof(UnitArgs, panels)),
                  {pointer(offsetof(UnitArgs, b)), pointer(offsetof(UnitArgs, c))},
                  [&](const Values& here) {
                    emit_block(here[0], here[1]);
                    return Values{at(here[0], b_panel), at(here[1], kBlockRowBytes)};
                  });
    ops_->release();
    b_.CreateRetVoid();
  }

 private:
  llvm::Value* at(llvm::Value* p, llvm::Value* bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), p, bytes);
  }
  llvm::Value* at(llvm::Value* p, std::int64_t bytes) { return at(p, b_.getInt64(bytes)); }
  llvm::Value* pointer(std::size_t offset) {
    return b_.CreateLoad(b_.getPtrTy(),
                         at(function_->getArg(0), static_cast<std::int64_t>(offset)));
  }
  llvm::Value* number(std::size_t offset) {
    return b_.CreateLoad(b_.getInt64Ty(),
                         at(function_->getArg(0), static_cast<std::int64_t>(offset)));
  }
  int heights() const { return kind_.tall ? 2 : 1; }

  template <class Then, class Else>
  void branch(llvm::Value* condition, Then then, Else otherwise) {
    const auto block = [&] {
      return llvm::BasicBlock::Create(function_->getContext(), "", function_);
    };
    llvm::BasicBlock *yes = block(), *no = block(), *join = block();
    b_.CreateCondBr(condition, yes, no);
    b_.SetInsertPoint(yes);
    then();
    b_.CreateBr(join);
    b_.SetInsertPoint(no);
    otherwise();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
  }

  // Calls f(register, its first element) for the sums of a block with this stride of rows.
  template <class F>
  void for_sums(llvm::Value* c, llvm::Value* row_bytes, F f) {
    for (int i = 0; i < heights(); ++i)
      for (int j = 0; j < 2; ++j) {
        llvm::Value* row = i ? at(c, b_.CreateMul(row_bytes, b_.getInt64(kUnitRows))) : c;
        f(kSums + 2 * i + j, at(row, j * kUnitRowBytes));
      }
  }
  void load_sums(llvm::Value* c, llvm::Value* row_bytes) {
    for_sums(c, row_bytes, [&](int r, llvm::Value* from) { ops_->load(r, from, row_bytes); });
  }
  void store_sums(llvm::Value* c, llvm::Value* row_bytes) {
    for_sums(c, row_bytes, [&](int r, llvm::Value* to) { ops_->store(r, to, row_bytes); });
  }
  // The existing elements of a partial block, between the result and a whole block in memory.
  void copy(llvm::Value* from, llvm::Value* from_row, llvm::Value* to, llvm::Value* to_row) {
    auto* type = llvm::FixedVectorType::get(b_.getInt32Ty(), kUnitWords);
    const llvm::Align align(4);
    carrying_loop(b_, rows_, {from, to}, [&](const Values& here) {
      for (int j = 0; j < 2; ++j) {
        std::vector<llvm::Constant*> numbers;
        for (int i = 0; i < kUnitWords; ++i) numbers.push_back(b_.getInt64(j * kUnitWords + i));
        auto* mask = b_.CreateICmpULT(llvm::ConstantVector::get(numbers),
                                      b_.CreateVectorSplat(kUnitWords, columns_));
        auto* v = b_.CreateMaskedLoad(type, at(here[0], j * kUnitRowBytes), align, mask,
                                      llvm::Constant::getNullValue(type));
        b_.CreateMaskedStore(v, at(here[1], j * kUnitRowBytes), align, mask);
      }
      return Values{at(here[0], from_row), at(here[1], to_row)};
    });
  }

  void emit_block(llvm::Value* b, llvm::Value* c) {
    auto* const block_row = b_.getInt64(kBlockRowBytes);
    branch(
        from_result_,
        [&] {
          if (!kind_.partial) return load_sums(c, c_row_);
          copy(c, c_row_, memory_, block_row);
          load_sums(memory_, block_row);
        },
        [&] {
          for (int i = 0; i < 2 * heights(); ++i) ops_->zero(kSums + i);
        });
    carrying_loop(b_, groups_, {a_, b}, [&](const Values& here) {
      for (int i = 0; i < heights(); ++i) {
        llvm::Value* from = i ? at(here[0], b_.CreateMul(a_row_, b_.getInt64(kUnitRows))) : here[0];
        ops_->load(kOfA + i, from, a_row_);
        for (int j = 0; j < 2; ++j) {
          if (i == 0) ops_->load(kOfB + j, at(here[1], j * kUnitRowBytes), block_row);
          ops_->dot(kSums + 2 * i + j, kOfA + i, kOfB + j);
        }
      }
      return Values{at(here[0], a_group_), at(here[1], kUnitRows * kBlockRowBytes)};
    });
    if (!kind_.partial) return store_sums(c, c_row_);
    store_sums(memory_, block_row);
    copy(memory_, block_row, c, c_row_);
  }

  const UnitKernelKind kind_;
  IrBuilder b_;
  std::unique_ptr<UnitOps> ops_;
  llvm::Function* function_;
  llvm::Value *a_, *a_row_, *a_group_, *c_row_, *groups_, *rows_, *from_result_;
  llvm::Value *columns_ = nullptr, *memory_ = nullptr;
};

}  // namespace

UnitShapes unit_shapes(std::int64_t rows) {
  UnitShapes shapes;
  const auto shape = [&](int r, std::int64_t count) {
    shapes.rows[r] = static_cast<std::uint8_t>(count);
    shapes.bytes[r] = count ? kUnitRowBytes : 0;
  };
  for (int i = 0; i < 2; ++i) {
    const std::int64_t count = std::clamp<std::int64_t>(rows - i * kUnitRows, 0, kUnitRows);
    for (int j = 0; j < 2; ++j) shape(kSums + 2 * i + j, count);
    shape(kOfA + i, count);
    shape(kOfB + i, kUnitWords);
  }
  return shapes;
}

SharedFunction unit_function(const UnitKernelKind& kind) {
  std::string key = "matrix unit 1";
  for (int part : {static_cast<int>(kind.terms), int{kind.tall}, int{kind.partial},
                   static_cast<int>(kind.unit)})
    key += " " + std::to_string(part);
  return {std::move(key), [kind](llvm::Module& module, const std::string& name) {
            UnitEmitter(kind, module, name).emit();
          }};
}

UnitKernel unit_kernel(const UnitKernelKind& kind) {
  return reinterpret_cast<UnitKernel>(shared_function(unit_function(kind)));
}

}  // namespace tessera::inline v0::codegen::matrix
