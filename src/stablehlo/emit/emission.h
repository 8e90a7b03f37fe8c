// The rule by which each op is emitted (table.cc).
#pragma once

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo {

/// How an op is emitted.
struct Emission {
  /// Emits StableHLO operations; null if the op has none.
  WriteRule plain = nullptr;
  /// Emits the body of a composite of our name. Our importer reads the composite back as the op
  /// itself, other tools use the body. Null if the op is never a composite.
  WriteRule decomposed = nullptr;
  /// If both rules exist, decides whether the op becomes a composite.
  bool (*composite)(const Op& op, const Attrs& attrs, std::span<const Type> in) = nullptr;
  /// The reason if the op has neither rule.
  const char* never = nullptr;
  /// `plain` emits several values as one operation.
  bool several = false;

  bool is_composite(const Op& op, const Attrs& attrs, std::span<const Type> in) const {
    return decomposed && (!plain || composite(op, attrs, in));
  }
};
/// Null if the op has no emission.
const Emission* emission_of(const Op& op);

/// The prefix of the names of our composites.
inline constexpr std::string_view kComposite = "tessera.";

}  // namespace tessera::inline v0::stablehlo
