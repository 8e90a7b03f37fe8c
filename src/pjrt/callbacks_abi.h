// The C interface for functions of Python that programs call, beside PJRT's. The package
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
/// `results`. Returns 0, or another number with a text in `error` that ends in 0. May be called on
/// any thread, from several at once. A function that is only told where a value is placed has two
/// operands of int64: the number of parts along each dimension, and the devices that have them, in
/// row-major order of the parts, those with equal parts behind each other. Both are empty if each
/// device has the whole value.
using TesseraCallback = int (*)(std::int64_t index, std::int64_t device, std::int32_t n_operands,
                                const TesseraArray* operands, std::int32_t n_results,
                                const TesseraArray* results, char* error, std::size_t error_size);

/// Sets the function that carries out all callbacks. Null ends them: it waits for all calls of
/// programs that are under way, and later callbacks fail. When it returns, no thread is in the
/// function. Must be called before the function's owner ends, without a lock that callbacks need.
__attribute__((visibility("default"))) void tessera_pjrt_set_callback(TesseraCallback callback);

/// Waits for all calls of programs that are under way, as a fork has to do before Python's lock is
/// held for it.
__attribute__((visibility("default"))) void tessera_pjrt_wait();

/// The number of calls of function `index` in programs that still exist. While it is not 0, the
/// function may be called.
__attribute__((visibility("default"))) std::int64_t tessera_pjrt_callback_users(std::int64_t index);
}
