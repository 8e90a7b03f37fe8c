// The cells of the document by section, each a function that gives what it shows. They run on all
// devices unless they say otherwise.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace single_host_sharding {

namespace ts = tessera;
using ts::Array;
using ts::replicated;

// --- data.cc: sections 1 and 2
struct Scaled {
  Array x, factors, result;
};
/// Each device multiplies its row of x by its factor.
Scaled scale_on_each_device();

/// Uniform numbers (8 a device, 3 features).
Array global_data();
struct Prepared {
  Array stacked, reshaped;
};
/// A device axis in front, in two ways: (devices, 8, 3).
Prepared prepare(Array global);

// --- axes.cc: sections 3, 4 and 6
/// What a device does with its shard (rows, features): sums of the features.
Array process_data_shard(Array data_shard, Array replicated_scalar);
/// That on all devices: (devices, features).
Array process_on_all_devices(Array prepared, Array scalar);
/// The same on the listed devices; prepared has an entry for each.
Array process_on_devices(Array prepared, Array scalar, const std::vector<ts::Device>& devices);
/// A scalar of each device: (devices,).
Array scalar_of_each_device(Array prepared, Array scalar);
/// 42 from a function whose second argument is absent, as one copy of what all devices have.
Array identical_result();
/// No argument is mapped: the devices' numbers on all devices, on the first two (axis_size), and on
/// the last and the first (devices).
struct NothingMapped {
  Array on_all, on_two, on_listed;
};
NothingMapped nothing_mapped();

// --- statics.cc: section 5
/// Says on standard output when it is traced. `static_value` is a C++ number, so it is static.
Array static_op(Array x_shard, int static_value, Array replicated_offset);
/// The sum of those features of a shard (rows, features) that `features` lists. An array as a
/// static: the loop over its values unrolls while the function is traced.
Array sum_of_features(Array x_shard, ts::StaticArray features);
/// What the library says of a static array with `n` entries.
std::string warning_of_large_static(std::int64_t n);

// --- collectives.cc: section 7
struct Combined {
  Array sum;          // (devices, rows, out), equal for all devices
  Array mean_of_one;  // (devices,)
  Array first_rows;   // (devices, devices, out)
  Array whole;        // (devices, devices * rows, out)
};
/// local = data shard . weights; psum(local), pmean(local(0, 0)), all_gather(local[0]), and
/// all_gather(local) tiled.
Combined combine(Array prepared, Array weights);

// --- memory.cc: section 8
/// Bytes: of one device, of all of them together as if each had its own memory, and what this
/// process really holds.
struct Footprint {
  std::string what;
  std::int64_t each_device = 0, all_devices = 0, process = 0;
};
struct Memory {
  std::vector<Footprint> rows;
  std::int64_t temporaries = 0;  // of one call, in this process
  std::string table;             // ts::memory_table() while everything lives
};
/// A layer of 256 x 256 weights on every device, 64 rows of data a device, and its results.
Memory memory_of_data_parallelism();

}  // namespace single_host_sharding
