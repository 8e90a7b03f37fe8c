#include <tessera/mesh.h>

#include "api/array/platform.h"
#include "api/devices/mesh_data.h"
#include "api/trace/map_axes.h"
#include "api/trace/scope_mesh.h"
#include "base/hash.h"
#include "base/interned.h"
#include "base/message.h"
#include "runtime/backend.h"
#include "runtime/host/devices.h"

#include <algorithm>
#include <ostream>

namespace tessera::inline v0 {

namespace detail {

std::size_t hash_of(const MeshData& data) {
  std::size_t h = data.ref.hash();
  mix(h, static_cast<std::size_t>(data.abstract));
  return h;
}

Mesh MeshData::make(MeshRef ref, runtime::Backend* backend, bool abstract) {
  MeshData data{{}, {}, std::move(ref), backend, abstract};
  for (std::size_t i = 0; i < data.ref->axes.size(); ++i)
    data.axes.push_back({data.ref->axes[i], data.ref->sizes[i]});
  for (int id : data.ref->devices) data.devices.push_back({id, backend->platform()});
  Mesh mesh;
  mesh.data_ = Interned<MeshData>(std::move(data)).pointer();
  return mesh;
}

const runtime::Backend& platform_of(const Mesh& given) {
  const Mesh& mesh = given.empty() ? scope_mesh() : given;
  return mesh.empty() ? runtime::default_backend() : *MeshData::of(mesh).backend;
}

}  // namespace detail

namespace {

std::string axes_text(const std::vector<Mesh::Axis>& axes) {
  std::string s = "(";
  for (const Mesh::Axis& a : axes)
    s += (s.size() > 1 ? ", '" : "'") + a.name + "': " + std::to_string(a.size);
  return s + ")";
}

std::string count_text(std::size_t n) {
  return std::to_string(n) + (n == 1 ? " device" : " devices");
}

/// The most axes that a compiled program can distinguish.
constexpr std::size_t kMostAxes = 32;

/// The number of devices along all axes; throws if the axes are invalid.
std::int64_t need_axes(const std::vector<Mesh::Axis>& axes, const SourceLoc& loc) {
  Message m("Mesh");
  m.from(loc);
  if (axes.size() > kMostAxes)
    m.problem("a mesh of " + std::to_string(axes.size()) + " axes")
        .rule("a mesh has at most " + std::to_string(kMostAxes) + " axes")
        .advice("leave out axes of size 1")
        .raise<ShardingError>();
  std::int64_t size = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto& [name, n] = axes[i];
    const auto wrong = [&](std::string problem, std::string rule, std::string advice) {
      m.problem(std::move(problem))
          .rule(std::move(rule))
          .advice(std::move(advice))
          .raise<ShardingError>();
    };
    if (name.empty())
      wrong("axis " + std::to_string(i) + " of " + axes_text(axes) + " has no name",
            "specs and collectives name the axes", "Mesh({{\"data\", 2}, {\"model\", 2}})");
    if (const std::string odd = detail::odd_character(name); !odd.empty())
      wrong("the name of the axis '" + name + "' holds the character " + odd,
            detail::axis_name_rule(), "a word, such as \"data\"");
    if (std::any_of(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Mesh::Axis& a) { return a.name == name; }))
      wrong("two axes of " + axes_text(axes) + " are called '" + name + "'",
            "the axes of a mesh have different names", "give one of them another name");
    if (n < 1)
      wrong("the axis '" + name + "' has the size " + std::to_string(n),
            "a mesh has at least one device along each axis", "a size of at least 1");
    if (__builtin_mul_overflow(size, n, &size))
      wrong("the sizes of " + axes_text(axes) + " multiply to more than 2^63",
            "their product is the number of devices", "smaller sizes");
  }
  return size;
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): axes are written in braces at the call.
Mesh::Mesh(std::vector<Axis> axes, std::vector<Device> devices, std::source_location loc) {
  const std::int64_t size = need_axes(axes, loc);
  Message m("Mesh");
  m.from(loc);
  const bool first_ones = devices.empty();
  runtime::Backend& backend = first_ones ? runtime::default_backend()
                                         : detail::need_backend("Mesh", devices[0].platform, loc);
  const std::string_view platform = backend.platform();
  const bool virtual_ones = &backend == &runtime::host_backend();
  const int there = backend.device_count();
  DeviceMesh mesh;
  for (Axis& a : axes) {
    mesh.axes.push_back(a.name);
    mesh.sizes.push_back(a.size);
  }
  if (first_ones ? size > there : size != std::ssize(devices))
    m.problem("a mesh of " + axes_text(axes) + " takes " +
              count_text(static_cast<std::size_t>(size)) + ", and " +
              (first_ones ? (virtual_ones ? "this process" : "'" + backend.platform() + "'") +
                                " has " + std::to_string(there)
                          : std::to_string(devices.size()) +
                                (devices.size() == 1 ? " is given" : " are given")))
        .rule("the product of the sizes is the number of devices")
        .advice(first_ones && virtual_ones && size <= runtime::kMaxDevices
                    ? "call set_device_count(" + std::to_string(size) +
                          ") first, or set TESSERA_DEVICES; Mesh::abstract to plan without devices"
                : first_ones ? "Mesh::abstract to plan without devices"
                             : "as many devices as places, or none for the first ones")
        .raise<ShardingError>();
  for (const Device& d : devices) {
    if (d.platform != platform)
      m.problem("the devices are of the platforms '" + std::string(platform) + "' and '" +
                std::string(d.platform) + "'")
          .rule("an array lies on one platform")
          .advice("a mesh a platform")
          .raise<ShardingError>();
    if (d.id < 0 || d.id >= there)
      m.problem("there is no device " + std::to_string(d.id))
          .rule("'" + std::string(platform) + "' has devices 0 to " + std::to_string(there - 1))
          .advice("take some of devices()")
          .raise<DeviceError>();
    if (std::find(mesh.devices.begin(), mesh.devices.end(), d.id) != mesh.devices.end())
      m.problem("it names " + to_string(d) + " twice")
          .rule("each device has one place in the mesh")
          .advice("different devices")
          .raise<ShardingError>();
    mesh.devices.push_back(d.id);
  }
  for (int i = 0; first_ones && i < size; ++i) mesh.devices.push_back(i);
  *this = detail::MeshData::make(runtime::on_platform(MeshRef(std::move(mesh)), backend), &backend,
                                 false);
}

Mesh Mesh::abstract(std::vector<Axis> axes, std::source_location loc) {
  need_axes(axes, loc);
  DeviceMesh mesh;
  for (Axis& a : axes) {
    mesh.axes.push_back(std::move(a.name));
    mesh.sizes.push_back(a.size);
  }
  return detail::MeshData::make(MeshRef(std::move(mesh)), &runtime::default_backend(), true);
}

Mesh make_mesh(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names,
               std::vector<Device> devices, std::source_location loc) {
  if (sizes.size() != names.size())
    Message("make_mesh")
        .problem("sizes: " + std::to_string(sizes.size()) +
                 ", names: " + std::to_string(names.size()))
        .rule("each axis has a size and a name")
        .from(loc)
        .advice("make_mesh({2, 4}, {\"data\", \"model\"})")
        .raise<ShardingError>();
  std::vector<Mesh::Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) axes.push_back({names[i], sizes[i]});
  return Mesh(std::move(axes), std::move(devices), loc);
}

const std::vector<Mesh::Axis>& Mesh::axes() const {
  static const auto& none = *new std::vector<Axis>;
  return data_ ? data_->axes : none;
}
std::vector<std::string> Mesh::axis_names() const {
  return data_ ? data_->ref->axes : std::vector<std::string>();
}
std::vector<std::int64_t> Mesh::axis_sizes() const {
  return data_ ? data_->ref->sizes : std::vector<std::int64_t>();
}
std::int64_t Mesh::size() const { return data_ ? data_->ref->size() : 0; }
std::int64_t Mesh::size(std::string_view axis, std::source_location loc) const {
  for (const Axis& a : axes())
    if (a.name == axis) return a.size;
  Message("Mesh")
      .problem("there is no axis '" + std::string(axis) + "'")
      .rule("the axes of the mesh are " + axes_text(axes()))
      .from(loc)
      .advice("name one of them")
      .raise<ShardingError>();
}
const std::vector<Device>& Mesh::devices() const {
  static const auto& none = *new std::vector<Device>;
  return data_ ? data_->devices : none;
}
bool Mesh::is_abstract() const { return data_ && data_->abstract; }

std::string to_string(const Mesh& mesh) {
  return (mesh.is_abstract() ? "AbstractMesh" : "Mesh") + axes_text(mesh.axes());
}
std::ostream& operator<<(std::ostream& out, const Mesh& mesh) { return out << to_string(mesh); }

Mesh current_mesh() { return detail::scope_mesh(); }
MeshScope use_mesh(const Mesh& mesh, std::source_location loc) {
  if (mesh.empty())
    Message("use_mesh")
        .problem("the mesh is empty")
        .rule("specs name axes of a mesh")
        .from(loc)
        .advice("make one first: Mesh({{\"data\", 2}})")
        .raise<ShardingError>();
  return MeshScope(mesh);
}

}  // namespace tessera::inline v0
