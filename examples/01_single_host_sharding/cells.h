// The cells of the document, by section. Each is a function that returns the values that its cell
// shows. They run on all devices unless stated otherwise.
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
/// Multiplies each device's row of x by the device's factor.
Scaled scale_on_each_device();

/// Uniform numbers of shape (8 * devices, 3 features).
Array global_data();
struct Prepared {
  Array stacked, reshaped;
};
/// Adds a leading device axis in two ways: (devices, 8, 3).
Prepared prepare(Array global);

// --- axes.cc: sections 3, 4 and 6
/// Runs on one device: sums the features of its shard (rows, features).
Array process_data_shard(Array data_shard, Array replicated_scalar);
/// Runs process_data_shard on all devices: (devices, features).
Array process_on_all_devices(Array prepared, Array scalar);
/// Runs process_data_shard on the listed devices; `prepared` has one entry for each.
Array process_on_devices(Array prepared, Array scalar, const std::vector<ts::Device>& devices);
/// Returns one scalar per device: (devices,).
Array scalar_of_each_device(Array prepared, Array scalar);
/// Returns 42 from a function whose second argument is absent, as one copy of the value that all
/// devices hold.
Array identical_result();
/// No argument is mapped: the functions return the devices' numbers on all devices, on the first
/// two (axis_size), and on the last and the first (devices).
struct NothingMapped {
  Array on_all, on_two, on_listed;
};
NothingMapped nothing_mapped();

// --- statics.cc: section 5
/// Prints a line when it is traced. `static_value` is a C++ number, so it is static.
Array static_op(Array x_shard, int static_value, Array replicated_offset);
/// Sums the features that `features` lists of a shard (rows, features). `features` is a static
/// array, so the loop over its values is unrolled while the function is traced.
Array sum_of_features(Array x_shard, ts::StaticArray features);
/// The library's warning about a static array with `n` entries.
std::string warning_of_large_static(std::int64_t n);

// --- collectives.cc: section 7
struct Combined {
  Array sum;          // (devices, rows, out), equal on all devices
  Array mean_of_one;  // (devices,)
  Array first_rows;   // (devices, devices, out)
  Array whole;        // (devices, devices * rows, out)
};
/// local is the product of a data shard and the weights. The results are psum(local),
/// pmean(local(0, 0)), all_gather(local[0]), and all_gather(local) with tiling.
Combined combine(Array prepared, Array weights);

// --- memory.cc: section 8
/// Bytes of one device, of all devices as if each had a memory of its own, and in fact held by this
/// process.
struct Footprint {
  std::string what;
  std::int64_t each_device = 0, all_devices = 0, process = 0;
};
struct Memory {
  std::vector<Footprint> rows;
  std::int64_t temporaries = 0;  // of one call in this process
  std::string table;             // ts::memory_table() while all arrays are alive
};
/// Memory of a layer of 256 x 256 weights on every device, 64 rows of data per device, and its
/// results.
Memory memory_of_data_parallelism();

}  // namespace single_host_sharding
