// Meshes: devices along named axes.
//
//   ts::Mesh mesh({{"data", 2}, {"model", 4}});             // the first eight devices
//   Array a = ts::device_put(x, mesh, ts::P("data"));       // rows over two, each part on four
//
// Specs (tessera/partition_spec.h) say which dimensions of an array the axes cut. A scope says
// which mesh is meant where none is named:
//
//   const auto scope = ts::use_mesh(mesh);
//   Array b = ts::device_put(y, ts::P(ts::none, "model"));
#pragma once

#include <tessera/device.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

namespace detail {
struct MeshData;  // src/api/devices/mesh_data.h
}

/// Immutable and cheap to copy; equal meshes are one object.
class TESSERA_API Mesh {
 public:
  struct Axis {
    std::string name;
    std::int64_t size = 1;  // devices along it
    bool operator==(const Axis&) const = default;
  };

  /// No axes and no devices.
  Mesh() = default;
  /// Device i has the place i in row-major order: along the last axis they are neighbours in the
  /// list. Any devices of one platform, each once, in any order; the CPU's first ones when none are
  /// given. ShardingError for names that are empty, equal or of odd characters, sizes below 1, and
  /// a number of devices that is not the product of the sizes; DeviceError for devices that are not
  /// there.
  explicit Mesh(std::vector<Axis> axes, std::vector<Device> devices = {},
                std::source_location loc = std::source_location::current());
  /// Without devices, and of any size: something to plan for.
  static Mesh abstract(std::vector<Axis> axes,
                       std::source_location loc = std::source_location::current());

  const std::vector<Axis>& axes() const;
  std::vector<std::string> axis_names() const;
  std::vector<std::int64_t> axis_sizes() const;
  /// Devices in all; 0 without any axis or device.
  std::int64_t size() const;
  /// Devices along an axis. ShardingError when there is no such axis.
  std::int64_t size(std::string_view axis,
                    std::source_location loc = std::source_location::current()) const;
  /// Row-major; none in an abstract mesh.
  const std::vector<Device>& devices() const;
  bool is_abstract() const;
  bool empty() const { return data_ == nullptr; }
  bool operator==(const Mesh& other) const { return data_ == other.data_; }
  /// Equal meshes have one, which is nobody else's while one of them lives.
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
/// While it lives, its mesh is that of the thread that made it. Scopes nest; one may end before
/// those inside it, which then go on.
class TESSERA_API MeshScope {
 public:
  explicit MeshScope(Mesh mesh);
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;

 private:
  std::shared_ptr<detail::MeshInScope> mesh_;
};
/// The mesh of specs that come without one, on this thread and until the result goes.
/// ShardingError for an empty mesh.
[[nodiscard]] TESSERA_API MeshScope
use_mesh(const Mesh& mesh, std::source_location loc = std::source_location::current());
/// Of the innermost scope; empty outside.
TESSERA_API Mesh current_mesh();

}  // namespace tessera::inline v0
