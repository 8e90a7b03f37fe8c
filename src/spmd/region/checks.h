// Static checks of a per-device program before it is built: results declared replicated must be
// equal on all devices, state must not silently diverge, and all devices must reach each
// collective.
#pragma once

#include "base/message.h"
#include "ir/mesh.h"
#include "ir/program.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::spmd {

/// A mapped function as error messages describe it. Paths are the key paths of leaves, such as
/// "args[1].w" or "result[0]".
struct MapInfo {
  std::string function;  // "pmap", "shard_map"
  const Program& body;
  MeshShape mesh;
  Specs in_specs, out_specs;
  std::vector<std::string> input_paths, output_paths;
  SourceLoc loc;      // of the call
  bool named = true;  // whether collectives can name the axis
  /// How the user can declare that a result differs between devices.
  std::string declaring = "declare the result as mapped: 0 in out_axes";
};

/// Throws ShardingError that lists every result which varies over an axis missing from its spec,
/// with the source line from which on it varies.
void check_replicated_outputs(const MapInfo& map);

/// An argument and a part of the result with the same tree type: state that is passed in and
/// returned updated. Leaves are given by number.
struct StatePair {
  std::vector<std::size_t> inputs, outputs;
  std::string input_path, output_path;
};
/// Warns if state that enters replicated leaves with different values per device (typically a
/// forgotten pmean), naming the line from which on it differs. There is no warning unless the
/// result is an update of the argument: each differing leaf must derive from the argument's leaf
/// through sums, products with replicated values, selects and data movement. Per-device gradients
/// can therefore be returned.
std::optional<Message> divergence_warning(const MapInfo& map, const std::vector<StatePair>& states);

/// Throws CollectiveError that lists every collective under a branch or loop whose predicate
/// provably varies over one of the collective's axes.
void check_collectives_in_control_flow(const MapInfo& map);

}  // namespace tessera::inline v0::spmd
