// The platforms that a module can be written for, and what their compilers and libraries know
// beyond StableHLO and CHLO.
#pragma once

#include "ops/linalg/loops.h"
#include "stablehlo/emit/writer.h"

#include <span>
#include <string>
#include <string_view>

namespace tessera::inline v0::stablehlo {

/// An op for which StableHLO has no operation, and which a platform's libraries compute.
struct LibraryOp {
  std::string_view op;
  WriteRule write;  // the custom calls
  std::span<const DType> dtypes;
};

/// An op that libraries compute, written with other ops for platforms whose libraries do not.
struct LoopForm {
  std::string_view op;
  Values (*write)(const Attrs& attrs, Value a, const ops::LoopOptions& options);
};
/// Null if the op has no such form.
const LoopForm* find_loops(const Op& op);

struct Target {
  std::string_view platform;
  std::span<const LibraryOp> library = {};
  /// The prefix of the names of its libraries' routines.
  std::string_view prefix = {};
  /// Whether its compiler reads Shardy's meshes and shardings.
  bool partitions = true;

  /// Null if its libraries do not compute the op.
  const LibraryOp* find(const Op& op) const;
};

/// All targets, by platform.
std::span<const Target> targets();
/// Null if there is no target for the platform.
const Target* find_target(std::string_view platform);
/// The target of modules for which no platform is named: "cpu".
const Target& default_target();

/// "cpu, cuda and tpu".
std::string listed(std::span<const std::string> names);

}  // namespace tessera::inline v0::stablehlo
