// LLVM behind two functions: a module becomes an object file, an object file becomes callable.
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
/// Optimises and compiles. Thread-safe for modules of distinct contexts.
std::string compile_object(llvm::Module& module);
/// Machine code in the process, until this goes.
class LinkedCode {
 public:
  virtual ~LinkedCode() = default;
  /// Of the named functions.
  std::vector<void*> addresses;
};
/// Links an object file into the process; throws InternalError where the object is damaged.
/// Thread-safe.
std::unique_ptr<const LinkedCode> link_object(const std::string& object,
                                              std::span<const std::string> names);
/// "19.1.4"
std::string compiler_version();

}  // namespace tessera::inline v0::codegen
