#include "codegen/matrix/micro_kernel.h"

#include "codegen/kernel/isa.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/matrix/loop_ir.h"
#include "codegen/matrix/terms_ir.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

namespace {

using Values = std::vector<llvm::Value*>;

// Steps of k in one iteration of the inner loop.
constexpr int kUnrolled = 4;
// The number of rows from which a tile prefetches B. With fewer rows, a product of operands in a
// cache is limited by loads, which prefetching would increase.
constexpr int kRowsToFetch = 4;
// If the stride of rows is in a register, an x86 address reaches three rows from one pointer: at 0,
// 1 and 2 times the stride.
constexpr int kRowsOfPointer = 3;

class TileEmitter {
 public:
  TileEmitter(const Tile& tile, llvm::Module& module, const std::string& name)
      : tile_(tile),
        b_(module.getContext()),
        terms_(b_, tile.kind, tile.b_element, true),
        lanes_(terms_.lanes()),
        parts_(parts_in(tile.kind)) {
    llvm::LLVMContext& context = module.getContext();
    vector_ = terms_.vector_of(terms_.sum());
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
    if (tile_.kind.terms == Terms::quads_int8) minus_ = pointer(offsetof(TileArgs, minus));
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
  // Of an element of the result, and of a word.
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(tile_.kind.sum)); }
  std::int64_t element_size() const { return static_cast<std::int64_t>(size_of(tile_.b_element)); }
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
  static llvm::Align aligned(std::int64_t bytes) {
    return llvm::Align(static_cast<std::uint64_t>(bytes));
  }
  // A vector of as many elements as there are lanes, which have one or two parts each.
  llvm::Value* load(llvm::Value* from, llvm::Type* part, int parts, std::int64_t align,
                    bool masked) {
    llvm::Type* type = terms_.vector_of(part, parts);
    if (!masked) return b_.CreateAlignedLoad(type, from, aligned(align));
    return b_.CreateMaskedLoad(type, from, aligned(align), mask_of_parts(parts),
                               llvm::Constant::getNullValue(type));
  }
  llvm::Value* mask_of_parts(int parts) {
    if (parts == 1) return mask_;
    std::vector<int> lanes;
    for (int i = 0; i < lanes_; ++i) lanes.insert(lanes.end(), static_cast<std::size_t>(parts), i);
    return b_.CreateShuffleVector(mask_, lanes);
  }
  // Complex numbers as a vector of real and one of imaginary parts, and back.
  Values split(llvm::Value* v) {
    if (parts_ == 1) return {v};
    Values out;
    for (int part = 0; part < 2; ++part) {
      std::vector<int> lanes;
      for (int i = 0; i < lanes_; ++i) lanes.push_back(2 * i + part);
      out.push_back(b_.CreateShuffleVector(v, lanes));
    }
    return out;
  }
  llvm::Value* join(llvm::Value* const* parts) {
    if (parts_ == 1) return parts[0];
    std::vector<int> lanes;
    for (int i = 0; i < lanes_; ++i) lanes.insert(lanes.end(), {i, lanes_ + i});
    return b_.CreateShuffleVector(parts[0], parts[1], lanes);
  }

  // The words of a row of B, for each vector and each part.
  Values row_of_b(llvm::Value* row) {
    Values words;
    for (int v = 0; v < tile_.vectors; ++v) {
      if (tile_.read_b == ReadB::words) {
        const std::int64_t part = size() / parts_;
        for (int i = 0; i < parts_; ++i)
          words.push_back(
              load(at(row, (v * parts_ + i) * lanes_ * part), terms_.word(), 1, part, masked(v)));
        continue;
      }
      Values rows;
      for (int i = 0; i < terms_.steps(); ++i) {
        llvm::Value* from = i ? at(row, b_.CreateMul(b_step_, b_.getInt64(i))) : row;
        rows.push_back(load(at(from, v * lanes_ * element_size()), terms_.from(), parts_,
                            element_size() / parts_, masked(v)));
      }
      const Values of_vector = parts_ == 2 ? split(rows[0]) : Values{terms_.words_of_rows(rows)};
      words.insert(words.end(), of_vector.begin(), of_vector.end());
    }
    return words;
  }
  // Prefetches the rows from which the words of a later row of B are made.
  void prefetch_b(llvm::Value* row) {
    const bool in_place = tile_.read_b == ReadB::elements;
    for (int i = 0; i < (in_place ? terms_.steps() : 1); ++i)
      prefetch(i ? at(row, b_.CreateMul(b_step_, b_.getInt64(i))) : row,
               tile_.vectors * lanes_ * (in_place ? element_size() : size()));
  }
  // Prefetches the cache lines that begin within this number of bytes.
  void prefetch(llvm::Value* row, std::int64_t bytes) {
    constexpr std::int64_t kLine = 64;
    for (std::int64_t i = 0; i < bytes; i += kLine)
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {at(row, i), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }
  void store(llvm::Value* v, llvm::Value* to, int vector) {
    const llvm::Align align = aligned(size() / parts_);
    if (masked(vector))
      b_.CreateMaskedStore(v, to, align, mask_of_parts(parts_));
    else
      b_.CreateAlignedStore(v, to, align);
  }

  // The pointers at the start of an iteration of the loop over k.
  struct Position {
    Values a;
    llvm::Value* b;
  };
  Position position(llvm::Value* a, llvm::Value* b) {
    Position p{{a}, b};
    if (tile_.read_a == ReadA::by_rows)
      for (int row = kRowsOfPointer; row < tile_.rows; row += kRowsOfPointer)
        p.a.push_back(at(a, b_.CreateMul(a_step_, b_.getInt64(row))));
    return p;
  }
  // A word of A in all lanes, for each part.
  Values word_of_a(const Position& p, int row, int step) {
    llvm::Value* from;
    if (tile_.read_a == ReadA::by_rows) {
      const int behind = row % kRowsOfPointer;
      from = p.a[static_cast<std::size_t>(row / kRowsOfPointer)];
      if (behind) from = at(from, b_.CreateMul(a_step_, b_.getInt64(behind)));
      from = at(from, step * size());
    } else {
      from = at(p.a[0], row * size());
    }
    // Words of a matrix in place have the alignment of its elements.
    const std::int64_t part = size() / parts_;
    Values parts;
    for (int i = 0; i < parts_; ++i)
      parts.push_back(b_.CreateVectorSplat(
          static_cast<unsigned>(lanes_),
          b_.CreateAlignedLoad(terms_.word(), at(from, i * part), aligned(part / terms_.steps()))));
    return parts;
  }
  // Adds the products of a word of A and a vector of words of B.
  void multiply_add(const Values& x, llvm::Value* const* y, llvm::Value** sums) {
    sums[0] = terms_.add_products(x[0], y[0], sums[0]);
    if (parts_ == 1) return;
    sums[1] = terms_.add_products(x[0], y[1], sums[1]);
    sums[0] = terms_.add_products(b_.CreateFNeg(x[1]), y[1], sums[0]);
    sums[1] = terms_.add_products(x[1], y[0], sums[1]);
  }
  // Adds the terms of `steps` words, and advances the pointers past them.
  void add_terms(Position& p, Values& sums, int steps) {
    for (int step = 0; step < steps; ++step) {
      const Values words = row_of_b(p.b);
      if (tile_.rows >= kRowsToFetch || tile_.fetches) prefetch_b(at(p.b, b_ahead_));
      for (int row = 0; row < tile_.rows; ++row) {
        const Values x = word_of_a(p, row, step);
        for (int v = 0; v < tile_.vectors; ++v)
          multiply_add(x, &words[static_cast<std::size_t>(v * parts_)],
                       &sums[static_cast<std::size_t>((row * tile_.vectors + v) * parts_)]);
      }
      p.b = at(p.b, tile_.read_b == ReadB::elements && terms_.steps() > 1
                        ? b_.CreateMul(b_step_, b_.getInt64(terms_.steps()))
                        : b_step_);
      if (tile_.read_a == ReadA::by_steps) p.a[0] = at(p.a[0], a_step_);
    }
    if (tile_.read_a == ReadA::by_rows)
      for (llvm::Value*& a : p.a) a = opaque(at(a, steps * size()));
  }
  // The same pointer, but hiding from LLVM that it advances evenly. LLVM would otherwise keep a
  // separate pointer for every row, for which there are too few registers.
  llvm::Value* opaque(llvm::Value* p) {
    auto* type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy()}, false);
    return b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {p});
  }

  // Writes a loop of `turns` iterations with `steps` steps each, and replaces position and sums by
  // those after it.
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
        f(static_cast<std::size_t>((row * tile_.vectors + v) * parts_),
          at(of_row, v * lanes_ * size()), v);
    }
  }
  Values load_result(llvm::Value* c) {
    Values sums;
    for_each_vector(c, [&](std::size_t, llvm::Value* from, int v) {
      for (llvm::Value* x : split(load(from, terms_.sum(), parts_, size() / parts_, masked(v))))
        sums.push_back(x);
    });
    return sums;
  }
  // For Terms::quads_int8: see TileArgs::minus.
  void subtract(Values& sums) {
    const auto each = static_cast<std::size_t>(tile_.vectors * parts_);
    for (std::size_t row = 0; row < static_cast<std::size_t>(tile_.rows); ++row) {
      auto* minus = b_.CreateVectorSplat(
          static_cast<unsigned>(lanes_),
          b_.CreateAlignedLoad(terms_.sum(), at(minus_, static_cast<std::int64_t>(row) * size()),
                               aligned(size())));
      for (std::size_t i = 0; i < each; ++i)
        sums[row * each + i] = b_.CreateSub(sums[row * each + i], minus);
    }
  }

  // Adds the terms of `k` evenly spaced steps.
  void add_run(Position p, llvm::Value* k, Values& sums) {
    loop(b_.CreateLShr(k, b_.getInt64(2)), kUnrolled, p, sums);
    loop(b_.CreateAnd(k, b_.getInt64(kUnrolled - 1)), 1, p, sums);
  }
  // Adds the terms of all runs, in order.
  Values add_runs(llvm::Value* b, const Values& sums) {
    Values starts{pointer(offsetof(TileArgs, runs))};
    starts.insert(starts.end(), sums.begin(), sums.end());
    const Values ends = carrying_loop(b_, k_, starts, [&](const Values& here) {
      llvm::Value* run = here[0];
      auto member = [&](std::size_t offset) {
        return b_.CreateLoad(b_.getInt64Ty(), at(run, static_cast<std::int64_t>(offset)));
      };
      Values inner(here.begin() + 1, here.end());
      add_run(position(at(a_, member(offsetof(StepRun, a))), at(b, member(offsetof(StepRun, b)))),
              member(offsetof(StepRun, steps)), inner);
      Values next{at(run, std::int64_t{sizeof(StepRun)})};
      next.insert(next.end(), inner.begin(), inner.end());
      return next;
    });
    return {ends.begin() + 1, ends.end()};
  }

  void emit_tile(llvm::Value* b, llvm::Value* c) {
    // The result is needed only when the sums are finished, so it is prefetched meanwhile.
    for (int row = 0; row < tile_.rows; ++row)
      prefetch(row ? at(c, b_.CreateMul(c_row_, b_.getInt64(row))) : c,
               tile_.vectors * lanes_ * size());
    const Values zeros(static_cast<std::size_t>(tile_.rows * tile_.vectors * parts_),
                       llvm::Constant::getNullValue(vector_));
    Values sums = choose(from_result_, zeros, [&] { return load_result(c); });
    if (minus_) subtract(sums);
    if (tile_.in_runs)
      sums = add_runs(b, sums);
    else
      add_run(position(a_, b), k_, sums);
    sums = choose(adds_, sums, [&] {
      Values total = load_result(c);
      for (std::size_t i = 0; i < sums.size(); ++i) total[i] = terms_.add(total[i], sums[i]);
      return total;
    });
    for_each_vector(c,
                    [&](std::size_t i, llvm::Value* to, int v) { store(join(&sums[i]), to, v); });
  }

  const Tile tile_;
  IrBuilder b_;
  TermsIr terms_;
  const int lanes_, parts_;
  llvm::Function* function_;
  llvm::Type* vector_;
  llvm::Value *args_, *a_, *a_step_, *b_step_, *b_ahead_, *c_row_, *k_, *from_result_, *adds_;
  llvm::Value *mask_ = nullptr, *minus_ = nullptr;
};

static_assert(kUnrolled == 4);

}  // namespace

int most_rows() {
  // In addition to the sums, registers hold a row of B, an element of A and, without fused
  // multiply-adds, a product.
  const int others = kTileVectors + (host_isa().fused ? 1 : 3);
  return (host_isa().vector_registers - others) / kTileVectors;
}

int most_vectors(int rows, int parts) {
  constexpr int kMost = 8;
  return std::clamp((host_isa().vector_registers - 2) / ((rows + 1) * parts), kTileVectors / parts,
                    kMost / parts);
}

SharedFunction tile_function(const Tile& tile) {
  std::string key = "matrix tile 6";
  for (int part :
       {static_cast<int>(tile.kind.sum), static_cast<int>(tile.kind.terms), tile.rows, tile.vectors,
        int{tile.partial}, static_cast<int>(tile.read_a), static_cast<int>(tile.read_b),
        tile.read_b == ReadB::elements ? static_cast<int>(tile.b_element) : 0,
        int{tile.fetches && tile.rows < kRowsToFetch}})
    key += " " + std::to_string(part);
  if (tile.in_runs) key += " in runs";
  return {std::move(key), [tile](llvm::Module& module, const std::string& name) {
            TileEmitter(tile, module, name).emit();
          }};
}

TileKernel tile_kernel(const Tile& tile) {
  return reinterpret_cast<TileKernel>(shared_function(tile_function(tile)));
}

}  // namespace tessera::inline v0::codegen::matrix
