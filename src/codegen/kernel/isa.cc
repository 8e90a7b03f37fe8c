#include "codegen/kernel/isa.h"

#include "base/settings.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <string_view>

namespace tessera::inline v0::codegen {

const Isa& host_isa() {
  static const Isa& isa = *new Isa([] {
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
    i.fused = i.avx2;
    if (i.avx512)
      i.vector_registers = 32, i.vector_bytes = 64, i.math32 = 16, i.math64 = 8;
    else if (i.avx2)
      i.vector_bytes = 32, i.math32 = 8, i.math64 = 4;
    return i;
  }());
  return isa;
}

}  // namespace tessera::inline v0::codegen
