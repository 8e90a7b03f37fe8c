// Functions that do not belong to one program, such as the inner loops of matrix products. They are
// compiled when they are first asked for and stay for the life of the process; the cache on disk
// keeps them between processes.
#pragma once

#include <functional>
#include <string>

namespace llvm {
class Module;
}

namespace tessera::inline v0::codegen {

/// The address of the function with this key, which `emit` writes into a module under the name that
/// it is given. The key must say everything on which the code depends, except the processor.
/// Thread-safe; other keys may be compiled meanwhile.
void* shared_function(const std::string& key,
                      const std::function<void(llvm::Module&, const std::string& name)>& emit);

}  // namespace tessera::inline v0::codegen
