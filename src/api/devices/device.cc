#include <tessera/device.h>

#include "api/array/platform.h"
#include "api/devices/mesh_data.h"
#include "api/devices/relaid.h"
#include "api/trace/gather.h"
#include "api/trace/trace.h"
#include "base/float_mode.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "runtime/history.h"
#include "runtime/host/devices.h"
#include "runtime/host/memory_limit.h"
#include "spmd/place/blocks.h"

#include <tessera/cache.h>
#include <tessera/distributed.h>
#include <tessera/functional.h>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace tessera::inline v0 {

std::string to_string(const Device& device) {
  return runtime::device_text(device.platform, device.id);
}
std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << to_string(device);
}
std::ostream& operator<<(std::ostream& out, const std::vector<Device>& devices) {
  out << "[";
  for (std::size_t i = 0; i < devices.size(); ++i) out << (i ? ", " : "") << devices[i];
  return out << "]";
}

namespace {

std::vector<Device> devices_of(const runtime::Backend& backend) {
  std::vector<Device> all;
  for (int i = 0; i < backend.device_count(); ++i) all.push_back({i, backend.platform()});
  return all;
}

}  // namespace

std::vector<Device> devices() { return devices_of(runtime::default_backend()); }
std::vector<Device> devices(std::string_view platform, std::source_location loc) {
  return devices_of(detail::need_backend("devices", platform, loc));
}
int device_count() { return runtime::default_backend().device_count(); }
void set_device_count(int n, std::source_location loc) {
  detail::run_gathered();  // so that their results count as arrays on devices
  runtime::set_device_count(n, loc);
}
void set_flush_denormal(bool on) {
  detail::run_gathered();  // as these operations would have run before
  flush_subnormals(on);
}
bool flush_denormal() { return flushes_subnormals(); }

#define TESSERA_TEXT2(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT2(x)
std::string_view version() {
  return TESSERA_TEXT(TESSERA_VERSION_MAJOR) "." TESSERA_TEXT(
      TESSERA_VERSION_MINOR) "." TESSERA_TEXT(TESSERA_VERSION_PATCH);
}

namespace {

// Records a history by which processes can check that all of them place the same values.
void remember_values(const runtime::ArrayData& from, runtime::ArrayData& placed) {
  if (from.layout->devices().size() == 1) {
    runtime::BufferPtr hold;
    placed.history = runtime::history_of_values(from.type, runtime::own_bytes(from, hold));
  } else {
    placed.history = from.history;
  }
}

MemoryStats stats(const runtime::MemoryStats& s) { return {s.live, s.peak}; }

}  // namespace

Array detail::relaid(const char* function, const Operand& x, runtime::Layout layout) {
  const ArrayImpl& a = detail::need(x.array, function, x.loc);
  if (!a.concrete() && !a.traced())
    Message(function)
        .problem("the array " + detail::visible_text(a.type) + " is abstract")
        .rule("only values have a place")
        .from(x.loc)
        .advice("pass an array with values")
        .raise<TraceError>();
  detail::check_usable(a, function, x.loc);
  if (a.traced()) return x.array;  // the compiled program decides on placement
  const detail::Reading read(x.array, function, x.loc);
  runtime::ArrayDataPtr placed = runtime::relayout(read.data(), runtime::intern(std::move(layout)));
  if (placed == read.data()) placed = runtime::alias(*read);
  if (runtime::spans_processes(*placed->layout)) remember_values(*read, *placed);
  return detail::make_concrete(std::move(placed));
}

MemoryStats memory_stats(Device device, std::source_location loc) {
  return stats(detail::need_device("memory_stats", device, loc).memory_stats(device.id));
}
MemoryStats physical_memory_stats() { return stats(runtime::physical_memory_stats()); }
std::int64_t memory_limit() { return runtime::memory_limit(); }
void reset_peak_memory() { runtime::reset_peak_memory(); }

std::string memory_table() {
  std::string s;
  if (process_count() > 1)
    s = fmt::format("process {} of {}, each with {} of {} devices\n", process_index(),
                    process_count(), local_device_count(), device_count());
  s += fmt::format("{:<18} {:>12} {:>12}\n", "device", "live", "peak");
  auto row = [&](const std::string& name, MemoryStats m) {
    auto text = [](std::int64_t n) { return runtime::bytes_text(static_cast<double>(n)); };
    s += fmt::format("{:<18} {:>12} {:>12}\n", name, text(m.live), text(m.peak));
  };
  MemoryStats sum;
  for (Device d : local_devices()) {
    MemoryStats m = memory_stats(d);
    sum.live += m.live;
    sum.peak += m.peak;
    row(to_string(d), m);
  }
  row("sum, logical", sum);
  row("physical, shared", physical_memory_stats());
  if (const std::int64_t packed = operand_cache_stats().bytes)
    s += fmt::format("{:<18} {:>12}\n", "packed operands",
                     runtime::bytes_text(static_cast<double>(packed)));
  return s;
}

Sharding Array::sharding(std::source_location loc) const {
  const detail::ArrayImpl& a = detail::need(*this, "sharding", loc);
  if (!a.concrete())
    Message("sharding")
        .problem("the array " + detail::visible_text(a.type) + " is " +
                 (a.traced() ? "traced" : "abstract"))
        .rule("only values have a place")
        .from(loc)
        .advice("ask for the sharding of a result")
        .raise<TraceError>();
  // The place of a gathered result is known before it is computed.
  return detail::sharding_of(*(a.data ? a.data : detail::data_of(a))->layout);
}

std::vector<Shard> Array::shards(std::source_location loc) const {
  (void)sharding(loc);  // throws the same errors
  const detail::Reading read(*this, "shards", loc);
  const runtime::ArrayDataPtr& data = read.data();
  const runtime::Layout& l = *data->layout;
  spmd::Blocks blocks(data->type, *l.mesh, l.spec);
  std::vector<Shard> out;
  std::vector<int> copies(static_cast<std::size_t>(blocks.count()), 0);
  for (std::size_t p = 0; p < l.devices().size(); ++p) {
    std::int64_t block = blocks.block_of(static_cast<std::int64_t>(p));
    const int replica = copies[static_cast<std::size_t>(block)]++;
    const std::int64_t at = l.shard_at(static_cast<std::int64_t>(p));
    if (at < 0) continue;  // on a device of another process
    auto part = std::make_shared<runtime::ArrayData>();
    part->type = Type(data->type.dtype, data->shard_shape(), data->type.weak);
    part->layout = runtime::intern(runtime::on_device(l.devices()[p], true, l.backend));
    part->shards = {data->shards[static_cast<std::size_t>(at)]};
    part->pending = data->pending;
    part->part = true;
    Shard s{{l.devices()[p], l.backend->platform()}, {}, replica, detail::make_concrete(part)};
    // Blocks are numbered row-major over their grid.
    s.index.resize(part->type.shape.size());
    for (std::size_t i = part->type.shape.size(); i-- > 0;) {
      std::int64_t n = part->type.shape[i], grid = n ? data->type.shape[i] / n : 1;
      std::int64_t start = block % grid * n;
      block /= grid;
      s.index[i] = {start, start + n, 1};
    }
    out.push_back(std::move(s));
  }
  return out;
}

Array device_put(Operand x, Device device) {
  runtime::Backend& backend = detail::need_local_device("device_put", device, x.loc);
  return detail::relaid("device_put", x, runtime::on_device(device.id, true, &backend));
}

Array device_get(Operand x) {
  Array here = detail::relaid("device_get", x, *runtime::host_layout());
  if (here.is_concrete()) (void)here.block_until_ready();
  return here;
}

}  // namespace tessera::inline v0
