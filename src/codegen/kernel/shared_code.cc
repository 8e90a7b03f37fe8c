#include "codegen/kernel/shared_code.h"

#include "base/message.h"
#include "base/process.h"
#include "codegen/kernel/disk_cache.h"
#include "codegen/kernel/jit.h"
#include "codegen/kernel/llvm_ir.h"

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace tessera::inline v0::codegen {

namespace {

struct SharedFunction {
  std::mutex compiling;
  std::unique_ptr<const LinkedCode> code;
};

// Never destroyed: routines may run until the process ends.
struct SharedFunctions {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<SharedFunction>> by_key;
};

SharedFunctions& shared_functions() {
  static SharedFunctions& all = *new SharedFunctions;
  return all;
}

}  // namespace

void* shared_function(const std::string& key,
                      const std::function<void(llvm::Module&, const std::string&)>& emit) {
  const Inside inside;
  SharedFunction* function = nullptr;
  {
    std::lock_guard lock(shared_functions().mutex);
    auto& entry = shared_functions().by_key[key];
    if (!entry) entry = std::make_unique<SharedFunction>();
    function = entry.get();
  }
  std::lock_guard lock(function->compiling);
  if (function->code) return function->code->addresses[0];
  const std::string id = cache_id(key);
  const std::string names[] = {"tessera_" + id};
  if (std::optional<std::string> object = read_cached(id, key)) {
    try {
      function->code = link_object(*object, names);
      return function->code->addresses[0];
    } catch (const InternalError&) {
      // A damaged file is ignored, and the function is compiled again.
    }
  }
  llvm::LLVMContext context;
  llvm::Module module(names[0], context);
  configure_module(module);
  emit(module, names[0]);
  const std::string object = compile_object(module);
  write_cached(id, key, object);
  function->code = link_object(object, names);
  return function->code->addresses[0];
}

}  // namespace tessera::inline v0::codegen
