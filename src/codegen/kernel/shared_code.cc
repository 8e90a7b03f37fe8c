#include "codegen/kernel/shared_code.h"

#include "base/process.h"
#include "codegen/kernel/built_table.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/jit.h"
#include "codegen/kernel/machine.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {

namespace {

// Never destroyed: routines may run until the process ends.
struct SharedFunctions {
  std::mutex mutex;
  std::unordered_map<std::string, MachinePtr> compiled;
};

SharedFunctions& shared_functions() {
  static SharedFunctions& all = *new SharedFunctions;
  return all;
}

std::span<const BuiltFunction> built_functions() {
#ifdef TESSERA_BUILT_FUNCTIONS
  if (const auto level = host_isa().level) {
    const BuiltTable& table = *level == Level::avx512 ? tessera_built_avx512
                              : *level == Level::avx2 ? tessera_built_avx2
                                                      : tessera_built_sse4;
    return {table.functions, static_cast<std::size_t>(table.count)};
  }
#endif
  return {};
}

}  // namespace

void* built_function(const std::string& key) {
  if (unoptimized()) return nullptr;
  const std::span<const BuiltFunction> all = built_functions();
  const auto at = std::lower_bound(
      all.begin(), all.end(), key,
      [](const BuiltFunction& f, const std::string& k) { return std::string_view(f.key) < k; });
  return at != all.end() && at->key == key ? at->address : nullptr;
}

void* shared_function(const SharedFunction& function) {
  if (void* built = built_function(function.key)) return built;
  {
    Locked lock(shared_functions().mutex);
    auto& compiled = shared_functions().compiled;
    if (auto at = compiled.find(function.key); at != compiled.end())
      return at->second->code->addresses[0];
  }
  MachineRequest request;
  request.key = function.key;
  request.plan = [](Machine&) { return std::size_t{1}; };
  request.emit = [&](const Machine&, llvm::Module& module, SymbolNames names) {
    function.emit(module, names[0]);
  };
  request.counted = false;
  std::vector<MachineRequest> requests;
  requests.push_back(std::move(request));
  MachinePtr machine = make_machines(std::move(requests)).at(0);
  void* address = machine->code->addresses[0];
  Locked lock(shared_functions().mutex);
  shared_functions().compiled.try_emplace(function.key, std::move(machine));
  return address;
}

}  // namespace tessera::inline v0::codegen
