// Shardings as texts of XLA's older partitioner, in mhlo.sharding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// A digit of a device's number: (number / stride) % size.
struct DeviceDigit {
  std::int64_t stride = 1, size = 1;
};

/// "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}": the array lies in 2 x 1 parts, each on 2
/// devices.
struct TileSharding {
  enum class Kind {
    any,         // nothing is said: {unknown}, {maximal device=0}, {} of no values, no text at all
    replicated,  // every device has all of it
    manual,      // it is a device's own
    tiled
  } kind = Kind::any;
  std::int64_t devices = 1;
  /// Of what is tiled, for each dimension the digits that number its parts, from the major one.
  std::vector<std::vector<DeviceDigit>> dims;
  /// Of what is tiled, the digits along which the array is a device's own: last_tile_dims={manual}.
  std::vector<DeviceDigit> manual;
};

/// For an array of so many dimensions. `problem` says what is wrong where something is; the result
/// is nothing then.
TileSharding parse_tile_sharding(std::string_view text, int rank, std::string& problem);

}  // namespace tessera::inline v0::stablehlo
