#include <tessera/sharding.h>

#include "api/devices/mesh_data.h"
#include "runtime/backend.h"
#include "spmd/place/blocks.h"

#include <algorithm>
#include <ostream>

namespace tessera::inline v0 {

using detail::MeshData;

namespace detail {

Mesh need_scope_mesh(const char* function, const Mesh& given, const SourceLoc& loc) {
  const Mesh mesh = given.empty() ? current_mesh() : given;
  if (mesh.empty() || mesh.axes().empty())
    Message(function)
        .problem(mesh.empty() ? "there is no mesh for the specs" : "the mesh has no axes")
        .rule("a spec names axes of a mesh: one that is passed, or that of the scope")
        .from(loc)
        .advice("{.mesh = mesh, ...}, or const auto scope = use_mesh(mesh)")
        .raise<ShardingError>();
  return mesh;
}

Spec spec_of(const PartitionSpec& spec) {
  Spec::Dims dims;
  for (const PartitionSpec::Dim& d : spec.dims()) dims.push_back(d.axes());
  return Spec(std::move(dims));
}
PartitionSpec spec_of(const Spec& spec) {
  std::vector<PartitionSpec::Dim> dims(spec.dims().begin(), spec.dims().end());
  return PartitionSpec(std::move(dims));
}

runtime::Layout layout_of(const Sharding& sharding) {
  const MeshData& mesh = MeshData::of(sharding.mesh());
  return {mesh.ref, spec_of(sharding.spec()), true, mesh.backend};
}
Sharding sharding_of(const runtime::Layout& layout) {
  return Sharding(MeshData::make(layout.mesh, layout.backend, false), spec_of(layout.spec));
}

namespace {
std::string names_text(const std::vector<std::string>& names) {
  std::string s;
  for (const std::string& name : names) s += (s.empty() ? "'" : ", '") + name + "'";
  return s;
}
}  // namespace

Misfit misfit(const Shape& shape, const Sharding& sharding, bool evenly) {
  const MeshShape& mesh = *MeshData::of(sharding.mesh()).ref;
  const auto& dims = sharding.spec().dims();
  for (std::int64_t n : shape)
    if (n < 0)
      return {"the shape " + to_string(shape) + " has a negative extent", "extents are 0 or more",
              "give the extents of the whole array"};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::vector<std::string>& axes = dims[d].axes();
    if (dims[d].is_unconstrained() && d >= shape.size())
      return {"an array of shape " + to_string(shape) + " has no dimension " + std::to_string(d) +
                  " for " + to_string(sharding),
              "each dimension that is cut, or left to the compiler, exists",
              "an entry a dimension at most; unconstrained alone for the whole array"};
    if (axes.empty()) continue;
    const std::int64_t parts = mesh.size_of(axes);
    if (d >= shape.size())
      return {"an array of shape " + to_string(shape) + " has no dimension " + std::to_string(d) +
                  " for " + to_string(sharding),
              "each dimension that is cut exists",
              "reshape it, or put it whole on one device: device_put(x, device)"};
    if (evenly && shape[d] % parts != 0) {
      const std::int64_t less = shape[d] / parts * parts;
      return {
          "an array of shape " + to_string(shape) + " does not divide for " + to_string(sharding),
          "dimension " + std::to_string(d) + " is cut by " + names_text(axes) + " into " +
              std::to_string(parts) + " parts: " + std::to_string(shape[d]) + " = " +
              std::to_string(parts) + " x " + std::to_string(shape[d] / parts) + " + " +
              std::to_string(shape[d] % parts),
          "pad it to " + std::to_string(less + parts) +
              (less > 0 ? ", take " + std::to_string(less) + " of it" : "") + ", or do not cut it"};
    }
  }
  return {};
}

}  // namespace detail

namespace {
Mesh mesh_of(Device device, const SourceLoc& loc, std::source_location line) {
  const InFunction named("Sharding", loc);
  return Mesh({}, {device}, line);
}
}  // namespace

Sharding::Sharding(Device device, std::source_location loc)
    : Sharding(mesh_of(device, loc, loc), {}, loc) {}

Sharding::Sharding(Mesh mesh, PartitionSpec spec, std::source_location loc)
    : mesh_(std::move(mesh)), spec_(std::move(spec)) {
  Message m("Sharding");
  m.from(loc);
  if (mesh_.empty())
    m.problem("the mesh is empty")
        .rule("an array lies on one device or more")
        .advice("make one first: Mesh({{\"data\", 2}})")
        .raise<ShardingError>();
  std::vector<std::string> used;
  for (const PartitionSpec::Dim& dim : spec_.dims())
    for (const std::string& axis : dim.axes()) {
      const bool there = MeshData::of(mesh_).ref->find(axis) >= 0;
      if (!there || std::find(used.begin(), used.end(), axis) != used.end())
        m.problem(to_string(spec_) + " names the axis '" + axis + "'" +
                  (there ? " twice" : ", which " + to_string(mesh_) + " does not have"))
            .rule("a spec names axes of its mesh, each once")
            .advice(there ? "cut one dimension by it"
                    : mesh_.axes().empty()
                        ? "P() on a mesh without axes"
                        : "the axes are " + detail::names_text(mesh_.axis_names()))
            .raise<ShardingError>();
      used.push_back(axis);
    }
}

bool Sharding::is_fully_replicated() const {
  for (const PartitionSpec::Dim& dim : spec_.dims())
    for (const std::string& axis : dim.axes())
      if (mesh_.size(axis) > 1) return false;
  return true;
}

Shape Sharding::shard_shape(const Shape& shape, std::source_location loc) const {
  if (mesh_.empty()) return shape;
  if (const detail::Misfit no = detail::misfit(shape, *this))
    Message("shard_shape")
        .problem(no.problem)
        .rule(no.rule)
        .from(loc)
        .advice(no.advice)
        .raise<ShardingError>();
  return block_shape(shape, detail::spec_of(spec_), *MeshData::of(mesh_).ref);
}

std::vector<std::vector<Range>> Sharding::indices(const Shape& shape,
                                                  std::source_location loc) const {
  const InFunction named("indices", loc);
  std::vector<std::vector<Range>> all;
  if (mesh_.empty()) return all;
  const Shape block = shard_shape(shape, loc);
  const Spec spec = detail::spec_of(spec_);
  for (std::int64_t device = 0; device < mesh_.size(); ++device) {
    const Shape start = block_start(block, spec, *MeshData::of(mesh_).ref, device);
    auto& ranges = all.emplace_back();
    for (int d = 0; d < shape.rank(); ++d) ranges.push_back({start[d], start[d] + block[d], 1});
  }
  return all;
}

bool Sharding::is_equivalent_to(const Sharding& other, int ndim) const {
  if (mesh_.size() != other.mesh_.size() || devices() != other.devices()) return false;
  const auto parts = [](const Sharding& s, std::size_t d) {
    return s.mesh_.empty() ? 1 : MeshData::of(s.mesh_).ref->size_of(s.spec_[d].axes());
  };
  const auto part = [](const Sharding& s, std::size_t d, std::int64_t device) {
    return MeshData::of(s.mesh_).ref->index_along(device, s.spec_[d].axes());
  };
  for (std::size_t d = 0; d < static_cast<std::size_t>(std::max(ndim, 0)); ++d) {
    if (parts(*this, d) != parts(other, d)) return false;
    for (std::int64_t device = 0; device < mesh_.size(); ++device)
      if (part(*this, d, device) != part(other, d, device)) return false;
  }
  return true;
}

std::string to_string(const Sharding& s) {
  if (s.mesh().axes().empty())
    return "SingleDevice(" + (s.devices().empty() ? std::string("-") : to_string(s.devices()[0])) +
           ")";
  return "NamedSharding(" + to_string(s.mesh()) + ", " + to_string(s.spec()) + ")";
}
std::ostream& operator<<(std::ostream& out, const Sharding& s) { return out << to_string(s); }

}  // namespace tessera::inline v0
