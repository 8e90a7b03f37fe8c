// Fetches the interval of a sharded dimension from which a device computes its shard of a result:
// from its neighbours, by permuting only the elements that some device needs, or from the whole
// array.
#pragma once

#include "ir/factor_rule.h"
#include "ops/local.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::ops {

/// Device p needs `count` elements from step * p + first on; elements outside [0, extent) are
/// filled in.
struct Stretch {
  std::int64_t extent = 0, part = 0;  // of the whole, and of one shard
  std::int64_t step = 0, first = 0, count = 0;
  /// The padding with which a windowed op computes the shard from this interval: the distances of
  /// its first and last element from the edges of the windows; negative if they lie outside.
  std::int64_t low = 0, high = 0;
  /// All numbers refer to the operand dilated by this factor, with the fill between its elements;
  /// the op must then not dilate it itself.
  std::int64_t spread = 1;
};

/// Returns nullopt if the devices' windows begin at different offsets between two elements and
/// either the op does not accept an already dilated operand or dilating would cost more than the
/// whole array.
std::optional<Stretch> stretch_of(const FactorRule::Window& w, std::int64_t parts);

struct FetchPlan {
  /// Device p's source in this round is the one after its source in the round before; [start,
  /// limit) of the source's shard is sent.
  struct Round {
    std::int64_t start = 0, limit = 0;
    bool sent = false;  // else it is the device's own shard, or nobody needs it
  };
  std::vector<Round> rounds;
  /// If present, the first source of device p is device p + shift: each interval lies near the
  /// device's own shard. If absent, it is the device in whose shard the interval begins.
  std::optional<std::int64_t> shift;
  /// Whether positions outside the array may receive values other than zero.
  bool masked = false;
  /// The range of offsets in the first source's shard at which devices' intervals begin.
  std::int64_t begin = 0, latest = 0;
  std::int64_t received = 0;  // elements along the dimension
  int collectives = 0;
};
/// Returns nullopt if gathering the whole array is as good.
std::optional<FetchPlan> plan_fetch(const Stretch& s, std::int64_t parts);

/// The values of positions outside the array.
struct Around {
  bool is_read = false;       // else arbitrary: the result does not depend on them
  std::optional<Value> fill;  // a scalar; absent: zero

  static Around unread() { return {}; }
  static Around zeros() { return {true, {}}; }
  static Around of(Value fill) { return {true, fill}; }
};

/// Returns this device's interval along `dim`. x is a shard, from which the plan fetches, or the
/// whole array. `axes` number the `parts` devices.
Value fetch(Value x, int dim, const Stretch& s, const Strings& axes, std::int64_t parts,
            const Around& around);

/// Replaces x, an operand with windows along `dim`, by the elements that the windows of this
/// device's shard of the results read. The results are sharded into `parts` over `axes`.
Stretch fetch_window(Value& x, int dim, const FactorRule::Window& w, const Strings& axes,
                     std::int64_t parts, const Around& around);

}  // namespace tessera::inline v0::ops
