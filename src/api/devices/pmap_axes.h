// pmap's in_axes and out_axes resolved for one call: checked, normalised, and with the number of
// devices.
#pragma once

#include "api/devices/nested.h"
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
  std::int64_t size = 0;                // participating devices
  std::vector<int> devices;             // their ids
  runtime::Backend* backend = nullptr;  // their platform
  // by non-empty leaf:
  std::vector<int> axes;  // normalised, or kReplicated
  std::vector<std::string> paths;
  std::vector<Type> blocks;  // types that the function sees
};

/// Throws one error that lists every offending argument. Each device of the enclosing pmaps, if
/// there are any, needs its own devices for this one.
PmapInputs pmap_inputs(const Call& call, const PmapOptions& options, const std::string& function,
                       const SourceLoc& loc, const std::optional<PmapsAround>& around);

/// For each present leaf of the result, the axis along which its blocks are stacked, or
/// kReplicated. `ranks` are the ranks of the blocks.
std::vector<int> pmap_out_axes(const TreeDef& result, const std::vector<bool>& present,
                               const std::vector<int>& ranks, const PmapOptions& options,
                               const std::string& function, const SourceLoc& loc);

/// The spec with `axis` partitioned over `name`; for kReplicated, nothing is partitioned.
Spec axis_spec(int axis, const std::string& name);

}  // namespace tessera::inline v0::detail
