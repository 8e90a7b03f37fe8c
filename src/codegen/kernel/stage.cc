// Emits the loops of a stage.
#include "codegen/kernel/scopes.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <utility>

namespace tessera::inline v0::codegen {

namespace {

// Makes a function private to its module.
llvm::Function* internal(llvm::Module& m, const std::string& name) {
  llvm::Function* f = m.getFunction(name);
  f->setLinkage(llvm::Function::InternalLinkage);
  return f;
}

}  // namespace

void KernelEmitter::emit_stage(const StageSchedule& stage, const std::string& name) {
  if (!stage.past_caches) return emit_function(stage, name, false);
  emit_function(stage, name + "_plain", false);
  emit_function(stage, name + "_past", true);
  emit_choice(stage, name, name + "_plain", name + "_past");
}

// Results bypass the caches if they start at cache lines and do not overwrite operands, which are
// in the caches already.
void KernelEmitter::emit_choice(const StageSchedule& stage, const std::string& name,
                                const std::string& plain, const std::string& past) {
  llvm::Function* others[] = {internal(module_, plain), internal(module_, past)};
  auto* f = llvm::Function::Create(others[0]->getFunctionType(), llvm::Function::ExternalLinkage,
                                   name, module_);
  f->setDoesNotThrow();
  llvm::LLVMContext& c = module_.getContext();
  auto* entry = llvm::BasicBlock::Create(c, "entry", f);
  IrBuilder b(entry);
  auto pointer = [&](unsigned argument, std::size_t i) {
    return b.CreatePtrToInt(b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(
                                                           b.getPtrTy(), f->getArg(argument), i)),
                            b.getInt64Ty());
  };
  std::vector<llvm::Value*> inputs;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) inputs.push_back(pointer(0, i));
  llvm::Value* may = b.getTrue();
  for (int m : stage.members) {
    llvm::Value* out = pointer(1, static_cast<std::size_t>(m));
    may = b.CreateAnd(may, b.CreateICmpEQ(b.CreateAnd(out, 63), b.getInt64(0)));
    for (llvm::Value* in : inputs) may = b.CreateAnd(may, b.CreateICmpNE(in, out));
  }
  llvm::BasicBlock* ways[2];
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& a : f->args()) arguments.push_back(&a);
  for (int k = 0; k < 2; ++k) {
    ways[k] = llvm::BasicBlock::Create(c, "way", f);
    b.SetInsertPoint(ways[k]);
    b.CreateCall(others[k], arguments);
    b.CreateRetVoid();
  }
  b.SetInsertPoint(entry);
  b.CreateCondBr(may, ways[1], ways[0]);
}

void KernelEmitter::begin_function(const std::string& name) {
  scopes_.clear();
  regions_.clear();
  root_values_.clear();
  current_ = nullptr;
  llvm::LLVMContext& c = module_.getContext();
  llvm::Type *ptr = b_->getPtrTy(), *i64 = b_->getInt64Ty();
  auto* type = llvm::FunctionType::get(b_->getVoidTy(), {ptr, ptr, ptr, i64, i64, i64}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDoesNotThrow();
  Scope& root = scopes_.emplace_back();
  root.region = &regions_.emplace_back();
  root.region->tail = llvm::BasicBlock::Create(c, "entry", function_);
  root_ = current_ = &root;
  b_->SetInsertPoint(root.region->tail);
}

void KernelEmitter::emit_function(const StageSchedule& stage, const std::string& name,
                                  bool past_caches) {
  past_caches_ = past_caches;
  IndexArena arena;
  stage_ = &stage;
  begin_function(name);
  if (stage.units == 1 && !stage.any_length)
    emit_units(stage, Index(0));
  else
    loop(function_->getArg(3), function_->getArg(4), 1, true, stage.units, 0, {},
         [&](const Index& unit, const Accumulators&) {
           emit_units(stage, unit);
           return Accumulators{};
         });
#if defined(__x86_64__)
  // Orders the non-temporal stores before any signal that the results are ready.
  if (past_caches) b_->CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
#endif
  b_->CreateRetVoid();
}

// A unit is a position in the outer loops and, if the innermost loop is cut, a block of it.
void KernelEmitter::emit_units(const StageSchedule& s, const Index& unit) {
  std::vector<std::int64_t> digits(s.dims.begin(),
                                   s.dims.begin() + static_cast<std::ptrdiff_t>(s.unit_dims));
  if (s.tile >= 0) {
    std::int64_t& n = digits[static_cast<std::size_t>(s.tile)];
    n = (n + s.tile_length - 1) / s.tile_length;
  }
  Index block;
  if (s.block) digits.push_back((s.dims.back() + s.block - 1) / s.block);
  // Consecutive units advance along the tiled loop first.
  if (s.along_rows) std::rotate(digits.begin() + s.tile, digits.begin() + s.tile + 1, digits.end());
  std::vector<Index> loops = unflatten(unit, digits);
  if (s.along_rows) std::rotate(loops.begin() + s.tile, loops.end() - 1, loops.end());
  if (s.block) {
    block = loops.back();
    loops.pop_back();
  }
  emit_inner(s, std::move(loops), block);
}

void KernelEmitter::emit_inner(const StageSchedule& s, std::vector<Index> loops,
                               const Index& block) {
  if (s.row_dims && loops.size() == s.row_loops && !row_) return emit_row(s, loops, block);
  if (loops.size() == s.dims.size()) return emit_element(s, loops);
  std::size_t dim = loops.size();
  auto body = [&](const Index& i, const Accumulators&) {
    std::vector<Index> deeper = loops;
    deeper.push_back(i);
    emit_inner(s, std::move(deeper), block);
    return Accumulators{};
  };
  if (dim + 1 < s.dims.size() || !s.width) {
    counted(s.dims[dim], {}, body);
    return;
  }
  if (s.tile >= 0) return emit_tile(s, std::move(loops), block);
  std::int64_t extent = s.dims[dim];
  if (!s.block) {
    std::int64_t begin = 0;
    for (std::size_t k = 0; k <= s.seams.size(); ++k) {
      const std::int64_t end = k < s.seams.size() ? s.seams[k] : extent;
      lanes_loop({end - begin, end - begin}, s.width, nullptr, {},
                 [&](const Index& i, const Accumulators& a) { return body(i + Index(begin), a); });
      begin = end;
    }
    return;
  }
  Index start = block * s.block;
  llvm::Value* length = nullptr;
  if (s.any_length || extent % s.block) {
    llvm::Value* whole = s.any_length ? static_cast<llvm::Value*>(function_->getArg(5))
                                      : b_->getInt64(static_cast<std::uint64_t>(extent));
    llvm::Value* left = b_->CreateSub(whole, scalar(start));
    length = b_->CreateBinaryIntrinsic(llvm::Intrinsic::umin, left,
                                       b_->getInt64(static_cast<std::uint64_t>(s.block)));
  }
  lanes_loop({extent, s.block, scalar(start), length}, s.width, nullptr, {}, body);
}

// Vectors along the innermost dimension gather from rows, over a tile of the dimension along which
// the rows are contiguous, so that every cache line is used up before the next is touched.
void KernelEmitter::emit_tile(const StageSchedule& s, std::vector<Index> loops,
                              const Index& block) {
  auto length_of = [&](std::int64_t extent, std::int64_t piece,
                       const Index& start) -> llvm::Value* {
    if (extent % piece == 0) return nullptr;
    llvm::Value* left =
        b_->CreateSub(b_->getInt64(static_cast<std::uint64_t>(extent)), scalar(start));
    return b_->CreateBinaryIntrinsic(llvm::Intrinsic::umin, left,
                                     b_->getInt64(static_cast<std::uint64_t>(piece)));
  };
  auto tile = static_cast<std::size_t>(s.tile);
  std::int64_t extent = s.dims[tile], inner = s.dims.back();
  Index start = loops[tile] * s.tile_length;
  llvm::Value* begin = scalar(start);
  llvm::Value* length = length_of(extent, s.tile_length, start);
  llvm::Value* end = b_->CreateAdd(
      begin, length ? length : b_->getInt64(static_cast<std::uint64_t>(s.tile_length)));
  Span span{inner, inner};
  if (s.block) {
    Index first = block * s.block;
    span = {inner, s.block, scalar(first), length_of(inner, s.block, first)};
  }
  loops.push_back(Index(0));
  lanes_loop(span, s.width, nullptr, {}, [&](const Index& j, const Accumulators&) {
    loops.back() = j;
    if (s.tile_unrolled && !length && !current_->mask) {
      unroll_tile(s, loops, start);
      return Accumulators{};
    }
    return loop(begin, end, 1, true, extent, 0, {}, [&](const Index& i, const Accumulators&) {
      loops[tile] = i;
      emit_element(s, loops);
      return Accumulators{};
    });
  });
}

void KernelEmitter::unroll_tile(const StageSchedule& s, std::vector<Index>& loops,
                                const Index& start) {
  Scope* outer = current_;
  Tile tile{outer, start, nullptr, 0, {}};
  tile_ = &tile;
  for (std::int64_t k = 0; k < s.tile_length; ++k) {
    Scope* one = new_scope(false);
    current_ = one;
    Index i =
        make_variable(std::max<std::int64_t>(2, s.dims[static_cast<std::size_t>(s.tile)]), one);
    one->scalars[node_of(i)] = scalar(start + Index(k));
    tile.atom = single_atom(i);
    tile.offset = static_cast<std::size_t>(k);
    loops[static_cast<std::size_t>(s.tile)] = i;
    emit_element(s, loops);
    current_ = outer;
  }
  tile_ = nullptr;
}

// A vector that runs across rows of memory, taken from a square of rows that is loaded and
// transposed once.
llvm::Value* KernelEmitter::from_tile(llvm::Value* base, DType d, const Index& flat,
                                      std::int64_t stride) {
  if (!tile_ || coefficient(flat, tile_->atom) != 1 || current_->mask ||
      current_->width != stage_->tile_length)
    return nullptr;
  for (Scope* s = current_; s != tile_->scope; s = s->parent)
    if (!s || s->barrier || s->region != tile_->scope->region) return nullptr;
  Index first = substitute(flat, tile_->atom, tile_->start);
  auto [it, fresh] = tile_->squares.try_emplace({base, node_of(first)});
  std::vector<llvm::Value*>& rows = it->second;
  if (fresh) {
    int n = current_->width;
    llvm::Type *element = ops_.memory_type(d), *type = ops_.memory_type(d, n);
    for (int l = 0; l < n; ++l) {
      llvm::Value* p = b_->CreateInBoundsGEP(element, base, scalar(first));
      p = b_->CreateConstInBoundsGEP1_64(element, p, static_cast<std::uint64_t>(l * stride));
      rows.push_back(
          b_->CreateAlignedLoad(type, p, llvm::Align(static_cast<std::uint64_t>(size_of(d)))));
    }
    // Interleaving the halves of the rows log2(n) times transposes the square.
    std::vector<int> low, high;
    for (int i = 0; i < n / 2; ++i)
      low.insert(low.end(), {i, n + i}), high.insert(high.end(), {n / 2 + i, n + n / 2 + i});
    for (int round = 1; round < n; round *= 2) {
      std::vector<llvm::Value*> next;
      for (int i = 0; i < n / 2; ++i) {
        auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(n) / 2 + a;
        next.push_back(b_->CreateShuffleVector(rows[a], rows[b], low));
        next.push_back(b_->CreateShuffleVector(rows[a], rows[b], high));
      }
      rows = std::move(next);
    }
  }
  return rows[tile_->offset];
}

std::vector<Index> KernelEmitter::position(const StageSchedule& s,
                                           std::span<const Index> loops) const {
  std::vector<Index> at;
  std::size_t first = 0;
  for (std::size_t d = 0; d < loops.size(); ++d) {
    auto n = static_cast<std::size_t>(s.groups[d]);
    std::span<const std::int64_t> extents(s.shape.data() + first, n);
    for (Index& i : unflatten(loops[d], extents)) at.push_back(std::move(i));
    first += n;
  }
  return at;
}

// Emits the values that are constant along a row, then the row.
void KernelEmitter::emit_row(const StageSchedule& s, const std::vector<Index>& loops,
                             const Index& block) {
  std::vector<Index> at = position(s, loops);
  Row row{at, current_, {}};
  row_ = &row;
  std::vector<std::pair<int, Lane>> results;
  for (int m : s.row_members) {
    Var v = program_.outputs[static_cast<std::size_t>(m)];
    results.emplace_back(
        m, value(v, row_index(at, std::span(s.shape.data(), s.row_dims), program_.type(v).shape)));
  }
  Index flat = flatten(at, std::span(s.shape.data(), s.row_dims));
  for (auto& [m, x] : results) store(output_pointer(static_cast<std::size_t>(m)), flat, x);
  emit_inner(s, loops, block);
  row_ = nullptr;
}

// A row of a value that is needed more than once, kept in stack memory of the machine code.
std::optional<Lane> KernelEmitter::from_row(Var v, std::span<const Index> at) {
  if (!row_ || std::find(stage_->cached.begin(), stage_->cached.end(), v) == stage_->cached.end())
    return std::nullopt;
  std::size_t n = row_->at.size();
  if (at.size() <= n) return std::nullopt;
  for (std::size_t d = 0; d < n; ++d)
    if (node_of(at[d]) != node_of(row_->at[d])) return std::nullopt;
  const Type& t = program_.type(v);
  std::span<const std::int64_t> extents(t.shape.data() + n, at.size() - n);
  std::int64_t length = 1;
  for (std::int64_t e : extents) length *= e;
  auto [it, fresh] = row_->memory.try_emplace(v, nullptr);
  if (!it->second && !fresh) return std::nullopt;  // the value is being computed
  if (fresh) {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    IrBuilder b(&entry, entry.begin());
    llvm::AllocaInst* memory =
        b.CreateAlloca(ops_.memory_type(t.dtype), b.getInt64(static_cast<std::uint64_t>(length)));
    memory->setAlignment(llvm::Align(64));
    in_scope(row_->scope, [&] {
      int width = 1;
      while (width < length && width < 64 / std::max(4, size_of(t.dtype))) width *= 2;
      lanes_loop({length, length}, std::max(2, width), nullptr, {},
                 [&](const Index& i, const Accumulators&) {
                   std::vector<Index> here = row_->at;
                   for (Index& x : unflatten(i, extents)) here.push_back(std::move(x));
                   Lane x = value(v, here);
                   const bool past = std::exchange(past_caches_, false);  // the row is read again
                   store(memory, i, x);
                   past_caches_ = past;
                   return Accumulators{};
                 });
      return 0;
    });
    row_->memory[v] = memory;
  }
  return load(row_->memory[v], t.dtype, flatten(at.subspan(n), extents));
}

void KernelEmitter::emit_element(const StageSchedule& s, std::span<const Index> loops) {
  std::vector<Index> at = position(s, loops);
  // Compute all results before storing: an output may share memory with an input that is read here.
  std::vector<Lane> results;
  for (int m : s.members) {
    auto i = static_cast<std::size_t>(m);
    if (s.kind == StageSchedule::Kind::outputs) {
      results.push_back(value(program_.outputs[i], at));
    } else if (s.kind == StageSchedule::Kind::totals) {
      results.push_back(value(plan_.splits[i].var, at));
    } else {
      Index which = at[0];
      chunk_ = &which;
      chunked_ = plan_.splits[i].eqn;
      std::span<const Index> rest(at.data() + 1, at.size() - 1);
      result_at_ = &rest;
      apply(plan_.splits[i].var, rest);
      chunked_ = nullptr;
      results.push_back(*chunk_result_);
    }
  }
  Index flat = flatten(at, s.shape);
  for (std::size_t k = 0; k < results.size(); ++k) {
    auto i = static_cast<std::size_t>(s.members[k]);
    llvm::Value* base = s.kind == StageSchedule::Kind::outputs ? output_pointer(i)
                        : s.kind == StageSchedule::Kind::totals
                            ? scratch_pointer(plan_.splits[i].total)
                            : scratch_pointer(plan_.splits[i].partials);
    store(base, flat, results[k]);
  }
}

}  // namespace tessera::inline v0::codegen
