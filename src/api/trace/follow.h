// Computation follows data: a program whose arguments are on several devices runs there,
// partitioned into one program per device.
#pragma once

#include "ir/program.h"
#include "runtime/array_data.h"
#include "spmd/partition/program_shardings.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::inline v0::detail {

/// For each input of a call, its plain layout, or null if it is uncommitted and follows the others.
/// Empty if no input is on several devices: the program then runs as it is.
using Places = std::vector<runtime::LayoutPtr>;
Places places_of(std::span<const runtime::ArrayDataPtr> inputs);
/// Whether input `i` (lie_at: each input) has the layout in `places`; allocates nothing.
inline bool lies_at(const Places& places, std::size_t i, const runtime::Layout& layout) {
  if (!places.empty() && places[i])
    return places[i].get() == (layout.plain ? layout.plain.get() : &layout);
  return layout.devices().size() == 1 && (places.empty() || !layout.committed);
}
inline bool lie_at(const Places& places, std::span<const runtime::ArrayDataPtr> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!lies_at(places, i, *inputs[i]->layout)) return false;
  return true;
}

/// The platform of the devices that maps and constraints in the program list. Returns `own`, the
/// platform that the function itself names, if they list none; null means that the program runs
/// where its arguments are. Throws ShardingError, naming `name`, if there are several platforms.
runtime::Backend* platform_of_meshes(const Program& program, runtime::Backend* own,
                                     std::string_view name);
/// The platform that runs a program on these inputs: `own` or, if that is null, the inputs'. Throws
/// ShardingError, naming `name`, if inputs are committed to another one.
runtime::Backend& platform_for(runtime::Backend* own, std::span<const runtime::ArrayDataPtr> inputs,
                               std::string_view name);

/// How to partition the program for inputs at these places, or null if it runs as it is. The mesh
/// is that of `asked`, else that of the constraints and per-device programs in the program, else
/// that of the first input on several devices. A sharding asked of an input overrides the input's
/// layout. If no mesh is asked for and the inputs are on different devices, throws ShardingError,
/// naming `name` and listing the inputs.
std::shared_ptr<const spmd::ProgramShardings> follow(const Program& program,
                                                     const spmd::ProgramShardings* asked,
                                                     const Places& places, std::string_view name);
/// Throws ShardingError, naming `function`, if `how` is for a mesh without devices.
void need_devices(std::string_view function, const spmd::ProgramShardings& how,
                  const SourceLoc& loc);
/// The program to run on these inputs, partitioned if they are on several devices. For programs
/// that are rebuilt at each call, such as eager operations: partitioned programs are cached by
/// content.
ProgramPtr follow_again(const ProgramPtr& program, std::span<const runtime::ArrayDataPtr> inputs);

}  // namespace tessera::inline v0::detail
