// The interface to a platform, which compiles and runs programs and stores arrays.
//
// The CPU (runtime/cpu) is always available and comes first. Other platforms are added when the
// process starts to use them and stay until it ends. Only the platform itself understands its
// memory: a buffer outside host memory is an opaque handle that is read and written by transfers
// alone. Layouts name the platform of their devices, so every array, which lives on one platform,
// determines where programs that use it run.
#pragma once

#include "runtime/array_data.h"
#include "runtime/completion.h"
#include "runtime/devices.h"
#include "runtime/executable.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::runtime {

/// A block on a device, possibly still in transfer.
struct Placed {
  Shard shard;
  std::shared_ptr<Completion> pending;  // null: the transfer is complete
};

/// All functions are safe to call from any thread.
class Backend {
 public:
  explicit Backend(std::string platform) : platform_(std::move(platform)) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// The name that users see, such as "cpu".
  const std::string& platform() const { return platform_; }
  /// Device ids are 0 to device_count() - 1.
  virtual int device_count() const = 0;
  virtual MemoryStats memory_stats(int device) const = 0;

  /// Compiles a traced program to an executable; programs of equal structure are compiled once.
  virtual std::shared_ptr<const Executable> compile(const ProgramPtr& program,
                                                    const CompileOptions& options) = 0;
  /// Settings other than the arguments that affect compilation, for callers that cache executables.
  virtual unsigned mode() const { return 0; }

  // Transfers of one dense, row-major block with the dtype and shape of `block`. They may return
  // before they complete; errors of a transfer that has started are reported by its completion.

  /// `host` is host memory that does not change while its buffer is referenced.
  virtual Placed to_device(const Type& block, const Shard& host, int device) = 0;
  /// Copies into `host`, which must live until the transfer completes. Null: it is complete.
  virtual std::shared_ptr<Completion> to_host(const Type& block, const Shard& from,
                                              std::byte* host) = 0;
  /// Copies from one device of the platform to another.
  virtual Placed copy(const Type& block, const Shard& from, int device) = 0;

 private:
  const std::string platform_;
};

/// The CPU backend: new arrays live there, and uncommitted inputs run there.
Backend& default_backend();
/// Throws InternalError if the platform exists already. The backend lives as long as the process.
Backend& add_backend(std::unique_ptr<Backend> backend);
/// Null if there is no platform of this name.
Backend* find_backend(std::string_view platform);
/// The names of all platforms, with the CPU's first.
std::vector<std::string> platforms();

/// The name of a device in messages, such as "CpuDevice(id=0)".
std::string device_text(std::string_view platform, int id);

/// The backend that runs a program on these inputs: that of the committed inputs, else that of an
/// input outside the default backend. Throws ShardingError in the name of `name` if they disagree.
Backend& backend_for(std::string_view name, std::span<const ArrayDataPtr> inputs);
/// Throws the ShardingError for inputs that are committed to different places.
[[noreturn]] void refuse_places(std::string_view name, std::span<const ArrayDataPtr> inputs);

}  // namespace tessera::inline v0::runtime
