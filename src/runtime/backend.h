// The door to a platform: where programs are compiled and run, and where arrays lie.
//
// The CPU is one (runtime/cpu), always there and the first; others are added when the process
// starts to use them and stay as long as it lives. What a platform's memory is only itself knows: a
// buffer that is not host memory is a handle, which transfers read and write, and nothing else
// does. Layouts say which platform their devices are of, so every array knows who runs programs on
// it; an array lies on one platform.
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

/// A block that is on its way to a device.
struct Placed {
  Shard shard;
  std::shared_ptr<Completion> pending;  // null: it is there
};

/// All functions are safe to call from any thread.
class Backend {
 public:
  explicit Backend(std::string platform) : platform_(std::move(platform)) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// "cpu", what users call it.
  const std::string& platform() const { return platform_; }
  /// Devices are 0 to this.
  virtual int device_count() const = 0;
  virtual MemoryStats memory_stats(int device) const = 0;

  /// The program as it was traced, ready to run; a program of the same structure is compiled once.
  virtual std::shared_ptr<const Executable> compile(const ProgramPtr& program,
                                                    const CompileOptions& options) = 0;
  /// What compiling depends on besides its arguments, for those who remember executables.
  virtual unsigned mode() const { return 0; }

  // Transfers of one dense, row-major block, whose dtype and shape `block` has. They may return
  // before they are over, and the errors of what has begun are the completion's.

  /// `host` is host memory, which stays as it is while somebody has its buffer.
  virtual Placed to_device(const Type& block, const Shard& host, int device) = 0;
  /// Into `host`, which lives until it is over. Null: it is over.
  virtual std::shared_ptr<Completion> to_host(const Type& block, const Shard& from,
                                              std::byte* host) = 0;
  /// From one device of the platform to another.
  virtual Placed copy(const Type& block, const Shard& from, int device) = 0;

 private:
  const std::string platform_;
};

/// The CPU: where new arrays live, and where what is committed nowhere runs.
Backend& default_backend();
/// Error where the platform is there already. It stays as long as the process.
Backend& add_backend(std::unique_ptr<Backend> backend);
/// Null where there is none of this name.
Backend* find_backend(std::string_view platform);
/// Names of all platforms, the CPU's first.
std::vector<std::string> platforms();

/// "CpuDevice(id=0)".
std::string device_text(std::string_view platform, int id);

/// Who runs a program on these inputs: the platform that the committed ones are on, else the one
/// that others than the default's are on. ShardingError in the name of `name` where they disagree.
Backend& backend_for(std::string_view name, std::span<const ArrayDataPtr> inputs);
/// The ShardingError of inputs that are committed to different places.
[[noreturn]] void refuse_places(std::string_view name, std::span<const ArrayDataPtr> inputs);

}  // namespace tessera::inline v0::runtime
