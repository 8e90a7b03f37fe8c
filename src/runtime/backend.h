// The interface to a platform, which compiles and runs programs and stores arrays.
//
// The CPU (runtime/cpu) is always available and comes first. Other platforms are added when the
// process starts to use them and stay until it ends. Only the platform itself can access its
// memory: a buffer outside host memory is an opaque handle that is read and written only by
// transfers. Layouts name the platform of their devices, so every array, which lives on one
// platform, determines where programs that use it run.
#pragma once

#include "runtime/array_data.h"
#include "runtime/completion.h"
#include "runtime/default_device.h"
#include "runtime/executable.h"
#include "runtime/memory_stats.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

namespace spmd {
class Blocks;
}  // namespace spmd

namespace runtime {

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
  /// 0 for the CPU, and then in the order in which platforms were added.
  int number() const { return number_; }

  // Devices. Each belongs to one process, which alone transfers to and from it.

  /// The number of devices of all processes. Device ids are 0 to device_count() - 1.
  virtual int device_count() const = 0;
  /// The rank of the process that a device belongs to. At least one device belongs to each process.
  /// Default: this process.
  virtual int process_of(int device) const;
  /// An array was laid out over several devices of several processes, so devices must not change
  /// their process any more. Default: they never do.
  virtual void settle_devices() {}
  bool is_local(int device) const;
  /// This process's devices, ascending.
  std::vector<int> local_devices() const;
  int first_local_device() const;
  /// The array memory of a device of this process, or the figures of the platform's allocator;
  /// zeros if nothing is counted.
  virtual MemoryStats memory_stats(int device) const = 0;

  // Programs.

  /// Compiles a traced program to an executable; programs of equal structure are compiled once.
  virtual std::shared_ptr<const Executable> compile(const ProgramPtr& program,
                                                    const CompileOptions& options) = 0;
  /// Settings other than the arguments that affect compilation, for callers that cache executables.
  virtual unsigned mode() const { return 0; }
  /// Whether the platform's own compiler partitions programs over global arrays. They are then
  /// compiled with sharding constraints; otherwise they are partitioned beforehand. It is part of
  /// the mode.
  virtual bool partitions() const { return false; }
  /// The memory that a device takes for the program that it runs, for plans; the device need not
  /// exist. `donated` is by input of the traced program, and empty if there are none. Default:
  /// null, because the platform cannot predict it; plans then use the CPU's planner as an estimate.
  virtual std::optional<PlannedMemory> plan_memory(const Program& program,
                                                   const std::vector<bool>& donated) const;

  // Transfers of one dense, row-major block with the dtype and shape of `block`. They may return
  // before they complete; errors of a transfer that has started are reported by its completion.

  /// `host` is host memory that does not change while its buffer is referenced.
  virtual Placed to_device(const Type& block, const Shard& host, int device) = 0;
  /// Copies into `host`, which must live until the transfer completes. Null: it is complete.
  virtual std::shared_ptr<Completion> to_host(const Type& block, const Shard& from,
                                              std::byte* host) = 0;
  /// Copies from one device of the platform to another.
  virtual Placed copy(const Type& block, const Shard& from, int device) = 0;

  // Arrays, by default made and read with these transfers.

  /// Makes an array with the values of `a`, which may be on any platform, and a layout of this
  /// platform. It does not write to the memory of `a`, and may share it.
  virtual ArrayDataPtr place(const ArrayData& a, const LayoutPtr& layout);
  /// Copies the blocks of an array of this platform to their places in the dense `whole`, and waits
  /// for the copies. `from` has a shard for each block.
  virtual void read(const ArrayData& a, const spmd::Blocks& blocks,
                    std::span<const Shard* const> from, std::byte* whole);

 private:
  friend Backend& add_backend(std::unique_ptr<Backend> backend);
  const std::string platform_;
  int number_ = 0;
};

/// Throws InternalError if the platform exists already. The backend lives as long as the process.
Backend& add_backend(std::unique_ptr<Backend> backend);
/// Null if there is no platform of this name.
Backend* find_backend(std::string_view platform);
/// The platform of a mesh that lists devices. Throws InternalError if there is none of this name.
Backend& backend_of(const DeviceMesh& mesh);
/// The names of all platforms, with the CPU's first.
std::vector<std::string> platforms();

/// The name of a device in messages, such as "CpuDevice(id=0)".
std::string device_text(std::string_view platform, int id);

/// The backend that runs a program on these inputs: that of the committed ones, else that of the
/// default device. Throws ShardingError in the name of `name` if committed inputs disagree.
Backend& backend_for(std::string_view name, std::span<const ArrayDataPtr> inputs);
/// The layout of whole results of a program without a mesh: that of the inputs that are committed
/// to a device of `backend`, else uncommitted_layout(backend). Throws ShardingError in the name of
/// `name` if they are on several of its devices.
LayoutPtr place_for(std::string_view name, Backend& backend, std::span<const ArrayDataPtr> inputs);
/// Throws the ShardingError for inputs that are committed to different places.
[[noreturn]] void refuse_places(std::string_view name, std::span<const ArrayDataPtr> inputs);

}  // namespace runtime
}  // namespace tessera::inline v0
