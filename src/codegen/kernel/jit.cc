#include "codegen/kernel/jit.h"

#include "base/message.h"
#include "base/process.h"
#include "base/settings.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/kernel/math_functions.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

namespace tessera::inline v0::codegen {

bool unoptimized() {
  static const bool set = settings::flag("TESSERA_UNOPTIMIZED");
  return set;
}

namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::unique_ptr<llvm::TargetMachine> make_target() {
  initialize_llvm();
  const Isa& isa = host_isa();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(isa.triple, error);
  if (!target) throw InternalError("LLVM has no target for this machine: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      isa.triple, isa.cpu, isa.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      unoptimized() ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
}

// The emitter already writes good code. The passes only fold, and produce the canonical forms that
// the instruction selector expects.
void add_folding(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::EarlyCSEPass(false));
  // Simplify branches first, so that the resulting selects are folded with the rest. LLVM 19's
  // instruction selector has been seen to loop forever on some unfolded selects.
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
}

// After inlining the kernels, these passes move the values that they exchange through memory of the
// function to registers, and loop-invariant values out of the loop. None of them reorders
// arithmetic.
void add_nest_passes(llvm::FunctionPassManager& passes) {
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  add_folding(passes);
  // Loops over a few elements are unrolled, so that the elements can be in registers, too.
  llvm::LoopPassManager short_loops;
  short_loops.addPass(llvm::LoopRotatePass());
  short_loops.addPass(llvm::IndVarSimplifyPass());
  short_loops.addPass(llvm::LoopFullUnrollPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(short_loops)));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::DSEPass());
  add_folding(passes);
}

// Loop strength reduction keeps a separate pointer for each array of a loop. The time that LLVM
// takes to choose the pointers grows faster than their number, up to half of the compile time of a
// kernel over many arrays. Such a kernel has more arrays than there are registers, so strength
// reduction does not make it faster.
class WithoutStrengthReduction final : public llvm::OptPassGate {
 public:
  static WithoutStrengthReduction& get() {
    static auto* gate = new WithoutStrengthReduction;
    return *gate;
  }
  bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef) override {
    return pass != "Loop Strength Reduction" && pass != "Canonicalize Freeze Instructions in Loops";
  }
  bool isEnabled() const override { return true; }
};

bool has_many_arrays(const llvm::Module& module) {
  constexpr std::ptrdiff_t kMany = 24;
  return std::any_of(module.begin(), module.end(), [](const llvm::Function& f) {
    return std::count_if(llvm::inst_begin(f), llvm::inst_end(f), [](const llvm::Instruction& i) {
             return i.mayReadOrWriteMemory();
           }) >= kMany;
  });
}

// All LLVM objects that compiling needs, for one thread at a time. Building them takes a third of
// the time of a small kernel, so they are kept for the next module. Between uses, nothing in them
// refers to a module or a context.
class Compiler {
 public:
  Compiler() : target_(make_target()), stream_(bytes_), builder_(target_.get()) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(calls_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, calls_, modules_);
    inlining_.addPass(llvm::AlwaysInlinerPass());
    inlining_.addPass(llvm::GlobalDCEPass());
    add_folding(of_kernels_);
    add_nest_passes(of_nests_);
#ifdef TESSERA_VERIFY_PASSES
    constexpr bool kUnverified = false;
#else
    constexpr bool kUnverified = true;
#endif
    if (target_->addPassesToEmitFile(codegen_, stream_, nullptr, llvm::CodeGenFileType::ObjectFile,
                                     kUnverified))
      throw InternalError("LLVM cannot write object files for this machine");
  }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  const llvm::TargetMachine& target() const { return *target_; }

  void optimize(llvm::Module& module, Effort effort) {
    if (effort == Effort::nest) inlining_.run(module, modules_);
    llvm::FunctionPassManager& passes = effort == Effort::nest ? of_nests_ : of_kernels_;
    for (llvm::Function& f : module)
      if (!f.isDeclaration()) passes.run(f, functions_);
    loops_.clear();
    functions_.clear();
    calls_.clear();
    modules_.clear();
  }

  std::string object_file(llvm::Module& module) {
    bytes_.clear();
    codegen_.run(module);
    return std::string(bytes_.begin(), bytes_.end());
  }

 private:
  const std::unique_ptr<llvm::TargetMachine> target_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager calls_;
  llvm::ModuleAnalysisManager modules_;
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_;
  llvm::PassBuilder builder_;
  llvm::ModulePassManager inlining_;
  llvm::FunctionPassManager of_kernels_, of_nests_;
  llvm::legacy::PassManager codegen_;
};

// Borrows a compiler for its lifetime. At most as many are created as threads have compiled at the
// same time.
class CompilerLease {
 public:
  CompilerLease() {
    {
      std::lock_guard lock(idle().mutex);
      if (!idle().compilers.empty()) {
        compiler_ = std::move(idle().compilers.back());
        idle().compilers.pop_back();
      }
    }
    if (!compiler_) compiler_ = std::make_unique<Compiler>();
  }
  ~CompilerLease() {
    // A compiler that was interrupted by an exception in the middle of a module is not reused.
    if (std::uncaught_exceptions() > exceptions_) return;
    std::lock_guard lock(idle().mutex);
    idle().compilers.push_back(std::move(compiler_));
  }
  CompilerLease(const CompilerLease&) = delete;
  CompilerLease& operator=(const CompilerLease&) = delete;
  Compiler* operator->() const { return compiler_.get(); }

 private:
  struct Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<Compiler>> compilers;
  };
  // Never destroyed, because threads may compile until the process ends.
  static Idle& idle() {
    static auto* all = new Idle;
    return *all;
  }

  const int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<Compiler> compiler_;
};

// Places a kernel's constants next to its code. Memory with different permissions is a separate
// mapping, and a process may have only some tens of thousands of these; adjacent code shares one.
class InOnePiece final : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration& config) override {
    config.PostPrunePasses.push_back([](llvm::jitlink::LinkGraph& graph) {
      using llvm::BitmaskEnumDetail::operator|;
      for (llvm::jitlink::Section& s : graph.sections())
        if (s.getMemProt() == llvm::orc::MemProt::Read)
          s.setMemProt(llvm::orc::MemProt::Read | llvm::orc::MemProt::Exec);
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}
};

llvm::orc::LLJIT& jit() {
  // Never destroyed: routines may run until the process ends.
  static llvm::orc::LLJIT* instance = [] {
    const LibraryBegins begins;
    initialize_llvm();
    auto made = llvm::orc::LLJITBuilder()
                    .setObjectLinkingLayerCreator(
                        [](llvm::orc::ExecutionSession& session, const llvm::Triple&) {
                          auto layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
                          layer->addPlugin(std::make_unique<InOnePiece>());
                          return layer;
                        })
                    .create();
    if (!made) throw InternalError("LLVM JIT: " + llvm::toString(made.takeError()));
    llvm::orc::LLJIT* j = made->release();
    llvm::orc::SymbolMap symbols;
    for (const MathFunction& f : all_math_functions())
      symbols[j->mangleAndIntern(f.name)] = {llvm::orc::ExecutorAddr::fromPtr(f.address),
                                             llvm::JITSymbolFlags::Exported};
    llvm::cantFail(j->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
    return j;
  }();
  return *instance;
}

}  // namespace

void configure_module(llvm::Module& module) {
  static const auto& layout = *new llvm::DataLayout(CompilerLease()->target().createDataLayout());
  module.setTargetTriple(host_isa().triple);
  module.setDataLayout(layout);
}

std::string compile_object(llvm::Module& module, Effort effort) {
  // LLVM creates its value types and tables of library functions on first use.
  const LibraryBegins begins;
  std::string width = std::to_string(8 * host_isa().vector_bytes);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("prefer-vector-width", width);
    f.addFnAttr("min-legal-vector-width", width);
  }
#ifdef TESSERA_VERIFY_PASSES
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(module, &out))
    throw InternalError("emitted code is malformed: " + problem);
#endif
  if (settings::flag("TESSERA_DUMP_IR")) module.print(llvm::errs(), nullptr);
  const CompilerLease compiler;
  if (!unoptimized()) compiler->optimize(module, effort);
  if (effort == Effort::kernel && has_many_arrays(module))
    module.getContext().setOptPassGate(WithoutStrengthReduction::get());
  return compiler->object_file(module);
}

namespace {

// An object file in a separate JITDylib, so that one thread may recompile a kernel while another
// removes it, under the same name.
class Library final : public LinkedCode {
 public:
  Library()
      : library_(jit().getExecutionSession().createBareJITDylib(
            "kernel" + std::to_string([] {
              static std::atomic<std::uint64_t> number{0};
              return number++;
            }()))) {
    library_.addToLinkOrder(jit().getMainJITDylib());
    // The instruction selector emits calls where the processor lacks an instruction, such as
    // float16 conversions. They resolve to the process's symbols, because link orders are not
    // transitive.
    if (auto process = jit().getProcessSymbolsJITDylib()) library_.addToLinkOrder(*process);
  }
  ~Library() override {
    const Inside inside;
    // When the process ends, its memory is freed anyway and LLVM must not be called.
    if (Inside::libraries())
      llvm::consumeError(jit().getExecutionSession().removeJITDylib(library_));
  }
  llvm::orc::JITDylib& library() const { return library_; }

 private:
  llvm::orc::JITDylib& library_;
};

}  // namespace

std::unique_ptr<const LinkedCode> link_object(const std::string& object,
                                              std::span<const std::string> names) {
  llvm::orc::LLJIT& j = jit();
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()),
                                                     names.empty() ? "kernel" : names[0]);
  auto code = std::make_unique<Library>();
  if (auto error = j.addObjectFile(code->library(), std::move(buffer)))
    throw InternalError("linking a kernel: " + llvm::toString(std::move(error)));
  for (const std::string& name : names) {
    auto address = j.lookup(code->library(), name);
    if (!address) throw InternalError("linking a kernel: " + llvm::toString(address.takeError()));
    code->addresses.push_back(address->toPtr<void*>());
  }
  return code;
}

std::string compiler_version() {
  return std::string(LLVM_VERSION_STRING) + (unoptimized() ? ", unoptimized" : "");
}

}  // namespace tessera::inline v0::codegen
