// Writes the function of a nest: the loops and branches, with calls of the kernels, which LLVM
// inlines.
#pragma once

#include "codegen/kernel/llvm_ir.h"
#include "codegen/nest/nest.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera::inline v0::codegen {

class NestEmitter {
 public:
  explicit NestEmitter(llvm::Module& module);

  /// Defines a function of the form of KernelEmitter::emit_stage; the range is ignored.
  void emit(const Nest& nest, const std::string& name);

 private:
  using Pointers = std::vector<llvm::Value*>;

  void run(const NestStep& step, const Pointers& buffers);
  void run(const NestLoop& loop, Pointers in, const Pointers& out);
  void run(const NestBranch& branch, const Pointers& in, const Pointers& out);
  void run(const ProgramPtr& program, bool update, const Pointers& in, const Pointers& out);
  void run(const NestBlock& block, const Pointers& arguments, const Pointers& results);

  struct Carry;
  std::vector<Carry> begin_carries(const NestLoop& loop, const Pointers& in, const Pointers& out);
  void open_turn(std::vector<Carry>& carries, llvm::BasicBlock* before);
  void close_turn(std::vector<Carry>& carries);
  void finish_carries(const std::vector<Carry>& carries);
  void scan(const NestLoop& loop, const Pointers& in, const Pointers& out);
  void repeat(const NestLoop& loop, const Pointers& in, const Pointers& out);

  /// A function that runs a kernel or an update.
  struct Callee {
    std::vector<llvm::Function*> stages;
    std::vector<std::int64_t> units;  // by stage
    std::size_t scratch_bytes = 0;
  };
  const Callee& callee(const ProgramPtr& program, bool update);

  llvm::BasicBlock* block(const char* name);
  llvm::Value* memory(std::int64_t bytes);
  llvm::Value* place(const Pointers& buffers, const Spot& spot);
  llvm::Value* count(llvm::Value* number, std::int64_t add);
  void copy(llvm::Value* from, llvm::Value* to, std::int64_t bytes);
  llvm::Value* bytes_after(llvm::Value* pointer, llvm::Value* bytes);

  llvm::Module& module_;
  IrBuilder b_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;  // of memory only
  std::map<std::string, Callee> callees_;
  std::vector<llvm::Value*> runs_;  // the number of runs of each block
};

}  // namespace tessera::inline v0::codegen
