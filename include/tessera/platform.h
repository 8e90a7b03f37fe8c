// Platforms other than the CPU: GPUs, TPUs and all devices that have a plug-in for PJRT, the C
// interface through which JAX drives its devices.
//
//   ts::load_platform("cuda");                          // finds the plug-in of JAX's CUDA wheel
//   ts::load_platform("cuda", "/opt/xla_cuda_plugin.so", {{"preallocate", false}});
//   ts::set_default_device("cuda");                     // everything below runs there
//   Array x = ts::device_put(y, ts::devices("cuda")[1]);
//
// Setting TESSERA_PLATFORM to "cuda", or to the path of a plug-in, has the effect of the first and
// the third line without a change to the program. TESSERA_PLATFORM_OPTIONS passes options to the
// plug-in, such as preallocate=false.
//
// A platform stays loaded until the process ends. Programs are compiled by the plug-in, which takes
// longer than on the CPU, and calls return before they are complete. Operations that a plug-in
// cannot run (callbacks, prints and checks) run on the host, and the values that they need are
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

/// Options that a plug-in takes when it is loaded, such as {"memory_fraction", 0.5} for CUDA. The
/// plug-in defines their names and types, and rejects or ignores those that it does not know.
using PlatformOptions =
    std::map<std::string,
             std::variant<bool, std::int64_t, float, std::string, std::vector<std::int64_t>>>;

/// Loads a platform under this name and returns its devices. `path` is the shared library of its
/// plug-in. If it is empty, the plug-in of a known platform ("cuda", "rocm", "tpu") is searched for
/// among the installed Python packages, where JAX's wheels put it, and in
/// PJRT_NAMES_AND_LIBRARY_PATHS. Loading a platform again from the same path returns its devices.
/// Throws DeviceError if the name is in use for another plug-in, if no plug-in is found (listing
/// the places that were searched), or if the plug-in fails to start (with its error text).
TESSERA_API std::vector<Device> load_platform(
    std::string_view name, std::string_view path = {}, const PlatformOptions& options = {},
    std::source_location loc = std::source_location::current());

/// The precision of floating-point matrix products and convolutions on platforms other than the
/// CPU, which always computes them in full precision.
enum class MatmulPrecision {
  fastest,  // the fastest: TF32 on GPUs, bfloat16 on TPUs
  high,     // in between; on TPUs three passes of bfloat16
  highest,  // with all bits of the operands; the default
};
/// Sets the precision for all threads. Programs that were compiled with another precision are
/// compiled again when they are called.
TESSERA_API void set_matmul_precision(MatmulPrecision precision);
/// Returns that precision.
TESSERA_API MatmulPrecision matmul_precision();

/// Where `lu`, `qr`, `svd` and `eigh`, and functions based on them such as `solve` and `det`, run
/// if the platform's compiler has no routine for them.
enum class Factorisations {
  on_platform,  // as loops that the platform compiles; the default
  on_host,      // the program is split around them, and operands are transferred
};
/// Sets where factorisations run, for all threads. Programs that were compiled with another setting
/// are compiled again when they are called. The initial setting is on_platform, or on_host if
/// TESSERA_FACTORISATIONS=host is in the environment.
TESSERA_API void set_factorisations(Factorisations where);
/// Returns that setting.
TESSERA_API Factorisations factorisations();

/// The partitioner for programs over a mesh of a platform other than the CPU, that is, of a jit
/// with shardings, or of one whose arguments are on several devices.
enum class Partitioner {
  tessera,   // the library's, which writes one program per device with collectives; the default
  platform,  // the plug-in's compiler, which gets the whole program with the requested shardings
};
/// Sets the partitioner for all threads. Programs that were compiled with the other one are
/// compiled again when they are called. Programs whose requested shardings are uneven, or ask for
/// partial sums, always use the library's partitioner. Plans and Lowered::collectives always
/// describe the program of the library's partitioner.
TESSERA_API void set_partitioner(Partitioner which);
/// Returns that setting.
TESSERA_API Partitioner partitioner();

/// The description of a loaded platform.
struct PlatformInfo {
  std::string name;     // under which it was loaded
  std::string plugin;   // the path of its library; empty for the CPU
  std::string reports;  // the name that the plug-in gives, such as "cuda"
  std::string version;  // of the platform, as the plug-in reports it
  std::string device;   // the kind of its first device, such as "NVIDIA H200"
};
/// Throws DeviceError if the process has no such platform.
TESSERA_API PlatformInfo platform_info(std::string_view name,
                                       std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
