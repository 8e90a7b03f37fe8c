// Functions that do not belong to one program, such as the inner loops of matrix products. They
// stay loaded for the life of the process. Common ones are compiled when the library is built. The
// others are compiled when they are first requested, and the cache on disk keeps them between
// processes.
#pragma once

#include <functional>
#include <string>

namespace llvm {
class Module;
}

namespace tessera::inline v0::codegen {

struct SharedFunction {
  /// Identifies the code: it contains everything that the code depends on, except the processor.
  std::string key;
  /// Writes the function into a module under this name.
  std::function<void(llvm::Module&, const std::string& name)> emit;
};

/// The function's address. Thread-safe.
void* shared_function(const SharedFunction& function);

/// The address of the function with this key if it was compiled for this processor's level when the
/// library was built, else null. It is always null with TESSERA_UNOPTIMIZED.
void* built_function(const std::string& key);

}  // namespace tessera::inline v0::codegen
