// Meshes arrange devices along named axes.
//
//   ts::Mesh mesh({{"data", 2}, {"model", 4}});             // the first eight devices
//   Array a = ts::device_put(x, mesh, ts::P("data"));       // rows over two, each shard on four
//
// Specs (tessera/partition_spec.h) state over which axes the dimensions of an array are sharded. A
// scope sets the mesh for specs that are used without one:
//
//   const auto scope = ts::use_mesh(mesh);
//   Array b = ts::device_put(y, ts::P(ts::none, "model"));
#pragma once

#include <tessera/device.h>
#include <memory>

#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

namespace detail {
struct MeshData;  // src/api/devices/mesh_data.h
}

/// A mesh is immutable and cheap to copy; equal meshes share one object.
class TESSERA_API Mesh {
 public:
  /// An axis with its name.
  struct Axis {
    /// The name, as specs and collectives use it.
    std::string name;
    std::int64_t size = 1;  // devices along it
    bool operator==(const Axis&) const = default;
  };

  /// A mesh without axes and devices.
  Mesh() = default;
  /// Places the devices in row-major order, so that devices that are adjacent in the list are
  /// neighbours along the last axis. The devices must be distinct devices of one platform, in any
  /// order; the default is the first devices of the default device's platform. Throws ShardingError
  /// for names that are empty, repeated or contain unsupported characters, for sizes below 1, and
  /// if the number of devices is not the product of the sizes; DeviceError for devices that do not
  /// exist.
  explicit Mesh(std::vector<Axis> axes, std::vector<Device> devices = {},
                std::source_location loc = std::source_location::current());
  /// A mesh of any size without devices, for planning.
  static Mesh abstract(std::vector<Axis> axes,
                       std::source_location loc = std::source_location::current());

  /// The axes, major first.
  const std::vector<Axis>& axes() const;
  /// The names of the axes, major first.
  std::vector<std::string> axis_names() const;
  /// The number of devices along each axis, major first.
  std::vector<std::int64_t> axis_sizes() const;
  /// The total number of devices; 0 for an empty mesh.
  std::int64_t size() const;
  /// The number of devices along an axis. Throws ShardingError if there is no such axis.
  std::int64_t size(std::string_view axis,
                    std::source_location loc = std::source_location::current()) const;
  /// The devices in row-major order; none for an abstract mesh.
  const std::vector<Device>& devices() const;
  /// Whether the mesh has no devices, for planning.
  bool is_abstract() const;
  /// Whether the mesh has no axes.
  bool empty() const { return data_ == nullptr; }
  bool operator==(const Mesh& other) const { return data_ == other.data_; }
  /// The identity that equal meshes share; no other mesh has it while one of them lives.
  const void* id() const { return data_.get(); }

 private:
  friend struct detail::MeshData;
  std::shared_ptr<const detail::MeshData> data_;
};

/// "Mesh('data': 2, 'model': 4)", "AbstractMesh('data': 64)".
TESSERA_API std::string to_string(const Mesh& mesh);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Mesh& mesh);

/// make_mesh({2, 4}, {"data", "model"})
TESSERA_API Mesh make_mesh(const std::vector<std::int64_t>& sizes,
                           const std::vector<std::string>& names, std::vector<Device> devices = {},
                           std::source_location loc = std::source_location::current());

namespace detail {
struct MeshInScope;
}
/// Sets the mesh on the thread that constructs it, for its lifetime. Scopes nest. An outer scope
/// may end before the scopes inside it, which remain in effect.
class TESSERA_API MeshScope {
 public:
  explicit MeshScope(Mesh mesh);
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;

 private:
  std::shared_ptr<detail::MeshInScope> mesh_;
};
/// Sets the mesh for specs that are used without one, on this thread and for the lifetime of the
/// result. Throws ShardingError for an empty mesh.
[[nodiscard]] TESSERA_API MeshScope
use_mesh(const Mesh& mesh, std::source_location loc = std::source_location::current());
/// The mesh of the innermost scope; empty outside any scope.
TESSERA_API Mesh current_mesh();

}  // namespace tessera::inline v0
