// A thin interface to LLVM: compiles a module to an object file and links object files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace tessera::inline v0::codegen {

/// Prepares an empty module for this machine.
void configure_module(llvm::Module& module);
/// How much LLVM optimises. A `kernel` needs few passes, because the emitter already writes good
/// code. A `loop`, such as that of a matrix product, is shared by many programs and worth more
/// compile time. A `nest` of loops consists of kernels that exchange values through memory; they
/// are inlined, and the values move to registers.
enum class Effort { loop, kernel, nest };
/// Optimises a module and compiles it to an object file. Thread-safe for modules of distinct
/// contexts.
std::string compile_object(llvm::Module& module, Effort effort = Effort::loop);
/// Machine code in this process; unloaded by the destructor.
class LinkedCode {
 public:
  virtual ~LinkedCode() = default;
  /// The addresses of the named functions.
  std::vector<void*> addresses;
};
/// Links an object file into the process. Throws InternalError if the object is damaged.
/// Thread-safe.
std::unique_ptr<const LinkedCode> link_object(const std::string& object,
                                              std::span<const std::string> names);
/// Whether TESSERA_UNOPTIMIZED turns LLVM's optimisation off.
bool unoptimized();
/// The version of LLVM, such as "19.1.4".
std::string compiler_version();

}  // namespace tessera::inline v0::codegen
