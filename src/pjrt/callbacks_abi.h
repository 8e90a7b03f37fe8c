// The C interface, in addition to PJRT's, for Python functions that programs call. The package
// jax-tessera keeps the functions in a table by number, writes the numbers into modules, and gives
// the library one C function that calls them. The library knows nothing of Python.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// An array in the caller's memory, dense and row-major, with the bytes that JAX has. `type` is a
/// PJRT_Buffer_Type.
struct TesseraArray {
  void* data;
  std::int32_t type;
  std::int32_t rank;
  const std::int64_t* dims;
};

/// Calls function `index` for a device with `operands`, which it must not change, and writes all
/// `results`. Returns 0, or another number with a null-terminated text in `error`. It may be called
/// on any thread, and on several at once. A function that only asks how a value is sharded has two
/// int64 operands: the number of shards along each dimension, and the ids of the devices in
/// row-major order of their shards, where devices with the same shard follow one another. Both are
/// empty if the value is replicated.
using TesseraCallback = int (*)(std::int64_t index, std::int64_t device, std::int32_t n_operands,
                                const TesseraArray* operands, std::int32_t n_results,
                                const TesseraArray* results, char* error, std::size_t error_size);

/// Sets the function that carries out all callbacks. With null, it waits for all running programs,
/// and later callbacks fail; when it returns, no thread is in the function. The owner of the
/// function must call it with null before it ends, and must not hold a lock that callbacks need.
__attribute__((visibility("default"))) void tessera_pjrt_set_callback(TesseraCallback callback);

/// Waits for all running programs. Before a fork, this must happen before Python's lock is held.
__attribute__((visibility("default"))) void tessera_pjrt_wait();

/// The number of call sites of function `index` in programs that still exist. While it is not 0,
/// the function may be called.
__attribute__((visibility("default"))) std::int64_t tessera_pjrt_callback_users(std::int64_t index);
}
