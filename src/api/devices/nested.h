// Maps over devices inside one another.
#pragma once

#include "base/message.h"

#include <tessera/sharding.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// "'data', 'model'"
std::string axes_list(const std::vector<std::string>& names);

/// CollectiveError where `function` is called inside a function that runs on devices already.
void refuse_nested(const char* function, const SourceLoc& loc);

/// How many devices the pmaps around a call of pmap have taken together; nothing where there is
/// none. CollectiveError inside a shard_map.
std::optional<std::int64_t> devices_of_pmaps_around(const SourceLoc& loc);

/// The shard_map around a call: the axes of its mesh that it, or one around it, takes as manual, and
/// those that are automatic.
struct Around {
  Mesh mesh;  // empty where there is none
  std::vector<std::string> manual, automatic;
};
/// CollectiveError where `function` is called inside a function that runs on devices already and
/// leaves it no axis.
Around axes_around(const char* function, const SourceLoc& loc,
                   const char* advice = "use vmap inside");
/// What lies on `mesh` inside that: ShardingError for another mesh, and where `spec` names an axis
/// that is manual there.
void check_inside(const char* function, const Around& around, const Mesh& mesh,
                  const SourceLoc& loc);
void check_inside(const char* function, const Around& around, const PartitionSpec& spec,
                  const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
