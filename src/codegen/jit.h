// LLVM behind two functions: a module becomes an object file, an object file becomes callable.
#pragma once

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
/// Links an object file into the process, for good, and gives the addresses of the named functions;
/// throws InternalError where the object is damaged. Names must be unique in the process.
/// Thread-safe.
std::vector<void*> link_object(const std::string& object, std::span<const std::string> names);
/// "19.1.4"
std::string llvm_version();

}  // namespace tessera::inline v0::codegen
