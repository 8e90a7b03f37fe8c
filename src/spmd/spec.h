// Partition specifications inside the IR: for each dimension of a value the mesh axes that cut it, major first.
//
// In attributes a spec is text: dimensions separated by ';', axes by ','. "" is replicated, "i" cuts dim 0 over i, ";i" cuts
// dim 1, "x,y" cuts dim 0 over x (major) and y.
#pragma once

#include "ir/type.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::spmd {

struct Spec {
  std::vector<std::vector<std::string>> dims;  // trailing replicated dims may be absent
  AxisSet axes() const;
  bool operator==(const Spec&) const = default;
};
Spec parse_spec(std::string_view text);
std::string to_string(const Spec& spec);

}  // namespace tessera::inline v0::spmd
