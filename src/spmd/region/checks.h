// What is proven of a per-device program before it is built: that results which claim to be the
// same everywhere are, that state does not drift apart unnoticed, and that all devices come to each
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

/// A mapped function as its errors name it. Paths are key paths of leaves: "args[1].w",
/// "result[0]".
struct MapInfo {
  std::string function;  // "pmap", "shard_map"
  const Program& body;
  MeshShape mesh;
  Specs in_specs, out_specs;
  std::vector<std::string> input_paths, output_paths;
  SourceLoc loc;      // of the call
  bool named = true;  // whether collectives can name the axis
  /// How a result is declared to differ: "declare the result as mapped: 0 in out_axes".
  std::string declaring = "declare the result as mapped: 0 in out_axes";
};

/// Throws ShardingError that lists every result whose spec leaves out an axis over which it varies,
/// with the line since which it does.
void check_replicated_outputs(const MapInfo& map);

/// An argument and a part of the result that have the same tree type: state that goes in and comes
/// out. Leaves by number.
struct StatePair {
  std::vector<std::size_t> inputs, outputs;
  std::string input_path, output_path;
};
/// A warning where state that enters the same on all devices leaves different, with the line since
/// which it does: the forgotten pmean. Nothing where all is well, and nothing where the result is
/// no update of the argument: each leaf that differs has to come from the argument's leaf by sums,
/// products with what is the same everywhere, choices and moves. So per-device gradients may be
/// returned.
std::optional<Message> divergence_warning(const MapInfo& map, const std::vector<StatePair>& states);

/// Throws CollectiveError that lists every collective under a branch or loop whose predicate
/// provably varies over one of its axes.
void check_collectives_in_control_flow(const MapInfo& map);

}  // namespace tessera::inline v0::spmd
