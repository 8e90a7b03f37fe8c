// The client of a plug-in: its devices and their memory, buffers on them, and events.
#pragma once

#include "base/message.h"
#include "ir/type.h"
#include "platforms/plugin.h"
#include "runtime/completion.h"
#include "runtime/memory_stats.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::inline v0::platforms {

/// The value of an option that a plug-in takes when its client is made.
using OptionValue = std::variant<std::string, std::int64_t, std::vector<std::int64_t>, float, bool>;
using Options = std::vector<std::pair<std::string, OptionValue>>;

class Client;
struct Waiting;  // client.cc

/// A buffer on a device, which is destroyed with this object. Buffers of the runtime hold it as
/// their handle.
class RemoteBuffer {
 public:
  RemoteBuffer(const Client& client, PJRT_Buffer* buffer, const Type& block, int device);
  ~RemoteBuffer();
  RemoteBuffer(const RemoteBuffer&) = delete;
  RemoteBuffer& operator=(const RemoteBuffer&) = delete;
  PJRT_Buffer* get() const { return buffer_; }
  const Type& block() const { return block_; }
  int device() const { return device_; }
  /// Whether unrelated arrays share this buffer. It must then not be donated.
  bool is_shared() const { return shared_.load(std::memory_order_relaxed); }
  void share() { shared_.store(true, std::memory_order_relaxed); }

 private:
  friend class Client;
  const Client& client_;
  PJRT_Buffer* const buffer_;
  const Type block_;
  const int device_;
  std::atomic<bool> shared_{false};
  RemoteBuffer *before_ = nullptr, *after_ = nullptr;  // in the client's list
};
using RemoteBufferPtr = std::shared_ptr<RemoteBuffer>;

/// A transfer to a device: the buffer, and its completion.
struct Sent {
  RemoteBufferPtr buffer;
  std::shared_ptr<runtime::Completion> arrived;
};

/// All functions are safe to call from any thread, and throw Failure. A client that has
/// devices lives as long as the process.
class Client {
 public:
  Client(std::unique_ptr<const Plugin> plugin, const Options& options);
  ~Client();
  Client(const Client&) = delete;

  const Plugin& plugin() const { return *plugin_; }
  /// The plug-in's own name of the platform, such as "cuda", and its version.
  const std::string& platform_name() const { return platform_name_; }
  const std::string& platform_version() const { return platform_version_; }

  /// Devices are numbered in the order in which the plug-in lists them.
  std::size_t device_count() const { return devices_.size(); }
  PJRT_Device* device(int number) const {
    return devices_[static_cast<std::size_t>(number)].device;
  }
  /// The plug-in's own number of a device, by which device assignments name it.
  int id_of(int number) const { return devices_[static_cast<std::size_t>(number)].id; }
  int process_of(int number) const { return devices_[static_cast<std::size_t>(number)].process; }
  /// For example "NVIDIA H200".
  const std::string& kind_of(int number) const {
    return devices_[static_cast<std::size_t>(number)].kind;
  }
  /// Returns the figures of the plug-in's allocator if it has any, otherwise the bytes of our
  /// buffers.
  runtime::MemoryStats memory_stats(int number) const;
  /// The DeviceError for a failure, in the name of `what`. If the device is out of memory, the
  /// error gives the requested size, if it is known, and what uses the device's memory.
  std::exception_ptr device_error(const std::string& what, const Failure& failure,
                                  const std::string& asked = "", int device = 0) const;

  /// Sends a dense, row-major block. `owner` keeps the memory, which must not change, alive for as
  /// long as the plug-in reads it.
  Sent send(const Type& block, const std::byte* from, std::shared_ptr<const void> owner,
            int device) const;
  /// Copies a buffer to dense, row-major memory, which must live until the copy completes.
  std::shared_ptr<runtime::Completion> fetch(const Type& block, RemoteBufferPtr from,
                                             std::byte* to) const;
  /// Copies a buffer to another device.
  Sent copy(const RemoteBuffer& from, int device) const;
  /// The completion of a buffer's contents.
  std::shared_ptr<runtime::Completion> ready(PJRT_Buffer* buffer, std::string what,
                                             int device) const;
  /// A completion that follows an event, which is destroyed. A failure becomes the DeviceError in
  /// the name of `what`. `kept` is held until then.
  std::shared_ptr<runtime::Completion> completion_of(PJRT_Event* event, std::string what,
                                                     int device,
                                                     std::shared_ptr<const void> kept = {}) const;
  /// The same for the end of a program on a device, which profiles record.
  std::shared_ptr<runtime::Completion> end_of_program(PJRT_Event* event, std::string name,
                                                      int device, std::int64_t row) const;
  /// Waits for all operations that were started.
  void wait_for_all() const;

 private:
  struct Device {
    PJRT_Device* device;
    int id, process;
    std::string kind;
  };
  std::unique_ptr<const Plugin> plugin_;
  PJRT_Client* client_ = nullptr;
  std::string platform_name_, platform_version_;
  std::vector<Device> devices_;

  friend class RemoteBuffer;
  friend struct Waiting;
  void say_holders(Message& m, int device) const;
  void add(RemoteBuffer& buffer) const;
  void remove(RemoteBuffer& buffer) const;
  std::shared_ptr<runtime::Completion> follow(PJRT_Event* event, Waiting waiting) const;

  // Counters of the operations in progress and of the bytes in buffers.
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  mutable std::int64_t under_way_ = 0;
  mutable std::vector<runtime::MemoryStats> held_;  // by device
  mutable std::vector<std::int64_t> last_end_;      // of a program that a profile has, by device
  mutable RemoteBuffer* newest_ = nullptr;

 public:
  PJRT_Client* get() const { return client_; }
};

/// The interface's number for a dtype.
PJRT_Buffer_Type buffer_type(DType dtype);

}  // namespace tessera::inline v0::platforms
