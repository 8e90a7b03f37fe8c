#include "codegen/kernel/isa.h"

#include "base/settings.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include <atomic>
#include <map>
#include <string_view>
#include <utility>
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

// LLVM's names for the least processors of the levels, and the features that each level adds.
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

Isa isa_with(std::string cpu, std::map<std::string, bool> features, const std::string& newest) {
  Isa i;
  i.triple = llvm::sys::getProcessTriple();
  i.cpu = std::move(cpu);
  const bool avx2 = newest == "avx2", sse4 = newest == "sse4";
  for (auto& [name, on] : features) {
    if (avx2 || sse4) on = on && !name.starts_with("avx512") && name != "avx10.1-512";
    if (sse4)
      on = on && !name.starts_with("avx") && name != "fma" && name != "f16c" && name != "vaes" &&
           name != "vpclmulqdq";
    // If the variable is set, it allows AMX's instructions only with the value "amx".
    if (!newest.empty() && newest != "amx") on = on && !name.starts_with("amx");
    i.features += (i.features.empty() ? "" : ",") + std::string(on ? "+" : "-") + name;
  }
  i.avx2 = features["avx2"] && features["fma"] && features["f16c"];
  i.avx512 = i.avx2 && features["avx512f"] && features["avx512vl"] && features["avx512dq"] &&
             features["avx512bw"];
  i.bfloat16 = i.avx512 && features["avx512bf16"];
  i.int8 = i.avx512 ? features["avx512vnni"] : i.avx2 && features["avxvnni"];
  if (newest == "amx_emulated") {
    i.unit = MatrixUnit::emulated;
    i.unit_bfloat16 = i.unit_int8 = true;
    i.unit_float16 = i.avx2;  // which converts float16
  } else if (newest == "amx" && i.avx512 && features["amx-tile"]) {
    // AMX is used only on request, because these loops have not yet run on a processor that has it.
    i.unit = MatrixUnit::amx;
    i.unit_bfloat16 = features["amx-bf16"];
    i.unit_float16 = features["amx-fp16"];
    i.unit_int8 = features["amx-int8"];
  }
  measure(i);
  i.level = level_of(i, features);
  return i;
}

void pretend_isa(Level level) { pretended() = level; }

const Isa& host_isa() {
  static const Isa& isa = *new Isa([] {
    if (pretended()) return isa_of(*pretended());
    std::map<std::string, bool> features;  // sorted, because the text is part of cache keys
    for (const auto& f : llvm::sys::getHostCPUFeatures()) features[f.first().str()] = f.second;
    return isa_with(llvm::sys::getHostCPUName().str(), std::move(features),
                    settings::text("TESSERA_ISA"));
  }());
  return isa;
}

namespace {

// Requests AMX's registers from Linux, for all threads of the process and of its children. Linux
// refuses if a thread has an alternate signal stack that is too small for the registers. Systems
// before Linux 5.16 do not support the request, and LLVM finds no AMX on them.
bool system_grants_amx() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr int kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;     // the number of the registers among the processor's states
  return ::syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
  return false;
#endif
}

// The value of pretend_matrix_unit, or -1.
std::atomic<int>& pretended_unit() {
  static std::atomic<int> unit = -1;
  return unit;
}

}  // namespace

MatrixUnit matrix_unit() {
  if (const int unit = pretended_unit(); unit >= 0) return static_cast<MatrixUnit>(unit);
  static const MatrixUnit unit = host_isa().unit != MatrixUnit::amx || system_grants_amx()
                                     ? host_isa().unit
                                     : MatrixUnit::none;
  return unit;
}

void pretend_matrix_unit(std::optional<MatrixUnit> unit) {
  pretended_unit() = unit ? static_cast<int>(*unit) : -1;
}

}  // namespace tessera::inline v0::codegen
