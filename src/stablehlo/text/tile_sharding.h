// Parses the textual shardings of XLA's older partitioner, as in mhlo.sharding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// A digit of a device's number in a mixed radix: (number / stride) % size.
struct DeviceDigit {
  std::int64_t stride = 1, size = 1;
};

/// "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}": the array has 2 x 1 shards, each on 2
/// devices.
struct TileSharding {
  enum class Kind {
    any,         // unspecified: {unknown}, {maximal device=0}, {} of no values, or no text
    replicated,  // every device has the whole array
    manual,      // the value is each device's own
    tiled
  } kind = Kind::any;
  std::int64_t devices = 1;
  /// If tiled, the digits that number the shards of each dimension, major first.
  std::vector<std::vector<DeviceDigit>> dims;
  /// If tiled, the digits along which the array is manual: last_tile_dims={manual}.
  std::vector<DeviceDigit> manual;
};

/// Parses the sharding of an array of rank `rank`. On failure, `problem` describes the error and
/// the result is meaningless.
TileSharding parse_tile_sharding(std::string_view text, int rank, std::string& problem);

}  // namespace tessera::inline v0::stablehlo
