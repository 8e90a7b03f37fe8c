// What pmap's in_axes and out_axes come to for one call: checked, counted from the front, with the
// number of devices.
#pragma once

#include "api/trace/traced.h"
#include "base/message.h"
#include "ir/type.h"

#include <tessera/pmap.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

struct PmapInputs {
  std::int64_t size = 0;                // devices that take part
  std::vector<int> devices;             // their ids
  runtime::Backend* backend = nullptr;  // their platform
  // by leaf that is not empty:
  std::vector<int> axes;  // from the front, or kReplicated
  std::vector<std::string> paths;
  std::vector<Type> blocks;  // what the function sees
};

/// Throws one error that lists every argument that is in the way. `around`: how many devices
/// the pmaps around have, each of which takes devices of its own for this one.
PmapInputs pmap_inputs(const Call& call, const PmapOptions& options, const std::string& function,
                       const SourceLoc& loc, std::optional<std::int64_t> around);

/// For each leaf of the result that is present where its blocks are stacked, or kReplicated.
/// `ranks` are the blocks'.
std::vector<int> pmap_out_axes(const TreeDef& result, const std::vector<bool>& present,
                               const std::vector<int>& ranks, const PmapOptions& options,
                               const std::string& function, const SourceLoc& loc);

/// Nothing cut for kReplicated, else `axis` over `name`.
Spec axis_spec(int axis, const std::string& name);

}  // namespace tessera::inline v0::detail
