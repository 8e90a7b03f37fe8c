// Emits a program as the text of a StableHLO module.
#pragma once

#include "ir/program.h"
#include "stablehlo/emit/entry.h"
#include "stablehlo/emit/target.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo {

struct Exported {
  std::string name = "main";  // of the module
  std::vector<std::string> inputs, outputs;
  /// The operands of the program that follow the named inputs.
  std::vector<Literal> constants;
  /// One for each named input; empty if none is donated.
  std::vector<bool> donated = {};
  /// Whether arguments and results of @main have the shardings that the program constrains them to.
  /// Otherwise these are constraints in its body.
  bool shardings = false;
  /// With `shardings`: by named input, the sharding of an argument that the program does not
  /// constrain; empty if there is none.
  Constraints input_shardings = {};
  /// The same for results.
  Constraints output_shardings = {};
  /// The precision of products and convolutions, as StableHLO spells it: HIGHEST, HIGH or DEFAULT.
  std::string precision = "HIGHEST";
  /// Whether collectives of several values are written as one operation for each value. XLA refuses
  /// some operations with several results in maps over devices.
  bool separate_collectives = false;
  /// Whether a broadcast from one device is written as a gather from all and a slice, for compilers
  /// that have no collective_broadcast.
  bool gathered_broadcasts = false;
  /// The devices of the partitions of the module, if they are not 0, 1, 2, ...: meshes then name
  /// positions in this list. It must contain all devices of all meshes.
  std::vector<int> partition_devices = {};
  /// The program is what each device of this mesh runs: the body of a shard_map over all its axes.
  std::optional<DeviceMesh> each_device_of = {};
  /// Whether operations of CHLO are written as custom calls of their names, for readers that turn
  /// the module into XLA's own form, HLO, which has no such operations.
  bool without_chlo = false;
};

/// A module whose public function @main is the program. Arguments carry their names as locations,
/// results as `jax.result_info`. Throws TraceError if an op has no form in StableHLO, or none for
/// the target.
std::string emit_module(const Program& p, const Exported& names,
                        const Target& target = default_target());

}  // namespace tessera::inline v0::stablehlo
