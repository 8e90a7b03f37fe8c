// Checks for maps over devices that are nested in one another.
#pragma once

#include "base/message.h"

#include <tessera/sharding.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::runtime {
class Backend;
}

namespace tessera::inline v0::detail {

/// "'data', 'model'"
std::string axes_list(const std::vector<std::string>& names);

/// Throws CollectiveError if `function` is called inside a function that already runs on devices.
void refuse_nested(const char* function, const SourceLoc& loc);

/// The pmaps around a call of pmap.
struct PmapsAround {
  std::int64_t devices = 1;              // the product of their numbers of devices
  runtime::Backend* platform = nullptr;  // of their devices
};
/// Nothing if there are none. Throws CollectiveError inside a shard_map.
std::optional<PmapsAround> pmaps_around(const SourceLoc& loc);

/// The shard_maps around a call: the axes of their mesh that any of them makes manual, and those
/// that stay automatic.
struct Around {
  Mesh mesh;  // empty if there is none
  std::vector<std::string> manual, automatic;
};
/// Throws CollectiveError if `function` is called inside a function that already runs on devices
/// and leaves no axis automatic.
Around axes_around(const char* function, const SourceLoc& loc,
                   const char* advice = "use vmap inside");
/// Checks a mesh or spec that is used inside `around`: throws ShardingError if the mesh differs, or
/// if the spec names an axis that is manual there.
void check_inside(const char* function, const Around& around, const Mesh& mesh,
                  const SourceLoc& loc);
void check_inside(const char* function, const Around& around, const PartitionSpec& spec,
                  const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
