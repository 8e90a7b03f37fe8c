#include "codegen/matrix/micro_kernel.h"

#include "codegen/kernel/isa.h"
#include "codegen/kernel/llvm_ir.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

namespace {

using Values = std::vector<llvm::Value*>;

// Steps of k in one turn of the inner loop.
constexpr int kUnrolled = 4;
// B is fetched ahead by tiles of at least so many rows. With fewer rows, a product is limited by
// loads, and reads long lines, which processors foresee.
constexpr int kRowsToFetch = 4;
// With rows as far apart as a register says, an x86 address reaches three rows from one pointer:
// at 0, 1 and 2 times the distance.
constexpr int kRowsOfPointer = 3;

class TileEmitter {
 public:
  TileEmitter(const Tile& tile, llvm::Module& module, const std::string& name)
      : tile_(tile), b_(module.getContext()), lanes_(lanes_of(tile.dtype)) {
    llvm::LLVMContext& context = module.getContext();
    element_ = tile.dtype == DType::float64 ? b_.getDoubleTy() : b_.getFloatTy();
    vector_ = llvm::FixedVectorType::get(element_, static_cast<unsigned>(lanes_));
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function_));
  }

  void emit() {
    args_ = function_->getArg(0);
    auto* b = pointer(offsetof(TileArgs, b));
    auto* c = pointer(offsetof(TileArgs, c));
    a_ = pointer(offsetof(TileArgs, a));
    a_step_ = number(offsetof(TileArgs, a_step));
    b_step_ = number(offsetof(TileArgs, b_step));
    b_ahead_ = number(offsetof(TileArgs, b_ahead));
    auto* b_tile = number(offsetof(TileArgs, b_tile));
    c_row_ = number(offsetof(TileArgs, c_row));
    k_ = number(offsetof(TileArgs, k));
    auto* tiles = number(offsetof(TileArgs, tiles));
    from_result_ = b_.CreateICmpNE(number(offsetof(TileArgs, begin)), b_.getInt64(0));
    adds_ = b_.CreateICmpNE(number(offsetof(TileArgs, end)), b_.getInt64(0));
    if (tile_.partial) mask_ = mask_of(number(offsetof(TileArgs, lanes)));

    llvm::BasicBlock *entry = b_.GetInsertBlock(), *turn = block("tile"), *done = block("done");
    b_.CreateBr(turn);
    b_.SetInsertPoint(turn);
    llvm::PHINode *bs = phi(b_.getPtrTy()), *cs = phi(b_.getPtrTy()), *left = phi(b_.getInt64Ty());
    bs->addIncoming(b, entry);
    cs->addIncoming(c, entry);
    left->addIncoming(tiles, entry);
    emit_tile(bs, cs);
    auto* fewer = b_.CreateSub(left, b_.getInt64(1));
    llvm::BasicBlock* end = b_.GetInsertBlock();
    bs->addIncoming(at(bs, b_tile), end);
    cs->addIncoming(at(cs, b_.getInt64(tile_.vectors * lanes_ * size())), end);
    left->addIncoming(fewer, end);
    b_.CreateCondBr(b_.CreateICmpNE(fewer, b_.getInt64(0)), turn, done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(tile_.dtype)); }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(function_->getContext(), name, function_);
  }
  llvm::PHINode* phi(llvm::Type* type) { return b_.CreatePHI(type, 2); }
  llvm::Value* at(llvm::Value* p, llvm::Value* bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), p, bytes);
  }
  llvm::Value* at(llvm::Value* p, std::int64_t bytes) { return at(p, b_.getInt64(bytes)); }
  llvm::Value* pointer(std::size_t offset) {
    return b_.CreateLoad(b_.getPtrTy(), at(args_, static_cast<std::int64_t>(offset)));
  }
  llvm::Value* number(std::size_t offset) {
    return b_.CreateLoad(b_.getInt64Ty(), at(args_, static_cast<std::int64_t>(offset)));
  }
  llvm::Value* mask_of(llvm::Value* count) {
    std::vector<llvm::Constant*> steps;
    for (int i = 0; i < lanes_; ++i) steps.push_back(b_.getInt64(i));
    return b_.CreateICmpULT(llvm::ConstantVector::get(steps),
                            b_.CreateVectorSplat(static_cast<unsigned>(lanes_), count));
  }

  bool masked(int vector) const { return tile_.partial && vector == tile_.vectors - 1; }
  llvm::Value* load(llvm::Value* p, int vector) {
    const llvm::Align align(static_cast<std::uint64_t>(size()));
    llvm::Value* from = at(p, vector * lanes_ * size());
    if (masked(vector))
      return b_.CreateMaskedLoad(vector_, from, align, mask_,
                                 llvm::Constant::getNullValue(vector_));
    return b_.CreateAlignedLoad(vector_, from, align);
  }
  // Fetches the cache line in which a vector begins, if no vector before it lies in the same line.
  void prefetch(llvm::Value* row, int vector) {
    constexpr std::int64_t kLine = 64;
    const std::int64_t bytes = vector * lanes_ * size();
    if (bytes % kLine) return;
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {at(row, bytes), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }
  void store(llvm::Value* v, llvm::Value* p, int vector) {
    const llvm::Align align(static_cast<std::uint64_t>(size()));
    llvm::Value* to = at(p, vector * lanes_ * size());
    if (masked(vector))
      b_.CreateMaskedStore(v, to, align, mask_);
    else
      b_.CreateAlignedStore(v, to, align);
  }

  // The pointers with which a turn of the loop over k begins.
  struct Position {
    Values a;
    llvm::Value* b;
  };
  Position position(llvm::Value* b) {
    Position p{{a_}, b};
    if (tile_.read_a == ReadA::by_rows)
      for (int row = kRowsOfPointer; row < tile_.rows; row += kRowsOfPointer)
        p.a.push_back(at(a_, b_.CreateMul(a_step_, b_.getInt64(row))));
    return p;
  }
  llvm::Value* element_of_a(const Position& p, int row, int step) {
    llvm::Value* from;
    if (tile_.read_a == ReadA::by_rows) {
      const int behind = row % kRowsOfPointer;
      from = p.a[static_cast<std::size_t>(row / kRowsOfPointer)];
      if (behind) from = at(from, b_.CreateMul(a_step_, b_.getInt64(behind)));
      from = at(from, step * size());
    } else {
      from = at(p.a[0], row * size());
    }
    return b_.CreateVectorSplat(
        static_cast<unsigned>(lanes_),
        b_.CreateAlignedLoad(element_, from, llvm::Align(static_cast<std::uint64_t>(size()))));
  }
  llvm::Value* multiply_add(llvm::Value* x, llvm::Value* y, llvm::Value* sum) {
    if (host_isa().fused) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {x, y, sum});
    return b_.CreateFAdd(sum, b_.CreateFMul(x, y));
  }
  // Adds the terms of `steps` steps, and moves the pointers behind them.
  void add_terms(Position& p, Values& sums, int steps) {
    for (int step = 0; step < steps; ++step) {
      Values row_of_b;
      for (int v = 0; v < tile_.vectors; ++v) {
        row_of_b.push_back(load(p.b, v));
        if (tile_.rows >= kRowsToFetch) prefetch(at(p.b, b_ahead_), v);
      }
      for (int row = 0; row < tile_.rows; ++row) {
        llvm::Value* x = element_of_a(p, row, step);
        for (int v = 0; v < tile_.vectors; ++v) {
          llvm::Value*& sum = sums[static_cast<std::size_t>(row * tile_.vectors + v)];
          sum = multiply_add(x, row_of_b[static_cast<std::size_t>(v)], sum);
        }
      }
      p.b = at(p.b, b_step_);
      if (tile_.read_a == ReadA::by_steps) p.a[0] = at(p.a[0], a_step_);
    }
    if (tile_.read_a == ReadA::by_rows)
      for (llvm::Value*& a : p.a) a = opaque(at(a, steps * size()));
  }
  // The same pointer, of which LLVM does not know that it advances evenly. LLVM would otherwise
  // give every row a pointer of its own, for which there are too few registers.
  llvm::Value* opaque(llvm::Value* p) {
    auto* type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy()}, false);
    return b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {p});
  }

  // A loop over `turns` turns of `steps` steps each. Replaces position and sums by those behind it.
  void loop(llvm::Value* turns, int steps, Position& p, Values& sums) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *body = block("k"), *after = block("behind");
    b_.CreateCondBr(b_.CreateICmpNE(turns, b_.getInt64(0)), body, after);
    b_.SetInsertPoint(body);
    auto* left = phi(b_.getInt64Ty());
    left->addIncoming(turns, before);
    Values starts = p.a;
    starts.push_back(p.b);
    starts.insert(starts.end(), sums.begin(), sums.end());
    std::vector<llvm::PHINode*> carried;
    for (llvm::Value* v : starts) {
      carried.push_back(phi(v->getType()));
      carried.back()->addIncoming(v, before);
    }
    Position here{{carried.begin(), carried.begin() + static_cast<std::ptrdiff_t>(p.a.size())},
                  carried[p.a.size()]};
    Values inner(carried.begin() + static_cast<std::ptrdiff_t>(p.a.size()) + 1, carried.end());
    add_terms(here, inner, steps);
    Values ends = here.a;
    ends.push_back(here.b);
    ends.insert(ends.end(), inner.begin(), inner.end());
    auto* fewer = b_.CreateSub(left, b_.getInt64(1));
    left->addIncoming(fewer, body);
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(ends[i], body);
    b_.CreateCondBr(b_.CreateICmpNE(fewer, b_.getInt64(0)), body, after);
    b_.SetInsertPoint(after);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      auto* v = phi(carried[i]->getType());
      v->addIncoming(starts[i], before);
      v->addIncoming(ends[i], body);
      (i < p.a.size() ? p.a[i] : i == p.a.size() ? p.b : sums[i - p.a.size() - 1]) = v;
    }
  }

  // The value of `then` where `condition` holds, else `otherwise`, for each element of the tile.
  template <class Then>
  Values choose(llvm::Value* condition, const Values& otherwise, Then then) {
    llvm::BasicBlock *before = b_.GetInsertBlock(), *taken = block("taken"), *join = block("join");
    b_.CreateCondBr(condition, taken, join);
    b_.SetInsertPoint(taken);
    Values made = then();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    Values chosen;
    for (std::size_t i = 0; i < made.size(); ++i) {
      auto* v = phi(vector_);
      v->addIncoming(otherwise[i], before);
      v->addIncoming(made[i], taken);
      chosen.push_back(v);
    }
    return chosen;
  }

  template <class F>
  void for_each_vector(llvm::Value* c, F f) {
    for (int row = 0; row < tile_.rows; ++row) {
      llvm::Value* of_row = row ? at(c, b_.CreateMul(c_row_, b_.getInt64(row))) : c;
      for (int v = 0; v < tile_.vectors; ++v)
        f(static_cast<std::size_t>(row * tile_.vectors + v), of_row, v);
    }
  }
  Values load_result(llvm::Value* c) {
    Values sums;
    for_each_vector(c, [&](std::size_t, llvm::Value* row, int v) { sums.push_back(load(row, v)); });
    return sums;
  }

  void emit_tile(llvm::Value* b, llvm::Value* c) {
    // The result is needed only when the sums are finished, so it is fetched meanwhile.
    for_each_vector(c, [&](std::size_t, llvm::Value* row, int v) { prefetch(row, v); });
    const Values zeros(static_cast<std::size_t>(tile_.rows * tile_.vectors),
                       llvm::Constant::getNullValue(vector_));
    Values sums = choose(from_result_, zeros, [&] { return load_result(c); });
    Position p = position(b);
    loop(b_.CreateLShr(k_, b_.getInt64(2)), kUnrolled, p, sums);
    loop(b_.CreateAnd(k_, b_.getInt64(kUnrolled - 1)), 1, p, sums);
    sums = choose(adds_, sums, [&] {
      Values total = load_result(c);
      for (std::size_t i = 0; i < sums.size(); ++i) total[i] = b_.CreateFAdd(total[i], sums[i]);
      return total;
    });
    for_each_vector(c, [&](std::size_t i, llvm::Value* row, int v) { store(sums[i], row, v); });
  }

  const Tile tile_;
  IrBuilder b_;
  const int lanes_;
  llvm::Function* function_;
  llvm::Type *element_, *vector_;
  llvm::Value *args_, *a_, *a_step_, *b_step_, *b_ahead_, *c_row_, *k_, *from_result_, *adds_;
  llvm::Value* mask_ = nullptr;
};

static_assert(kUnrolled == 4);

}  // namespace

int lanes_of(DType dtype) {
  return host_isa().vector_bytes / static_cast<int>(dtype == DType::float64 ? 8 : 4);
}

int most_rows() {
  // Beside the sums, registers hold a row of B, an element of A and, without fused multiply-adds, a
  // product.
  const int others = kTileVectors + (host_isa().fused ? 1 : 3);
  return (host_isa().vector_registers - others) / kTileVectors;
}

int most_vectors(int rows) {
  constexpr int kMost = 8;
  return std::clamp((host_isa().vector_registers - 2) / (rows + 1), kTileVectors, kMost);
}

SharedFunction tile_function(const Tile& tile) {
  std::string key = "matrix tile 4 " + std::to_string(static_cast<int>(tile.dtype)) + " " +
                    std::to_string(tile.rows) + " " + std::to_string(tile.vectors) + " " +
                    std::to_string(tile.partial) + " " +
                    std::to_string(static_cast<int>(tile.read_a));
  return {std::move(key), [tile](llvm::Module& module, const std::string& name) {
            TileEmitter(tile, module, name).emit();
          }};
}

TileKernel tile_kernel(const Tile& tile) {
  return reinterpret_cast<TileKernel>(shared_function(tile_function(tile)));
}

}  // namespace tessera::inline v0::codegen::matrix
