#include <tessera/device.h>

#include "api/array/platform.h"
#include "api/trace/trace.h"
#include "runtime/accounting.h"
#include "runtime/backend.h"
#include "runtime/devices.h"
#include "runtime/memory_limit.h"
#include "spmd/blocks.h"

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

std::vector<Device> devices() {
  std::vector<Device> all;
  for (int i = 0; i < runtime::device_count(); ++i) all.push_back({i});
  return all;
}
std::vector<Device> devices(std::string_view platform, std::source_location loc) {
  const runtime::Backend& backend = detail::need_backend("devices", platform, loc);
  std::vector<Device> all;
  for (int i = 0; i < backend.device_count(); ++i) all.push_back({i, backend.platform()});
  return all;
}
int device_count() { return runtime::device_count(); }
void set_device_count(int n, std::source_location loc) { runtime::set_device_count(n, loc); }
std::string_view default_backend() { return runtime::default_backend().platform(); }

#define TESSERA_TEXT2(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT2(x)
std::string_view version() {
  return TESSERA_TEXT(TESSERA_VERSION_MAJOR) "." TESSERA_TEXT(
      TESSERA_VERSION_MINOR) "." TESSERA_TEXT(TESSERA_VERSION_PATCH);
}

namespace {

// The platform of a device that is there.
runtime::Backend& need_device(const char* function, Device d, const SourceLoc& loc) {
  runtime::Backend& backend = detail::need_backend(function, d.platform, loc);
  const int count = backend.device_count();
  if (d.id >= 0 && d.id < count) return backend;
  const bool virtual_ones = &backend == &runtime::default_backend();
  Message(function)
      .problem("there is no device " + std::to_string(d.id))
      .rule((virtual_ones ? "this process" : "'" + backend.platform() + "'") +
            " has devices 0 to " + std::to_string(count - 1))
      .from(loc)
      .advice(virtual_ones && d.id >= 0 && d.id < runtime::kMaxDevices
                  ? "call set_device_count(" + std::to_string(d.id + 1) +
                        ") first, or set TESSERA_DEVICES"
                  : "take one of devices()")
      .raise<DeviceError>();
}

MemoryStats stats(const runtime::MemoryStats& s) { return {s.live, s.peak}; }

Array relaid(const char* function, const Operand& x, runtime::Layout layout) {
  const detail::ArrayImpl& a = detail::need(x.array, function, x.loc);
  if (!a.concrete() && !a.traced())
    Message(function)
        .problem("the array " + detail::visible_text(a.type) + " is abstract")
        .rule("only values have a place")
        .from(x.loc)
        .advice("pass an array with values")
        .raise<TraceError>();
  detail::check_usable(a, function, x.loc);
  if (a.traced()) return x.array;  // placement is the compiled program's business
  const detail::Reading read(x.array, function, x.loc);
  runtime::ArrayDataPtr placed = runtime::relayout(read.data(), runtime::intern(std::move(layout)));
  return detail::make_concrete(placed == read.data() ? runtime::alias(*read) : std::move(placed));
}

}  // namespace

MemoryStats memory_stats(Device device, std::source_location loc) {
  return stats(need_device("memory_stats", device, loc).memory_stats(device.id));
}
MemoryStats physical_memory_stats() { return stats(runtime::physical_memory_stats()); }
std::int64_t memory_limit() { return runtime::memory_limit(); }
void reset_peak_memory() { runtime::reset_peak_memory(); }

std::string memory_table() {
  std::string s = fmt::format("{:<18} {:>12} {:>12}\n", "device", "live", "peak");
  auto row = [&](const std::string& name, MemoryStats m) {
    auto text = [](std::int64_t n) { return runtime::bytes_text(static_cast<double>(n)); };
    s += fmt::format("{:<18} {:>12} {:>12}\n", name, text(m.live), text(m.peak));
  };
  MemoryStats sum;
  for (Device d : devices()) {
    MemoryStats m = memory_stats(d);
    sum.live += m.live;
    sum.peak += m.peak;
    row(to_string(d), m);
  }
  row("sum, logical", sum);
  row("physical, shared", physical_memory_stats());
  return s;
}

std::string to_string(const Sharding& s) {
  if (s.mesh_axes().empty())
    return "SingleDevice(" + (s.devices().empty() ? std::string("-") : to_string(s.devices()[0])) +
           ")";
  std::string text = "NamedSharding({";
  for (std::size_t i = 0; i < s.mesh_axes().size(); ++i)
    text += (i ? ", " : "") + s.mesh_axes()[i] + ": " + std::to_string(s.mesh_sizes()[i]);
  text += "}, P(";
  const Spec spec(s.spec());
  bool first = true;
  for (const Spec::Axes& axes : spec.dims()) {
    if (!first) text += ", ";
    first = false;
    if (axes.empty()) text += "none";
    if (axes.size() > 1) text += "{";
    for (std::size_t i = 0; i < axes.size(); ++i) text += (i ? ", " : "") + axes[i];
    if (axes.size() > 1) text += "}";
  }
  return text + "))";
}
bool Sharding::is_fully_replicated() const { return Spec(spec_).replicated(); }
std::ostream& operator<<(std::ostream& out, const Sharding& s) { return out << to_string(s); }

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
  const runtime::Layout& l = *detail::data_of(a)->layout;
  std::vector<Device> ids;
  for (int d : l.devices()) ids.push_back({d, l.backend->platform()});
  return Sharding(std::move(ids), l.mesh->axes, l.mesh->sizes, l.spec.dims());
}

std::vector<Shard> Array::shards(std::source_location loc) const {
  (void)sharding(loc);  // the same errors
  const detail::Reading read(*this, "shards", loc);
  const runtime::ArrayDataPtr& data = read.data();
  const runtime::Layout& l = *data->layout;
  spmd::Blocks blocks(data->type, *l.mesh, l.spec);
  std::vector<Shard> out;
  std::vector<int> copies(static_cast<std::size_t>(blocks.count()), 0);
  for (std::size_t p = 0; p < data->shards.size(); ++p) {
    auto part = std::make_shared<runtime::ArrayData>();
    part->type = Type(data->type.dtype, data->shard_shape(), data->type.weak);
    part->layout = runtime::intern(runtime::on_device(l.devices()[p], true, l.backend));
    part->shards = {data->shards[p]};
    part->pending = data->pending;
    std::int64_t block = blocks.block_of(static_cast<std::int64_t>(p));
    Shard s{{l.devices()[p], l.backend->platform()},
            {},
            copies[static_cast<std::size_t>(block)]++,
            detail::make_concrete(part)};
    // Blocks are numbered row-major over the grid that they make.
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
  runtime::Backend& backend = need_device("device_put", device, x.loc);
  return relaid("device_put", x, runtime::on_device(device.id, true, &backend));
}

namespace {

std::string count_text(std::size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// ShardingError unless the sharding is one, and fits the shape.
void need_sharding(const Sharding& s, const Shape& shape, const SourceLoc& loc) {
  Message m("device_put");
  m.from(loc);
  const auto no_sharding = [&](std::string problem, std::string rule) {
    m.problem(std::move(problem))
        .rule(std::move(rule))
        .advice("take the sharding of an array: y.sharding()")
        .raise<ShardingError>();
  };
  std::vector<int> ids;
  std::int64_t places = 1;
  for (Device d : s.devices()) ids.push_back(d.id);
  if (std::any_of(s.devices().begin(), s.devices().end(),
                  [&](const Device& d) { return d.platform != s.devices()[0].platform; }))
    no_sharding("the sharding names devices of several platforms", "an array lies on one platform");
  for (std::int64_t n : s.mesh_sizes())
    if (n < 1 || __builtin_mul_overflow(places, n, &places)) places = 0;
  std::sort(ids.begin(), ids.end());
  if (ids.empty()) no_sharding("the sharding names no devices", "an array lies on one or more");
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end())
    no_sharding("the sharding names a device twice", "each device has one place in the mesh");
  if (s.mesh_axes().size() != s.mesh_sizes().size() || places != std::ssize(ids))
    no_sharding("the sharding has " + count_text(ids.size(), "device") + ", " +
                    count_text(s.mesh_axes().size(), "mesh axis name") + " and " +
                    count_text(s.mesh_sizes().size(), "mesh size"),
                "each axis has a name and a size, and the product of the sizes is the number of "
                "devices");
  std::vector<std::string> used;
  const Spec spec(s.spec());
  const Spec::Dims& dims = spec.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::int64_t parts = 1;
    std::string names;
    for (const std::string& axis : dims[d]) {
      const auto it = std::find(s.mesh_axes().begin(), s.mesh_axes().end(), axis);
      if (it == s.mesh_axes().end() || std::find(used.begin(), used.end(), axis) != used.end())
        no_sharding("the spec " + to_string(spec) + " names the axis '" + axis + "'" +
                        (it == s.mesh_axes().end() ? "" : " twice"),
                    "it names axes of the mesh, each once");
      used.push_back(axis);
      parts *= s.mesh_sizes()[static_cast<std::size_t>(it - s.mesh_axes().begin())];
      names += (names.empty() ? "'" : ", '") + axis + "'";
    }
    if (parts > 1 && d >= shape.size())
      m.problem("an array of shape " + to_string(shape) + " has no dimension " + std::to_string(d) +
                " for " + to_string(s))
          .rule("each dimension that is cut exists")
          .advice("reshape it, or put it whole on one device: device_put(x, device)")
          .raise<ShardingError>();
    if (parts > 1 && shape[d] % parts != 0)
      m.problem("an array of shape " + to_string(shape) + " does not divide for " + to_string(s))
          .rule("dimension " + std::to_string(d) + " is cut by " + names + " into " +
                std::to_string(parts) + " parts: " + std::to_string(shape[d]) + " = " +
                std::to_string(parts) + " x " + std::to_string(shape[d] / parts) + " + " +
                std::to_string(shape[d] % parts))
          .advice("pad it to " + std::to_string((shape[d] / parts + 1) * parts) +
                  ", or put it whole on one device: device_put(x, device)")
          .raise<ShardingError>();
  }
}

}  // namespace

Array device_put(Operand x, const Sharding& sharding) {
  need_sharding(sharding, detail::need(x.array, "device_put", x.loc).type.shape, x.loc);
  DeviceMesh mesh{{sharding.mesh_axes(), sharding.mesh_sizes()}, {}};
  runtime::Layout l{{}, Spec(sharding.spec()), true};
  for (Device d : sharding.devices()) {
    l.backend = &need_device("device_put", d, x.loc);
    mesh.devices.push_back(d.id);
  }
  l.mesh = MeshRef(std::move(mesh));
  return relaid("device_put", x, std::move(l));
}

Array device_get(Operand x) {
  Array here = relaid("device_get", x, *runtime::default_layout());
  if (here.is_concrete()) (void)here.block_until_ready();
  return here;
}

}  // namespace tessera::inline v0
