// How a device gets the stretch of a cut dimension that its part of a result is made of: from its
// neighbours, by permutations of as much of their parts as anybody needs, or from the whole.
#pragma once

#include "ir/factor_rule.h"
#include "ops/local.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::ops {

/// Device number p needs `count` elements from step * p + first on; those outside [0, extent) are
/// filled in.
struct Stretch {
  std::int64_t extent = 0, part = 0;  // of the whole, and of what a device has of it
  std::int64_t step = 0, first = 0, count = 0;
  /// The padding with which an op of windows gives the part from the stretch: what the first and
  /// the last element of it are away from the windows' edges; negative where they are beyond.
  std::int64_t low = 0, high = 0;
  /// All this is of the operand with its elements so far apart, and what is around between them: the
  /// op is not to dilate it.
  std::int64_t spread = 1;
};

/// Absent where the devices' windows do not all begin at the same place between two elements, and
/// either the op does not have it spread out or that would be more than the whole is.
std::optional<Stretch> stretch_of(const FactorRule::Window& w, std::int64_t parts);

struct FetchPlan {
  /// Of one source for each device, the next to the one before; [start, limit) of its part is sent.
  struct Round {
    std::int64_t start = 0, limit = 0;
    bool sent = false;  // else it is the device's own part, or nobody's
  };
  std::vector<Round> rounds;
  /// Device p has p + shift for its first source: stretches lie near the devices' own parts. Absent:
  /// the part in which its stretch begins.
  std::optional<std::int64_t> shift;
  /// Something else than zero may stand where there are no elements in a stretch.
  bool masked = false;
  /// Devices begin between these elements of their first sources' parts.
  std::int64_t begin = 0, latest = 0;
  std::int64_t received = 0;  // elements along the dimension
  int collectives = 0;
};
/// Absent where getting all of it is as good.
std::optional<FetchPlan> plan_fetch(const Stretch& s, std::int64_t parts);

/// What lies outside the elements that there are.
struct Around {
  bool is_read = false;       // else it is anything, and nothing of it counts
  std::optional<Value> fill;  // a scalar; absent: zero bits

  static Around unread() { return {}; }
  static Around zeros() { return {true, {}}; }
  static Around of(Value fill) { return {true, fill}; }
};

/// The stretch of this device along `dim`: of a part, by the plan, or of a whole. `axes` number the
/// `parts` devices.
Value fetch(Value x, int dim, const Stretch& s, const Strings& axes, std::int64_t parts,
            const Around& around);

/// Replaces x, an operand along whose dimension the results need windows, by what the windows of
/// this device's part of them read; the results lie in `parts` over the axes.
Stretch fetch_window(Value& x, int dim, const FactorRule::Window& w, const Strings& axes,
                     std::int64_t parts, const Around& around);

}  // namespace tessera::inline v0::ops
