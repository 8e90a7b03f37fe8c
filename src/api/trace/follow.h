// Computation follows data: a program whose arguments lie on several devices runs there, cut into
// one for each.
#pragma once

#include "ir/program.h"
#include "runtime/array_data.h"
#include "spmd/partition/program_shardings.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::inline v0::detail {

/// Where the inputs of a call lie, by plain layouts; null for those that go wherever the others are.
/// Empty where none lies on several devices: then the program runs as it is.
using Places = std::vector<runtime::LayoutPtr>;
Places places_of(std::span<const runtime::ArrayDataPtr> inputs);
/// Whether input `i`, or these, lie there, without making anything.
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

/// How the program is cut for inputs that lie there, null where it runs as it is: over the mesh that
/// is `asked` for, else over that of the constraints and per-device programs in it, else over that
/// of the first input on several devices. What is asked of an input goes before where it lies.
/// ShardingError that lists the inputs in the name of `name` where no mesh is asked for and they are
/// on different devices.
std::shared_ptr<const spmd::ProgramShardings> follow(const Program& program,
                                                     const spmd::ProgramShardings* asked,
                                                     const Places& places, std::string_view name);
/// ShardingError in the name of `function` where that is for a mesh without devices.
void need_devices(std::string_view function, const spmd::ProgramShardings& how,
                  const SourceLoc& loc);
/// A program that is made anew at each call, as those of eager operations are, as it runs on these
/// inputs: what an equal program was cut into is kept.
ProgramPtr follow_again(const ProgramPtr& program, std::span<const runtime::ArrayDataPtr> inputs);

}  // namespace tessera::inline v0::detail
