#include "codegen/nest/nest_emitter.h"

#include "base/overloaded.h"
#include "codegen/kernel/emitter.h"
#include "codegen/kernel/key.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::codegen {

namespace {

// Carries and operands up to this size are copied, so that they can stay in registers. Larger
// carries alternate between two buffers.
constexpr std::int64_t kCopiedBytes = 256;

std::uint64_t unsigned_of(std::int64_t n) { return static_cast<std::uint64_t>(n); }

std::int64_t bytes_of(const NestBlock& block, int buffer) {
  return block.buffers[static_cast<std::size_t>(buffer)].bytes;
}

}  // namespace

NestEmitter::NestEmitter(llvm::Module& module) : module_(module), b_(module.getContext()) {}

llvm::BasicBlock* NestEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(module_.getContext(), name, function_);
}

// Memory of the function, which lasts until it returns.
llvm::Value* NestEmitter::memory(std::int64_t bytes) {
  IrBuilder b(entry_);
  llvm::AllocaInst* made =
      b.CreateAlloca(b.getInt8Ty(), b.getInt64(unsigned_of(std::max<std::int64_t>(bytes, 1))));
  made->setAlignment(llvm::Align(64));
  return made;
}

llvm::Value* NestEmitter::bytes_after(llvm::Value* pointer, llvm::Value* bytes) {
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), pointer, bytes);
}

llvm::Value* NestEmitter::place(const Pointers& buffers, const Spot& spot) {
  llvm::Value* p = buffers[static_cast<std::size_t>(spot.buffer)];
  return spot.offset ? bytes_after(p, b_.getInt64(unsigned_of(spot.offset))) : p;
}

void NestEmitter::copy(llvm::Value* from, llvm::Value* to, std::int64_t bytes) {
  if (from == to || bytes == 0) return;
  b_.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), unsigned_of(bytes));
}

const NestEmitter::Callee& NestEmitter::callee(const ProgramPtr& program, bool update) {
  const std::string key = (update ? "u" : "k") + kernel_key(*program);
  const auto [it, fresh] = callees_.try_emplace(key);
  Callee& c = it->second;
  if (!fresh) return c;
  const std::string name = "kernel" + std::to_string(callees_.size()) + "_";
  const KernelSchedule schedule = update ? KernelSchedule{} : schedule_kernel(*program);
  KernelEmitter emitter(*program, schedule, module_);
  const auto add = [&](const std::string& of) {
    llvm::Function* f = module_.getFunction(of);
    f->setLinkage(llvm::Function::InternalLinkage);
    f->addFnAttr(llvm::Attribute::AlwaysInline);
    c.stages.push_back(f);
  };
  if (update) {
    emitter.emit_update(name + "0");
    add(name + "0");
    c.units.push_back(1);
  }
  for (const StageSchedule& s : schedule.stages) {
    const std::string of = name + std::to_string(c.stages.size());
    emitter.emit_stage(s, of);
    add(of);
  }
  for (const StageSchedule& s : schedule.stages) c.units.push_back(s.units);
  c.scratch_bytes = schedule.scratch_bytes;
  return c;
}

void NestEmitter::run(const ProgramPtr& program, bool update, const Pointers& in,
                      const Pointers& out) {
  const Callee& c = callee(program, update);
  const auto table = [&](const Pointers& pointers) {
    llvm::Value* t = memory(static_cast<std::int64_t>(pointers.size() * sizeof(void*)));
    for (std::size_t i = 0; i < pointers.size(); ++i)
      b_.CreateStore(pointers[i], b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), t, i));
    return t;
  };
  if (update) copy(in[0], out[0], program->type(program->outputs[0]).bytes());
  llvm::Value *inputs = table(in), *outputs = table(out),
              *scratch = memory(static_cast<std::int64_t>(c.scratch_bytes));
  for (std::size_t s = 0; s < c.stages.size(); ++s)
    b_.CreateCall(c.stages[s], {inputs, outputs, scratch, b_.getInt64(0),
                                b_.getInt64(unsigned_of(c.units[s])), b_.getInt64(0)});
}

void NestEmitter::run(const NestBlock& block, const Pointers& arguments, const Pointers& results) {
  llvm::Value* const runs = memory(sizeof(std::int64_t));
  runs_.push_back(runs);
  {
    IrBuilder b(entry_);
    b.CreateStore(b.getInt64(0), runs);
  }
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), runs), b_.getInt64(1)), runs);
  Pointers buffers(block.buffers.size());
  for (std::size_t k = 0; k < arguments.size(); ++k)
    buffers[static_cast<std::size_t>(block.arguments[k])] = arguments[k];
  for (std::size_t k = 0; k < results.size(); ++k)
    if (block.results[k] >= 0) buffers[static_cast<std::size_t>(block.results[k])] = results[k];
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i]) continue;
    const NestBuffer& buffer = block.buffers[i];
    if (buffer.contents.empty()) {
      buffers[i] = memory(buffer.bytes);
      continue;
    }
    llvm::Constant* data =
        llvm::ConstantDataArray::getString(module_.getContext(), buffer.contents, false);
    auto* global = new llvm::GlobalVariable(module_, data->getType(), true,
                                            llvm::GlobalValue::InternalLinkage, data, "constant");
    global->setAlignment(llvm::Align(64));
    buffers[i] = global;
  }
  for (const NestStep& step : block.steps) run(step, buffers);
}

void NestEmitter::run(const NestStep& step, const Pointers& buffers) {
  Pointers in, out;
  for (const Spot& s : step.inputs) in.push_back(place(buffers, s));
  // A carry that is passed on unchanged has no separate memory.
  for (const Spot& s : step.outputs) out.push_back(s.buffer < 0 ? nullptr : place(buffers, s));
  std::visit(Overloaded{[&](const NestKernel& k) { run(k.program, false, in, out); },
                        [&](const NestUpdate& u) { run(u.program, true, in, out); },
                        [&](const NestCopy& c) { copy(in[0], out[0], c.bytes); },
                        [&](const NestLoop& l) { run(l, in, out); },
                        [&](const NestBranch& b) { run(b, in, out); }},
             step.kind);
}

// A carry that each iteration reads from `from` and writes to `to`.
struct NestEmitter::Carry {
  std::int64_t bytes = 0;
  llvm::Value *from = nullptr, *to = nullptr;
  llvm::Value* output = nullptr;
  bool moves = false;            // else `from` and `to` are the same place, or it is passed on
  llvm::Value* spare = nullptr;  // if it alternates between two buffers
  // The buffers of a carry that alternates: in this iteration, and in the first one.
  llvm::PHINode *reads = nullptr, *writes = nullptr;
  llvm::Value *first_read = nullptr, *first_write = nullptr;
};

std::vector<NestEmitter::Carry> NestEmitter::begin_carries(const NestLoop& loop, const Pointers& in,
                                                           const Pointers& out) {
  std::vector<Carry> carries(loop.carries);
  const std::size_t first = loop.cond_consts + loop.consts;
  const NestBlock& body = loop.blocks.back();
  for (std::size_t k = 0; k < loop.carries; ++k) {
    Carry& c = carries[k];
    c.bytes = bytes_of(body, body.arguments[loop.consts + k]);
    c.output = out[k];
    llvm::Value* const given = in[first + k];
    if (loop.kept[k]) {
      c.from = given;
    } else if (loop.tied[k] >= 0) {
      copy(in[static_cast<std::size_t>(loop.tied[k])], c.output, c.bytes);
      c.from = c.to = c.output;
    } else if (c.bytes <= kCopiedBytes) {
      c.moves = true;
      c.from = memory(c.bytes);
      c.to = memory(c.bytes);
      copy(given, c.from, c.bytes);
    } else {
      c.moves = true;
      c.spare = memory(c.bytes);
      c.first_read = given;
      // The last iteration of a scan writes the output.
      c.first_write = loop.is_scan() && loop.length % 2 == 0 ? c.spare : c.output;
    }
  }
  return carries;
}

// At the start of an iteration, in the block that `before` leads to.
void NestEmitter::open_turn(std::vector<Carry>& carries, llvm::BasicBlock* before) {
  for (Carry& c : carries) {
    if (!c.spare) continue;
    c.from = c.reads = b_.CreatePHI(b_.getPtrTy(), 2);
    c.to = c.writes = b_.CreatePHI(b_.getPtrTy(), 2);
    c.reads->addIncoming(c.first_read, before);
    c.writes->addIncoming(c.first_write, before);
  }
}

void NestEmitter::close_turn(std::vector<Carry>& carries) {
  for (const Carry& c : carries)
    if (c.moves && !c.spare) copy(c.to, c.from, c.bytes);
  for (Carry& c : carries) {
    if (!c.spare) continue;
    llvm::Value* other = b_.CreateSelect(b_.CreateICmpEQ(c.to, c.spare), c.output, c.spare);
    c.reads->addIncoming(c.to, b_.GetInsertBlock());
    c.writes->addIncoming(other, b_.GetInsertBlock());
  }
}

void NestEmitter::finish_carries(const std::vector<Carry>& carries) {
  for (const Carry& c : carries)
    if (c.moves) copy(c.from, c.output, c.bytes);
}

void NestEmitter::run(const NestLoop& loop, Pointers in, const Pointers& out) {
  // Small operands of all iterations are read once.
  const std::size_t first = loop.cond_consts + loop.consts;
  for (std::size_t k = 0; k < first; ++k) {
    const bool of_condition = k < loop.cond_consts;
    const NestBlock& reader = of_condition ? loop.blocks.front() : loop.blocks.back();
    const std::int64_t bytes =
        bytes_of(reader, reader.arguments[of_condition ? k : k - loop.cond_consts]);
    if (bytes > kCopiedBytes || llvm::isa<llvm::AllocaInst>(in[k])) continue;
    llvm::Value* const own = memory(bytes);
    copy(in[k], own, bytes);
    in[k] = own;
  }
  if (loop.is_scan())
    scan(loop, in, out);
  else
    repeat(loop, in, out);
}

void NestEmitter::scan(const NestLoop& loop, const Pointers& in, const Pointers& out) {
  const NestBlock& body = loop.blocks[0];
  const std::size_t carry = loop.consts, xs = carry + loop.carries;
  std::size_t n_xs = loop.rows.size() - (out.size() - loop.carries);
  std::vector<Carry> carries = begin_carries(loop, in, out);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *turn = block("scan"), *after = block("scanned");
  b_.CreateBr(turn);
  b_.SetInsertPoint(turn);
  llvm::PHINode* t = b_.CreatePHI(b_.getInt64Ty(), 2);
  t->addIncoming(b_.getInt64(0), before);
  open_turn(carries, before);
  llvm::Value* row = loop.reverse ? b_.CreateSub(b_.getInt64(unsigned_of(loop.length - 1)), t) : t;
  const auto at_row = [&](llvm::Value* array, std::size_t k) {
    return bytes_after(array, b_.CreateMul(row, b_.getInt64(unsigned_of(loop.rows[k]))));
  };
  Pointers arguments, results;
  for (std::size_t k = 0; k < in.size(); ++k)
    if (k >= carry && k < xs)
      arguments.push_back(carries[k - carry].from);
    else
      arguments.push_back(k >= xs && k < xs + n_xs ? at_row(in[k], k - xs) : in[k]);
  for (const Carry& c : carries) results.push_back(c.to);
  for (std::size_t k = loop.carries; k < out.size(); ++k)
    results.push_back(at_row(out[k], n_xs + k - loop.carries));
  run(body, arguments, results);
  close_turn(carries);
  llvm::Value* next = b_.CreateAdd(t, b_.getInt64(1), "", true, true);
  t->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt64(unsigned_of(loop.length))), turn, after);
  b_.SetInsertPoint(after);
  // A carry that alternates must end in its output.
  for (Carry& c : carries) c.moves = c.moves && !c.spare;
  finish_carries(carries);
}

void NestEmitter::repeat(const NestLoop& loop, const Pointers& in, const Pointers& out) {
  const NestBlock &condition = loop.blocks[0], &body = loop.blocks[1];
  const std::size_t carry = loop.cond_consts + loop.consts, hidden = carry + loop.carries;
  const std::size_t of_condition = condition.arguments.size() - loop.cond_consts - loop.carries;
  std::vector<Carry> carries = begin_carries(loop, in, out);
  llvm::Value* flag = memory(1);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *head = block("while"), *turn = block("turn"),
                   *after = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  open_turn(carries, before);
  const auto with_carries = [&](std::size_t begin, std::size_t end, std::size_t first_hidden,
                                std::size_t n_hidden) {
    Pointers all(in.begin() + static_cast<std::ptrdiff_t>(begin),
                 in.begin() + static_cast<std::ptrdiff_t>(end));
    for (const Carry& c : carries) all.push_back(c.from);
    for (std::size_t k = 0; k < n_hidden; ++k) all.push_back(in[first_hidden + k]);
    return all;
  };
  run(condition, with_carries(0, loop.cond_consts, hidden, of_condition), {flag});
  b_.CreateCondBr(b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), flag), b_.getInt8(0)), turn, after);
  b_.SetInsertPoint(turn);
  Pointers results;
  for (const Carry& c : carries) results.push_back(c.to);
  run(body,
      with_carries(loop.cond_consts, carry, hidden + of_condition,
                   in.size() - hidden - of_condition),
      results);
  close_turn(carries);
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
  finish_carries(carries);
}

void NestEmitter::run(const NestBranch& branch, const Pointers& in, const Pointers& out) {
  const std::size_t n = branch.blocks.size();
  llvm::Value* index = b_.CreateLoad(b_.getInt32Ty(), in[0]);
  index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index, b_.getInt32(0));
  index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index,
                                   b_.getInt32(static_cast<std::uint32_t>(n - 1)));
  llvm::BasicBlock* after = block("chosen");
  std::vector<llvm::BasicBlock*> ways;
  for (std::size_t w = 0; w < n; ++w) ways.push_back(block("way"));
  llvm::SwitchInst* choice = b_.CreateSwitch(index, ways.back(), static_cast<unsigned>(n - 1));
  for (std::size_t w = 0; w + 1 < n; ++w)
    choice->addCase(b_.getInt32(static_cast<std::uint32_t>(w)), ways[w]);
  std::size_t hidden = 1 + branch.operands;
  for (std::size_t w = 0; w < n; ++w) {
    const NestBlock& body = branch.blocks[w];
    b_.SetInsertPoint(ways[w]);
    Pointers arguments(in.begin() + 1,
                       in.begin() + 1 + static_cast<std::ptrdiff_t>(branch.operands));
    for (std::size_t k = branch.operands; k < body.arguments.size(); ++k)
      arguments.push_back(in[hidden++]);
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (branch.tied[k] < 0) continue;
      const auto j = static_cast<std::size_t>(branch.tied[k]);
      copy(in[j], out[k], bytes_of(body, body.arguments[j - 1]));
      arguments[j - 1] = out[k];
    }
    run(body, arguments, out);
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

void NestEmitter::emit(const Nest& nest, const std::string& name) {
  llvm::Type *ptr = b_.getPtrTy(), *i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, i64, i64, i64}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setDoesNotThrow();
  entry_ = block("entry");
  llvm::BasicBlock* begin = block("begin");
  b_.SetInsertPoint(begin);
  const auto pointers = [&](unsigned argument, std::size_t n) {
    Pointers all;
    for (std::size_t i = 0; i < n; ++i)
      all.push_back(
          b_.CreateLoad(ptr, b_.CreateConstInBoundsGEP1_64(ptr, function_->getArg(argument), i)));
    return all;
  };
  const Pointers in = pointers(0, nest.inputs), out = pointers(1, nest.outputs);
  run(nest.loop, in, out);
  for (std::size_t k = 0; k < runs_.size(); ++k)
    b_.CreateStore(b_.CreateLoad(i64, runs_[k]),
                   b_.CreateConstInBoundsGEP1_64(i64, function_->getArg(2), k));
  b_.CreateRetVoid();
  b_.SetInsertPoint(entry_);
  b_.CreateBr(begin);
}

}  // namespace tessera::inline v0::codegen
