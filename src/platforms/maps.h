// The maps over devices of a program (pmap, shard_map), as a plug-in can compile them.
//
// A module has one list of devices, and StableHLO has no maps inside maps over other devices. Maps
// over different lists of devices therefore become separate parts of the program (parts.h), and a
// pmap inside a pmap is merged into the outer map: that one runs on the devices of both, each
// device takes its block of the inner map's operands, and the results are gathered. Maps inside one
// map that differ in their axes share a mesh (axes_inside.h).
#pragma once

#include "ir/program.h"

#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0::platforms {

/// The meshes of maps and constraints with everything nested in them, in the order of the program.
std::vector<MeshRef> meshes_of(const Program& p);
std::vector<MeshRef> meshes_of(const Equation& eqn);

/// The devices of a mesh in row-major order.
std::vector<int> devices_of(const DeviceMesh& mesh);

/// A program in which no map over devices is inside another one over other axes.
struct FlatMaps {
  ProgramPtr program;
  /// Pairs of the mesh of a map with inner maps merged into it, and the map's original mesh. The
  /// map's results are on the original mesh, whose devices are the first ones along the added axes.
  std::vector<std::pair<MeshRef, MeshRef>> before = {};
};
/// Throws DeviceError in the name of `name` if the platform has too few devices.
/// `device_count`: the number of devices of the platform.
FlatMaps flat_maps(const ProgramPtr& p, int device_count, std::string_view name);

}  // namespace tessera::inline v0::platforms
