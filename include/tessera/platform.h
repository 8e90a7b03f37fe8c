// Other platforms than the CPU: GPUs, TPUs and whatever else has a plug-in that speaks PJRT, the
// interface through which JAX drives its devices.
//
//   ts::load_platform("cuda");                          // finds the plug-in of JAX's CUDA wheel
//   ts::load_platform("cuda", "/opt/xla_cuda_plugin.so", {{"preallocate", false}});
//   ts::set_default_device("cuda");                     // everything below runs there
//   Array x = ts::device_put(y, ts::devices("cuda")[1]);
//
// TESSERA_PLATFORM=cuda, or the path of a plug-in, does the first and the third line without a
// change of the program; TESSERA_PLATFORM_OPTIONS=preallocate=false has its options.
//
// A platform stays loaded until the process ends. Programs are compiled by the plug-in, which takes
// longer than on the CPU, and calls return before they are complete. What the plug-in has no
// function for (callbacks, prints and checks) runs on the host, and the values that it needs are
// transferred.
#pragma once

#include <tessera/config.h>
#include <tessera/device.h>

#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::inline v0 {

/// Options that a plug-in takes when it is loaded, such as {"memory_fraction", 0.5} for CUDA. Their
/// names and types are the plug-in's; it refuses those that it does not know, or ignores them.
using PlatformOptions =
    std::map<std::string,
             std::variant<bool, std::int64_t, float, std::string, std::vector<std::int64_t>>>;

/// Loads a platform under this name and returns its devices. `path` is the shared library of its
/// plug-in. If it is empty, the plug-in of a known platform ("cuda", "rocm", "tpu") is searched
/// among the packages of Python, where JAX's wheels put it, and in PJRT_NAMES_AND_LIBRARY_PATHS.
/// Returns the devices of the platform if it was loaded before from the same path; throws
/// DeviceError if another one has the name, if there is no plug-in (with a list of the places that
/// were searched), or if the plug-in cannot start (with its own text).
TESSERA_API std::vector<Device> load_platform(
    std::string_view name, std::string_view path = {}, const PlatformOptions& options = {},
    std::source_location loc = std::source_location::current());

/// How products of matrices and convolutions of floats may be computed on other platforms than the
/// CPU, which always computes them in full.
enum class MatmulPrecision {
  fastest,  // whatever is fast: TF32 on GPUs, bfloat16 on TPUs
  high,     // between the two: on TPUs three passes of bfloat16
  highest,  // with all bits of the operands; the default
};
/// Sets the precision of programs that are compiled from now on, on all threads. A program that is
/// called again is compiled again.
TESSERA_API void set_matmul_precision(MatmulPrecision precision);
/// Returns that precision.
TESSERA_API MatmulPrecision matmul_precision();

/// Where `lu`, `qr`, `svd` and `eigh` run if the platform's compiler has no routine for them. What
/// computes with them, such as `solve` and `det`, follows.
enum class Factorisations {
  on_platform,  // as loops that the platform compiles; the default
  on_host,      // the program is cut, and the operands are transferred
};
/// Sets this for programs that are compiled from now on, on all threads. A program that is called
/// again is compiled again. TESSERA_FACTORISATIONS=host in the environment is the setting of a
/// process that does not call this function.
TESSERA_API void set_factorisations(Factorisations where);
/// Returns that setting.
TESSERA_API Factorisations factorisations();

/// Who divides a program over a mesh of another platform than the CPU: a jit with shardings, or one
/// whose arguments are on several devices.
enum class Partitioner {
  tessera,   // the library's own, which writes one program a device with collectives; the default
  platform,  // the plug-in's compiler, which gets the whole program with the requested shardings
};
/// Sets this for programs that are compiled from now on, on all threads. A program that is called
/// again is compiled again. Programs whose requested shardings are uneven, or ask for partial
/// results, are always divided by the library. Plans and Lowered::collectives describe its program.
TESSERA_API void set_partitioner(Partitioner which);
/// Returns that setting.
TESSERA_API Partitioner partitioner();

/// What a platform says of itself.
struct PlatformInfo {
  std::string name;     // under which it was loaded
  std::string plugin;   // the path of its library; empty for the CPU
  std::string reports;  // the name that the plug-in gives, such as "cuda"
  std::string version;  // of the platform, in the plug-in's words
  std::string device;   // the kind of its first device, such as "NVIDIA H200"
};
/// Throws DeviceError if the process has no such platform.
TESSERA_API PlatformInfo platform_info(std::string_view name,
                                       std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
