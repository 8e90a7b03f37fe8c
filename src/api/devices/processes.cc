#include <tessera/distributed.h>

#include "api/array/array_impl.h"
#include "distributed/processes.h"
#include "runtime/buffer.h"
#include "runtime/devices.h"

#include <tessera/jit.h>
#include <tessera/sharding.h>

#include <algorithm>

namespace tessera::inline v0 {

int process_index() {
  (void)runtime::device_count();
  return processes::rank();
}
int process_count() {
  (void)runtime::device_count();
  return processes::count();
}
std::vector<Device> local_devices() {
  std::vector<Device> all;
  for (int i = 0; i < runtime::local_device_count(); ++i)
    all.push_back({runtime::first_local_device() + i});
  return all;
}
int process_of(Device device) { return runtime::process_of(device.id); }

namespace {

// One entry a process, of what each has for itself.
Array stacked(const Array& x, const SourceLoc& loc) {
  const detail::Reading read(x, "process_allgather", loc);
  runtime::BufferPtr hold;
  const std::byte* own = runtime::dense_bytes(*read, hold);
  const std::vector<std::byte> all = processes::all_gather(
      "process_allgather", {own, static_cast<std::size_t>(read->type.bytes())}, loc);
  Shape shape = read->type.shape;
  shape.insert(shape.begin(), processes::count());
  return Array::from_bytes(read->type.dtype, shape, all.data());
}

}  // namespace

Array process_allgather(Operand x) {
  const InFunction called("process_allgather", x.loc);
  const Sharding placed = x.array.sharding();
  const std::vector<Device> devices = placed.devices();
  if (devices.size() == 1) return stacked(x.array, x.loc);
  if (std::all_of(devices.begin(), devices.end(),
                  [](const Device& d) { return runtime::is_local(d.id); }))
    return device_get(x.array);
  const auto everywhere =
      jit([](Array v) { return v; }, {.mesh = placed.mesh(), .out_shardings = PartitionSpec()});
  return device_get(everywhere(x.array));
}

namespace distributed {

void initialize(const InitializeOptions& options, std::source_location loc) {
  processes::join({options.timeout, loc});
}
void barrier(std::source_location loc) {
  (void)runtime::device_count();
  processes::barrier("barrier", loc);
}

}  // namespace distributed
}  // namespace tessera::inline v0
