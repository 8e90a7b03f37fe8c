// compile_ahead LEVEL FILE: compiles common functions for a level of processors (sse4, avx2 or
// avx512) and writes an object file with them and their table (kernel/built_table.h). The build of
// the library runs it and links the files.
#include "codegen/kernel/built_table.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/jit.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/kernel/shared_code.h"
#include "codegen/matrix/common.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::codegen {

// This program is linked with the library, but has no functions yet.
extern "C" const BuiltTable tessera_built_sse4{}, tessera_built_avx2{}, tessera_built_avx512{};

namespace {

constexpr std::string_view kLevels[] = {"sse4", "avx2", "avx512"};

std::string compile(const std::string& level) {
  std::vector<SharedFunction> functions = matrix::common_functions();
  std::sort(functions.begin(), functions.end(),
            [](const SharedFunction& a, const SharedFunction& b) { return a.key < b.key; });
  llvm::LLVMContext context;
  llvm::Module module("tessera_built_" + level, context);
  configure_module(module);
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* entry = llvm::StructType::get(context, {pointer, pointer});
  std::vector<llvm::Constant*> entries;
  for (const SharedFunction& f : functions) {
    const std::string name = "function" + std::to_string(entries.size());
    f.emit(module, name);
    llvm::Function* function = module.getFunction(name);
    function->setLinkage(llvm::Function::InternalLinkage);
    auto* text = llvm::ConstantDataArray::getString(context, f.key);
    auto* key = new llvm::GlobalVariable(module, text->getType(), true,
                                         llvm::GlobalVariable::PrivateLinkage, text);
    entries.push_back(llvm::ConstantStruct::get(entry, {key, function}));
  }
  auto* list = llvm::ArrayType::get(entry, entries.size());
  auto* all = new llvm::GlobalVariable(module, list, true, llvm::GlobalVariable::PrivateLinkage,
                                       llvm::ConstantArray::get(list, entries));
  auto* count = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), entries.size());
  auto* table = llvm::ConstantStruct::getAnon({all, count});
  auto* named =
      new llvm::GlobalVariable(module, table->getType(), true,
                               llvm::GlobalVariable::ExternalLinkage, table, module.getName());
  named->setVisibility(llvm::GlobalVariable::HiddenVisibility);
  return compile_object(module);
}

}  // namespace

}  // namespace tessera::inline v0::codegen

int main(int count, char** arguments) {
  using namespace tessera::codegen;
  const auto* level = count == 3 ? std::find(std::begin(kLevels), std::end(kLevels), arguments[1])
                                 : std::end(kLevels);
  if (level == std::end(kLevels)) {
    std::fputs("usage: compile_ahead sse4|avx2|avx512 FILE\n", stderr);
    return 2;
  }
  pretend_isa(static_cast<Level>(level - std::begin(kLevels)));
  const std::string object = compile(arguments[1]);
  std::ofstream file(arguments[2], std::ios::binary);
  file.write(object.data(), static_cast<std::streamsize>(object.size()));
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "compile_ahead: cannot write %s\n", arguments[2]);
  return 1;
}
