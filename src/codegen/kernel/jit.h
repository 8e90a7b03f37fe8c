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
/// How much LLVM optimises. The code of a kernel is good as it is emitted. A loop is one that many
/// programs share, such as that of a matrix product, and worth more time than a kernel. A nest of
/// loops consists of kernels that exchange values through memory; they are inlined, and values move
/// to registers.
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
/// Whether TESSERA_UNOPTIMIZED asks for code as it is emitted.
bool unoptimized();
/// The version of LLVM, such as "19.1.4".
std::string compiler_version();

}  // namespace tessera::inline v0::codegen
