#include <tessera/distributed.h>

#include "api/array/array_impl.h"
#include "api/array/platform.h"
#include "processes/processes.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"

#include <tessera/functional.h>
#include <tessera/jit.h>
#include <tessera/sharding.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace tessera::inline v0 {

namespace {

// Asking for the CPU's devices joins the other processes.
void join_processes() { (void)runtime::host_backend().device_count(); }

}  // namespace

int process_index() {
  join_processes();
  return processes::rank();
}
int process_count() {
  join_processes();
  return processes::count();
}
std::int64_t local_device_count() { return std::ssize(runtime::default_backend().local_devices()); }
std::vector<Device> local_devices() {
  std::vector<Device> all;
  const runtime::Backend& backend = runtime::default_backend();
  for (const int id : backend.local_devices()) all.push_back({id, backend.platform()});
  return all;
}
int process_of(Device device, std::source_location loc) {
  const runtime::Backend& backend = detail::need_backend("process_of", device.platform, loc);
  const int n = backend.device_count();
  if (device.id < 0 || device.id >= n)
    Message("process_of")
        .problem("there is no device " + std::to_string(device.id))
        .rule("devices are 0 to " + std::to_string(n - 1))
        .from(loc)
        .advice("take one of devices()")
        .raise<DeviceError>();
  return backend.process_of(device.id);
}

namespace {

// Gathers the bytes of an array from every process; if `root` is given, only that process can read
// the array.
std::vector<std::byte> bytes_of_all(const Array& x, std::optional<int> root, const SourceLoc& loc) {
  const detail::Reading read(x, "process_allgather", loc);
  const auto n = static_cast<std::size_t>(read->type.bytes());
  if (root && processes::rank() != *root)
    return processes::all_gather("process_allgather", std::vector<std::byte>(n), loc);
  runtime::BufferPtr hold;
  return processes::all_gather("process_allgather", {runtime::own_bytes(*read, hold), n}, loc);
}

// Whether the array is on the same device in all processes.
bool is_one_for_all(Device device, const SourceLoc& loc) {
  const std::vector<std::byte> told =
      processes::all_gather("process_allgather", std::as_bytes(std::span(&device.id, 1)), loc);
  std::vector<int> ids(told.size() / sizeof(int));
  std::memcpy(ids.data(), told.data(), told.size());
  return ids.size() > 1 &&
         std::all_of(ids.begin(), ids.end(), [&](int id) { return id == device.id; });
}

}  // namespace

Array process_allgather(Operand x) {
  const InFunction called("process_allgather", x.loc);
  const Array a = x.array.weak_type() ? x.array.astype(x.array.dtype()) : x.array;
  const Sharding placed = a.sharding();
  const std::vector<Device>& devices = placed.devices();
  const DType dtype = a.dtype();
  Shape shape = a.shape();
  const auto on_host = [&](const std::byte* bytes) {
    return detail::make_concrete(runtime::on_host(Type(dtype, shape), bytes));
  };
  // On one device, either each process has its own array there, or all refer to one process's
  // array.
  if (devices.size() == 1 && !is_one_for_all(devices[0], x.loc)) {
    shape.insert(shape.begin(), processes::count());
    return on_host(bytes_of_all(a, {}, x.loc).data());
  }
  const int root = process_of(devices[0]);
  const bool in_one = std::all_of(devices.begin(), devices.end(),
                                  [&](const Device& d) { return process_of(d) == root; });
  std::vector<bool> has(static_cast<std::size_t>(processes::count()));
  for (const Device& d : devices) has[static_cast<std::size_t>(process_of(d))] = true;
  const auto replicated =
      jit([](Array v) { return v; }, {.mesh = placed.mesh(), .out_shardings = PartitionSpec()});
  const Array whole = in_one ? a : replicated(a);
  if (std::find(has.begin(), has.end(), false) == has.end()) return device_get(whole);
  const std::vector<std::byte> all = bytes_of_all(whole, root, x.loc);
  const std::size_t n = all.size() / static_cast<std::size_t>(processes::count());
  return on_host(all.data() + static_cast<std::size_t>(root) * n);
}

namespace distributed {

void initialize(const InitializeOptions& options, std::source_location loc) {
  processes::join({options.timeout, options.several_threads, loc});
}
double timeout() { return processes::timeout_seconds(); }
void barrier(std::source_location loc) {
  join_processes();
  processes::barrier("barrier", loc);
}

}  // namespace distributed
}  // namespace tessera::inline v0
