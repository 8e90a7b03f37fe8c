// Creates arrays with shardings, from whole arrays or from shards.
#include <tessera/sharding.h>

#include "api/array/array_impl.h"
#include "api/devices/mesh_data.h"
#include "api/devices/nested.h"
#include "api/devices/relaid.h"
#include "api/trace/composite.h"
#include "base/message.h"
#include "runtime/backend.h"
#include "runtime/history.h"
#include "spmd/place/blocks.h"

#include <tessera/distributed.h>
#include <tessera/index.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace tessera::inline v0 {
namespace {

/// The given mesh, else the scope's; throws unless its devices exist.
Mesh need_mesh(const char* function, const Mesh& given, const SourceLoc& loc) {
  const Mesh mesh = given.empty() ? current_mesh() : given;
  Message m(function);
  m.from(loc);
  if (mesh.empty())
    m.problem("there is no mesh for the spec")
        .rule("a spec names axes of a mesh: one that is passed, or that of the scope")
        .advice("device_put(x, mesh, spec), or const auto scope = use_mesh(mesh)")
        .raise<ShardingError>();
  if (mesh.is_abstract())
    m.problem(to_string(mesh) + " has no devices")
        .rule("data lies on devices; an abstract mesh is for plans")
        .advice("a Mesh of devices")
        .raise<ShardingError>();
  const detail::MeshData& data = detail::MeshData::of(mesh);
  for (const Device& d : mesh.devices())
    if (d.id >= data.backend->device_count())
      m.problem("there is no device " + std::to_string(d.id) + " any more")
          .rule("'" + std::string(d.platform) + "' has devices 0 to " +
                std::to_string(data.backend->device_count() - 1))
          .advice("make the mesh after set_device_count")
          .raise<DeviceError>();
  return mesh;
}

/// Throws unless the sharding has devices and they exist.
void need_devices(const char* function, const Sharding& sharding, const SourceLoc& loc) {
  if (sharding.mesh().empty())
    Message(function)
        .problem("the sharding is of no devices")
        .rule("an array lies on one or more")
        .from(loc)
        .advice("Sharding(mesh, spec), or y.sharding() of another array")
        .raise<ShardingError>();
  need_mesh(function, sharding.mesh(), loc);
}

/// Empty if data of this shape can have the sharding.
detail::Misfit place_misfit(const Shape& shape, const Sharding& s) {
  for (std::size_t d = 0; d < s.spec().dims().size(); ++d)
    if (s.spec()[d].is_unconstrained())
      return {to_string(s.spec()) + " leaves dimension " + std::to_string(d) + " open",
              "data has a place, and an unconstrained dimension leaves it to others",
              "none, or the axes that cut it"};
  return detail::misfit(shape, s);
}

void need_fit(const char* function, const Shape& shape, const Sharding& s, const SourceLoc& loc) {
  if (const detail::Misfit no = place_misfit(shape, s))
    Message(function)
        .problem(no.problem)
        .rule(no.rule)
        .from(loc)
        .advice(no.advice)
        .raise<ShardingError>();
}

}  // namespace

Array device_put(Operand x, const Sharding& sharding) {
  const detail::ArrayImpl& a = detail::need(x.array, "device_put", x.loc);
  need_devices("device_put", sharding, x.loc);
  need_fit("device_put", a.type.shape, sharding, x.loc);
  return detail::relaid("device_put", x, detail::layout_of(sharding));
}
Array device_put(Operand x, const Mesh& mesh, const PartitionSpec& spec) {
  const InFunction named("device_put", x.loc);
  (void)detail::need(x.array, "device_put", x.loc);
  return device_put(x, Sharding(need_mesh("device_put", mesh, x.loc), spec));
}
Array device_put(Operand x, const PartitionSpec& spec) { return device_put(x, Mesh(), spec); }

std::vector<Array> detail::put_leaves(const std::vector<Array>& leaves, const TreeDef& tree,
                                      const Mesh& given, const SpecTree& specs,
                                      std::source_location loc) {
  const InFunction named("device_put", loc);
  const Mesh mesh = need_mesh("device_put", given, loc);
  const auto by_leaf = specs_by_leaf("device_put", specs, tree, "x", loc);
  const std::vector<std::string> paths = tree.paths("x");
  std::vector<Sharding> shardings;
  Message m("device_put");
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    shardings.push_back(by_leaf[i] ? Sharding(mesh, *by_leaf[i]) : Sharding());
    if (leaves[i].is_empty() || !by_leaf[i]) continue;
    if (const Misfit no = place_misfit(leaves[i].shape(), shardings[i])) {
      m.offender(paths[i] + ": " + no.problem + "; " + no.rule);
      ++wrong;
    }
  }
  if (wrong > 0)
    m.problem(std::to_string(wrong) + (wrong == 1 ? " leaf does" : " leaves do") +
              " not fit the specs")
        .rule("each dimension that is cut exists, and the number of parts divides it")
        .from(loc)
        .advice("other specs for these leaves, or other sizes")
        .raise<ShardingError>();
  std::vector<Array> out;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    out.push_back(leaves[i].is_empty() || !by_leaf[i]
                      ? leaves[i]
                      : device_put(Operand(leaves[i], loc), shardings[i]));
  return out;
}

Array with_sharding_constraint(Operand x, const Sharding& sharding) {
  const char* function = "with_sharding_constraint";
  const detail::ArrayImpl& a = detail::need(x.array, function, x.loc);
  const InFunction named(function, x.loc);
  const detail::Around around = detail::axes_around(
      function, x.loc, "leave it out: a device has its own block, and nobody else reads it");
  if (!detail::Trace::innermost()) return device_put(x, sharding);
  if (sharding.mesh().empty()) need_devices(function, sharding, x.loc);
  detail::need_scope_mesh(function, sharding.mesh(), x.loc);
  detail::check_inside(function, around, sharding.mesh(), x.loc);
  detail::check_inside(function, around, sharding.spec(), x.loc);
  if (const detail::Misfit no = detail::misfit(a.type.shape, sharding, false))
    Message(function)
        .problem(no.problem)
        .rule(no.rule)
        .from(x.loc)
        .advice(no.advice)
        .raise<ShardingError>();
  Ints open;
  for (std::size_t d = 0; d < sharding.spec().dims().size(); ++d)
    if (sharding.spec()[d].is_unconstrained()) open.push_back(static_cast<std::int64_t>(d));
  const MeshRef mesh = detail::MeshData::of(sharding.mesh()).ref;
  const Spec spec = detail::spec_of(sharding.spec());
  return detail::composite1(function, {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::sharding_constraint(in[0], mesh, spec, open);
  });
}
Array with_sharding_constraint(Operand x, const PartitionSpec& spec) {
  const InFunction named("with_sharding_constraint", x.loc);
  return with_sharding_constraint(
      x, Sharding(detail::need_scope_mesh("with_sharding_constraint", Mesh(), x.loc), spec));
}
std::vector<Array> detail::constrain_leaves(const std::vector<Array>& leaves, const TreeDef& tree,
                                            const SpecTree& specs, std::source_location loc) {
  const InFunction named("with_sharding_constraint", loc);
  const auto by_leaf = specs_by_leaf("with_sharding_constraint", specs, tree, "x", loc);
  std::vector<Array> out;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    out.push_back(leaves[i].is_empty() || !by_leaf[i]
                      ? leaves[i]
                      : with_sharding_constraint(Operand(leaves[i], loc), *by_leaf[i]));
  return out;
}

Array make_array_from_single_device_arrays(const Shape& shape, const Sharding& sharding,
                                           const std::vector<Array>& parts,
                                           std::source_location loc) {
  const char* function = "make_array_from_single_device_arrays";
  const InFunction named(function, loc);
  need_devices(function, sharding, loc);
  need_fit(function, shape, sharding, loc);
  Message m(function);
  m.from(loc);
  const Shape block = sharding.shard_shape(shape);
  const std::vector<Device>& devices = sharding.devices();
  std::vector<const Array*> by_place(devices.size(), nullptr);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<Device> at = parts[i].sharding().devices();
    const auto place =
        at.size() == 1 ? std::find(devices.begin(), devices.end(), at[0]) : devices.end();
    const std::string name = "parts[" + std::to_string(i) + "]";
    if (place == devices.end() || by_place[static_cast<std::size_t>(place - devices.begin())])
      m.problem(at.size() != 1 ? name + " lies on " + std::to_string(at.size()) + " devices"
                : place == devices.end() ? name + " lies on " + to_string(at[0]) +
                                               ", which is not of " + to_string(sharding)
                                         : "two parts lie on " + to_string(at[0]))
          .rule("there is one part on each device of the sharding")
          .advice("device_put(part, device) for each of sharding.devices()")
          .raise<ShardingError>();
    by_place[static_cast<std::size_t>(place - devices.begin())] = &parts[i];
    if (parts[i].shape() != block)
      m.problem(name + " has the shape " + to_string(parts[i].shape()))
          .rule("a part of shape " + to_string(shape) + " by " + to_string(sharding) +
                " has the shape " + to_string(block))
          .advice("sharding.indices(shape) are the ranges of each device")
          .raise<ShapeError>();
    if (parts[i].dtype() != parts[0].dtype())
      m.problem(name + " is " + std::string(name_of(parts[i].dtype())) + ", and parts[0] " +
                std::string(name_of(parts[0].dtype())))
          .rule("the parts of an array have one dtype")
          .advice("convert them first: part.astype(f32)")
          .raise<DTypeError>();
  }
  auto whole = std::make_shared<runtime::ArrayData>();
  whole->layout = runtime::intern(detail::layout_of(sharding));
  // Other processes hold the shards of their devices.
  const runtime::Layout& layout = *whole->layout;
  if (parts.size() != layout.shards())
    m.problem("there are " + std::to_string(layout.shards()) + " devices" +
              (layout.everywhere ? "" : " of this process") + ", and parts for " +
              std::to_string(parts.size()))
        .rule("there is one part on each device of the sharding")
        .advice("device_put(part, device) for each of sharding.devices()")
        .raise<ShardingError>();
  std::vector<std::shared_ptr<runtime::Completion>> pending;
  for (std::size_t k = 0; k < layout.shards(); ++k) {
    const Array* part = by_place[static_cast<std::size_t>(layout.place(k))];
    const detail::Reading read(*part, function, loc);
    whole->type = Type(read->type.dtype, shape);
    whole->shards.push_back(read->shards.at(0));
    if (read->pending) pending.push_back(read->pending);
  }
  whole->pending = runtime::all_of(std::move(pending));
  if (runtime::spans_processes(layout)) whole->history = runtime::history_of_parts(layout);
  return detail::make_concrete(std::move(whole));
}

Array make_array_from_callback(const Shape& shape, const Sharding& sharding,
                               const std::function<Array(const std::vector<Range>&)>& part,
                               std::source_location loc) {
  const char* function = "make_array_from_callback";
  const InFunction named(function, loc);
  need_devices(function, sharding, loc);
  need_fit(function, shape, sharding, loc);
  if (!part)
    Message(function)
        .problem("the function is empty")
        .rule("it gives the part of the array for each device's ranges")
        .from(loc)
        .advice("[&](const std::vector<Range>& index) { ... }")
        .raise<TraceError>();
  const std::vector<std::vector<Range>> indices = sharding.indices(shape);
  const spmd::Blocks blocks(Type(DType::float32, shape), *detail::MeshData::of(sharding.mesh()).ref,
                            detail::spec_of(sharding.spec()));
  std::vector<Array> made(static_cast<std::size_t>(blocks.count())), parts;
  const runtime::LayoutPtr layout = runtime::intern(detail::layout_of(sharding));
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (layout->shard_at(static_cast<std::int64_t>(d)) < 0) continue;  // not local
    Array& block = made[static_cast<std::size_t>(blocks.block_of(static_cast<std::int64_t>(d)))];
    if (block.is_empty()) {
      InUserCode user;
      block = part(indices[d]);
    }
    parts.push_back(device_put(Operand(block, loc), sharding.devices()[d]));
  }
  return make_array_from_single_device_arrays(shape, sharding, parts, loc);
}

namespace {

// The shards along one dimension that the devices of this process hold.
struct Own {
  std::set<std::int64_t> parts;  // their indices
  std::int64_t all = 1;          // the number of all shards
};
std::vector<Own> own_parts(const char* function, const Sharding& sharding, std::size_t rank,
                           const SourceLoc& loc) {
  // If each extent equals the number of shards, each shard starts at its own index.
  Shape counts;
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t n = 1;
    if (d < sharding.spec().dims().size())
      for (const std::string& axis : sharding.spec()[d].axes()) n *= sharding.mesh().size(axis);
    counts.push_back(n);
  }
  need_fit(function, counts, sharding, loc);
  const std::vector<std::vector<Range>> indices = sharding.indices(counts);
  const runtime::LayoutPtr layout = runtime::intern(detail::layout_of(sharding));
  std::vector<Own> own(rank);
  for (std::size_t d = 0; d < rank; ++d) own[d].all = counts[static_cast<std::int64_t>(d)];
  for (std::size_t p = 0; p < indices.size(); ++p) {
    if (layout->shard_at(static_cast<std::int64_t>(p)) < 0) continue;
    for (std::size_t d = 0; d < rank; ++d) own[d].parts.insert(*indices[p][d].start);
  }
  return own;
}

}  // namespace

Array make_array_from_process_local_data(const Sharding& sharding, Operand local_data,
                                         const std::optional<Shape>& global_shape) {
  const char* function = "make_array_from_process_local_data";
  const InFunction named(function, local_data.loc);
  const Shape local = detail::need(local_data.array, function, local_data.loc).type.shape;
  need_devices(function, sharding, local_data.loc);
  Message m(function);
  m.from(local_data.loc);
  const auto rank = static_cast<std::size_t>(local.rank());
  if (global_shape && global_shape->rank() != local.rank())
    m.problem("the local data has the shape " + to_string(local) + ", and the whole " +
              to_string(*global_shape))
        .rule("both have the same dimensions")
        .advice("leave global_shape out: it is found from the sharding")
        .raise<ShapeError>();
  if (global_shape)  // an empty spec refuses only negative extents
    need_fit(function, *global_shape, Sharding(sharding.mesh(), {}), local_data.loc);
  const std::vector<Own> own = own_parts(function, sharding, rank, local_data.loc);
  if (rank > 0 && own[0].parts.empty())
    m.problem(to_string(sharding) + " has no device of process " + std::to_string(process_index()))
        .rule("each process gives what its own devices have")
        .advice("make it in the processes that have devices of the sharding")
        .raise<ShardingError>();
  Shape whole;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t here = std::ssize(own[d].parts), n = local[static_cast<std::int64_t>(d)];
    const std::int64_t size =
        global_shape ? (*global_shape)[static_cast<std::int64_t>(d)] : n / here * own[d].all;
    if (n != size && (n % here != 0 || n / here * own[d].all != size))
      m.problem("dimension " + std::to_string(d) + " of the local data has the size " +
                std::to_string(n) + (global_shape ? ", of the whole " + std::to_string(size) : ""))
          .rule("this process's devices have " + std::to_string(here) + " of " +
                std::to_string(own[d].all) + " parts of it" +
                (global_shape
                     ? ": " + std::to_string(size) + " / " + std::to_string(own[d].all) + " * " +
                           std::to_string(here) + " = " + std::to_string(size / own[d].all * here) +
                           ", or all " + std::to_string(size)
                     : ", all of one size"))
          .advice(
              "sharding.indices(shape) are the ranges of each device, process_of(device) says "
              "whose it is")
          .raise<ShardingError>();
    whole.push_back(size);
  }
  need_fit(function, whole, sharding, local_data.loc);
  return make_array_from_callback(
      whole, sharding,
      [&](const std::vector<Range>& index) {
        std::vector<AxisIndex> places;
        for (std::size_t d = 0; d < rank; ++d) {
          const auto at = static_cast<std::int64_t>(d);
          const std::int64_t part = whole[at] / own[d].all, start = *index[d].start;
          const std::set<std::int64_t>& parts = own[d].parts;
          const std::int64_t place =
              local[at] == whole[at]
                  ? start
                  : part * std::distance(parts.begin(), parts.lower_bound(start / part));
          places.emplace_back(range(place, place + *index[d].stop - start), local_data.loc);
        }
        return local_data.array.get(places, local_data.loc);
      },
      local_data.loc);
}

}  // namespace tessera::inline v0
