// What writes each op (table.cc).
#pragma once

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo {

/// How an op is written.
struct Emission {
  /// As operations of StableHLO; null where there are none for it.
  WriteRule plain = nullptr;
  /// What a composite of our name stands for. We read it back as it is, others by this; null where
  /// the op is never one.
  WriteRule decomposed = nullptr;
  /// Where there are both, whether it is a composite.
  bool (*composite)(const Op& op, const Attrs& attrs, std::span<const Type> in) = nullptr;
  /// Why an op has neither.
  const char* never = nullptr;
  /// `plain` writes several values as one operation.
  bool several = false;

  bool is_composite(const Op& op, const Attrs& attrs, std::span<const Type> in) const {
    return decomposed && (!plain || composite(op, attrs, in));
  }
};
/// Null where there is none.
const Emission* emission_of(const Op& op);

/// What the names of our composites begin with.
inline constexpr std::string_view kComposite = "tessera.";

}  // namespace tessera::inline v0::stablehlo
