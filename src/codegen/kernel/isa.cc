#include "codegen/kernel/isa.h"

#include "base/settings.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <map>
#include <string_view>
#include <vector>

namespace tessera::inline v0::codegen {

namespace {

// Sets the number and sizes of registers, and whether multiply-adds are fused.
void measure(Isa& i) {
  const bool neon = llvm::Triple(i.triple).isAArch64();  // every 64-bit Arm has it
  i.fused = i.avx2 || neon;
  if (neon)
    i.vector_registers = 32;
  else if (i.avx512)
    i.vector_registers = 32, i.vector_bytes = 64, i.math32 = 16, i.math64 = 8;
  else if (i.avx2)
    i.vector_bytes = 32, i.math32 = 8, i.math64 = 4;
}

// LLVM's names of the least processors of the levels, and the features that each adds.
constexpr const char* kProcessors[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
const std::vector<const char*> kAdded[] = {
    {"cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"},
    {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"},
    {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}};

std::optional<Level> level_of(const Isa& isa, std::map<std::string, bool>& features) {
  if (llvm::Triple(isa.triple).getArch() != llvm::Triple::x86_64) return std::nullopt;
  const Level level = isa.avx512 ? Level::avx512 : isa.avx2 ? Level::avx2 : Level::sse4;
  for (std::size_t l = 0; l <= static_cast<std::size_t>(level); ++l)
    for (const char* feature : kAdded[l])
      if (!features[feature]) return std::nullopt;
  return level;
}

std::optional<Level>& pretended() {
  static std::optional<Level> level;
  return level;
}

}  // namespace

Isa isa_of(Level level) {
  Isa i;
  i.triple = llvm::sys::getProcessTriple();
  i.cpu = kProcessors[static_cast<std::size_t>(level)];
  i.avx2 = level >= Level::avx2;
  i.avx512 = level >= Level::avx512;
  i.level = level;
  measure(i);
  return i;
}

void pretend_isa(Level level) { pretended() = level; }

const Isa& host_isa() {
  static const Isa& isa = *new Isa([] {
    if (pretended()) return isa_of(*pretended());
    Isa i;
    i.triple = llvm::sys::getProcessTriple();
    i.cpu = llvm::sys::getHostCPUName().str();
    std::map<std::string, bool> features;  // sorted, because the text is part of cache keys
    for (const auto& f : llvm::sys::getHostCPUFeatures()) features[f.first().str()] = f.second;
    // TESSERA_ISA=avx2 or sse4 disables newer extensions, for tests and measurements.
    if (const std::string most = settings::text("TESSERA_ISA"); most == "avx2" || most == "sse4")
      for (auto& [name, on] : features)
        on = on && !name.starts_with("avx512") && name != "avx10.1-512" &&
             (most == "avx2" || (!name.starts_with("avx") && name != "fma" && name != "f16c" &&
                                 name != "vaes" && name != "vpclmulqdq"));
    for (const auto& [name, on] : features)
      i.features += (i.features.empty() ? "" : ",") + std::string(on ? "+" : "-") + name;
    i.avx2 = features["avx2"] && features["fma"] && features["f16c"];
    i.avx512 = i.avx2 && features["avx512f"] && features["avx512vl"] && features["avx512dq"] &&
               features["avx512bw"];
    i.bfloat16 = i.avx512 && features["avx512bf16"];
    i.int8 = i.avx512 ? features["avx512vnni"] : i.avx2 && features["avxvnni"];
    measure(i);
    i.level = level_of(i, features);
    return i;
  }());
  return isa;
}

}  // namespace tessera::inline v0::codegen
