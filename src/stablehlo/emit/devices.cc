// Per-device programs, shardings and collectives: regions of Shardy that contain StableHLO's
// collectives over groups of devices.
#include "ir/collective_attrs.h"
#include "ir/region_attrs.h"
#include "stablehlo/emit/combining.h"
#include "stablehlo/emit/rules.h"
#include "stablehlo/emit/target.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::stablehlo::write {

namespace {

Names all_quoted(const Strings& axes) {
  Names all;
  for (const std::string& axis : axes) all.push_back(quoted(axis));
  return all;
}

// If `open`, dimensions may also be partitioned along the axes that a region leaves to the
// partitioner.
std::string shardings(const std::string& mesh, const Specs& specs, const std::vector<Type>& types,
                      bool open) {
  Names parts;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Ints dims(open ? types[i].shape.size() : 0);
    std::iota(dims.begin(), dims.end(), std::int64_t{0});
    parts.push_back(sharding_text(mesh, specs[i], types[i].shape.rank(), dims));
  }
  return "[" + joined(parts) + "]";
}

const MeshShape& mesh_of(const Writing& w) {
  if (!w.block.mesh)
    w.refuse("it communicates between devices, and stands in no region for each device",
             "StableHLO counts devices in a region over a mesh",
             "export the function with the pmap or shard_map around it");
  return *w.block.mesh;
}

// The device numbers in each group of the collective, ordered along its axes.
IntLists emitted_groups(const Writing& w, const Strings& axes) {
  const MeshShape& mesh = mesh_of(w);
  Strings others;
  for (const std::string& a : mesh.axes)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) others.push_back(a);
  IntLists by_axes(static_cast<std::size_t>(mesh.size_of(others)),
                   Ints(static_cast<std::size_t>(mesh.size_of(axes))));
  for (std::int64_t d = 0; d < mesh.size(); ++d)
    by_axes[static_cast<std::size_t>(mesh.index_along(d, others))]
           [static_cast<std::size_t>(mesh.index_along(d, axes))] = d;
  const std::optional<CollectiveAttrs> own = CollectiveAttrs::find(w.attrs);
  if (!own || !own->grouped()) return by_axes;
  IntLists out;
  for (const Ints& row : by_axes)
    for (const Ints& group : own->groups) {
      Ints ids;
      for (std::int64_t k : group) ids.push_back(row[static_cast<std::size_t>(k)]);
      out.push_back(std::move(ids));
    }
  return out;
}
IntLists emitted_groups(const Writing& w) {
  return emitted_groups(w, CollectiveAttrs(w.attrs).axes);
}

std::string channel(const Writing& w) {
  return "channel_handle = #stablehlo.channel_handle<handle = " +
         std::to_string(w.block.module.channel()) + ", type = 1>";
}

std::string group_attributes(const Writing& w, const IntLists& groups) {
  std::size_t widest = 0;
  for (const Ints& g : groups) widest = std::max(widest, g.size());
  IntLists filled = groups;
  for (Ints& g : filled) g.resize(widest, -1);
  return channel(w) + ", replica_groups = " + rows_text(filled, widest);
}

std::int64_t members(const IntLists& groups) {
  return groups.empty() ? 1 : static_cast<std::int64_t>(groups[0].size());
}

Type with_dim(const Type& t, std::size_t at, std::int64_t extent) {
  Shape s;
  for (std::size_t i = 0; i <= t.shape.size(); ++i) {
    if (i == at) s.push_back(extent);
    if (i < t.shape.size()) s.push_back(t.shape[i]);
  }
  return Type(t.dtype, s);
}

std::string one(Writing& w, const char* op, const std::string& x, const std::string& attributes,
                const Type& in, const Type& out, const std::vector<RegionText>& regions = {}) {
  const std::vector<Type> ins{in}, outs{out};
  return w.block.generic(op, {x}, attributes, ins, outs, regions)[0];
}

}  // namespace

Names shard_map(Writing& w) {
  if (!w.block.module.target().partitions)
    w.refuse("a shard_map runs on several devices, and the module is for the platform '" +
                 std::string(w.block.module.target().platform) + "'",
             "maps over devices are Shardy's operations; StableHLO and CHLO have none",
             "{.platform = \"cpu\"}, or another platform whose compiler has Shardy");
  const RegionAttrs region(w.attrs);
  const DeviceMesh& mesh = *region.mesh;
  if (w.block.mesh && w.block.mesh->axes != mesh.axes)
    w.refuse("it runs on devices of its own inside another map over devices",
             "regions of StableHLO inside one another are over the axes of one mesh",
             "export the function with vmap inside, or with one shard_map over both axes");
  const std::string symbol = w.block.module.mesh(mesh);
  const ProgramPtr body = region.body;
  const Strings own = region.manual ? *region.manual : mesh.axes;
  Names arguments, declared;
  std::string lines;
  Block inside = w.block.inside(lines);
  if (!w.block.mesh) inside.automatic = mesh.axes;
  inside.mesh = mesh;
  std::erase_if(inside.automatic, [&](const std::string& axis) {
    return std::find(own.begin(), own.end(), axis) != own.end();
  });
  const bool open = !inside.automatic.empty();
  for (Var v : body->inputs) {
    arguments.push_back(w.block.fresh());
    declared.push_back(arguments.back() + ": " + type_text(body->type(v)));
  }
  const Names gives = inside.program(*body, arguments);
  Names types;
  for (const Type& t : body->output_types()) types.push_back(type_text(t));
  inside.line(gives.empty() ? "sdy.return" : "sdy.return " + joined(gives) + " : " + joined(types));
  const Names out = w.block.define(
      "sdy.manual_computation(" + joined(w.in) +
          ") in_shardings=" + shardings(symbol, region.in_specs, w.in_types, open) +
          " out_shardings=" + shardings(symbol, region.out_specs, w.out_types, open) +
          " manual_axes={" + joined(all_quoted(own)) + "} (" + joined(declared) + ") {",
      w.out_types.size());
  w.block.raw(lines);
  w.block.line("} : " + types_text(w.in_types) + " -> " + result_types_text(w.out_types));
  return out;
}

// A constraint changes no value, and is left out where nothing reads it.
Names sharding_constraint(Writing& w) {
  if (!w.block.module.target().partitions) return w.in;
  const Constraint c = w.op.constrains(w.attrs);
  const std::string symbol = w.block.module.mesh(*c.mesh);
  return w.block.define("sdy.sharding_constraint " + w.in[0] + " " +
                        sharding_text(symbol, c.spec, w.type().shape.rank(), c.open) + " : " +
                        type_text(w.type()));
}

Names all_reduce(Writing& w) {
  return w.block.generic("stablehlo.all_reduce", w.in,
                         group_attributes(w, emitted_groups(w)) + ", use_global_device_ids",
                         w.in_types, w.out_types,
                         {combining_region(w.op.combiner, w.type().dtype)});
}

Names all_gather(Writing& w) {
  const GatherAttrs dims(w.attrs);
  const auto axis = static_cast<std::size_t>(dims.axis);
  const bool tiled = dims.tiled;
  const Type in = tiled ? w.in_types[0] : with_dim(w.in_types[0], axis, 1);
  const std::string x = tiled ? w.in[0] : w.block.reshape(w.in[0], w.in_types[0], in);
  return {one(w, "stablehlo.all_gather", x,
              "all_gather_dim = " + std::to_string(axis) + " : i64, " +
                  group_attributes(w, emitted_groups(w)) + ", use_global_device_ids",
              in, w.type())};
}

Names reduce_scatter(Writing& w) {
  const GatherAttrs dims(w.attrs);
  const auto axis = static_cast<std::size_t>(dims.axis);
  const Type out = dims.tiled ? w.type() : with_dim(w.type(), axis, 1);
  const std::string y =
      one(w, "stablehlo.reduce_scatter", w.in[0],
          group_attributes(w, emitted_groups(w)) + ", scatter_dimension = " + std::to_string(axis) +
              " : i64, use_global_device_ids",
          w.in_types[0], out, {combining_region(Combiner::add, out.dtype)});
  return {w.block.reshape(y, out, w.type())};
}

// If each piece is one index, the pieces stay in the split dimension, which is then moved.
Names all_to_all(Writing& w) {
  const IntLists groups = emitted_groups(w);
  const auto [split, concat, tiled] = AllToAllAttrs(w.attrs);
  const Type out = tiled ? w.type() : w.in_types[0];
  const std::string y = one(w, "stablehlo.all_to_all", w.in[0],
                            group_attributes(w, groups) +
                                ", concat_dimension = " + std::to_string(tiled ? concat : split) +
                                " : i64, split_count = " + std::to_string(members(groups)) +
                                " : i64, split_dimension = " + std::to_string(split) + " : i64",
                            w.in_types[0], out);
  if (tiled || split == concat) return {y};
  Ints permutation;
  for (std::int64_t d = 0; d < out.shape.rank(); ++d)
    if (d != split) permutation.push_back(d);
  permutation.insert(permutation.begin() + concat, split);
  return w.block.define("stablehlo.transpose " + y + ", dims = " + list_text(permutation) + " : (" +
                        type_text(out) + ") -> " + type_text(w.type()));
}

Names permute(Writing& w) {
  const std::vector<std::int64_t> sources = w.op.sources(w.attrs);
  IntLists pairs;
  for (const Ints& row : emitted_groups(w))
    for (std::size_t to = 0; to < sources.size(); ++to)
      if (sources[to] >= 0) pairs.push_back({row[static_cast<std::size_t>(sources[to])], row[to]});
  // A collective_permute has one receiver per sender; further receivers need another one.
  std::string sum;
  while (!pairs.empty() || sum.empty()) {
    IntLists turn, rest;
    for (const Ints& pair : pairs) {
      const bool taken =
          std::any_of(turn.begin(), turn.end(), [&](const Ints& p) { return p[0] == pair[0]; });
      (taken ? rest : turn).push_back(pair);
    }
    const std::string y =
        one(w, "stablehlo.collective_permute", w.in[0],
            channel(w) + ", source_target_pairs = " + rows_text(turn, 2), w.in_types[0], w.type());
    const bool truth = w.type().dtype == DType::boolean;
    sum = sum.empty() ? y
                      : w.block.apply(truth ? "stablehlo.or" : "stablehlo.add", {sum, y}, w.type());
    pairs = std::move(rest);
  }
  return {sum};
}

// The first member of a group sends, so rotate the source to the front.
Names collective_broadcast(Writing& w) {
  IntLists groups = emitted_groups(w);
  const std::int64_t source = BroadcastAttrs(w.attrs).source;
  if (w.block.module.gathered_broadcasts) {
    const Type row = with_dim(w.type(), 0, 1), rows = with_dim(w.type(), 0, members(groups));
    const std::string all =
        one(w, "stablehlo.all_gather", w.block.reshape(w.in[0], w.in_types[0], row),
            "all_gather_dim = 0 : i64, " + group_attributes(w, groups) + ", use_global_device_ids",
            row, rows);
    Ints start(row.shape.size(), 0), limit(row.shape.begin(), row.shape.end());
    const Ints strides(row.shape.size(), 1);
    start[0] = source;
    limit[0] = source + 1;
    const std::string got =
        one(w, "stablehlo.slice", all,
            "start_indices = " + array_text(start) + ", limit_indices = " + array_text(limit) +
                ", strides = " + array_text(strides),
            rows, row);
    return {w.block.reshape(got, row, w.type())};
  }
  for (Ints& g : groups) std::rotate(g.begin(), g.begin() + source, g.begin() + source + 1);
  return {one(w, "stablehlo.collective_broadcast", w.in[0], group_attributes(w, groups),
              w.in_types[0], w.type())};
}

namespace {

// The device's position along the axes, from its number among all devices.
std::string emit_place(Block& block, const Strings& axes) {
  const MeshShape& mesh = *block.mesh;
  const Type id(DType::uint32, {});
  const std::string device = block.define("stablehlo.partition_id : tensor<ui32>")[0];
  std::string sum;
  for (const std::string& axis : axes) {
    std::int64_t below = 1;
    for (std::size_t i = static_cast<std::size_t>(mesh.find(axis)) + 1; i < mesh.sizes.size(); ++i)
      below *= mesh.sizes[i];
    const std::int64_t size = mesh.size_of(axis);
    std::string at = block.apply("stablehlo.divide", {device, block.number(id.dtype, below)}, id);
    at = block.apply("stablehlo.remainder", {at, block.number(id.dtype, size)}, id);
    if (!sum.empty())
      at = block.apply(
          "stablehlo.add",
          {block.apply("stablehlo.multiply", {sum, block.number(id.dtype, size)}, id), at}, id);
    sum = at;
  }
  if (sum.empty()) return block.number(DType::int32, 0);
  return block.define("stablehlo.convert " + sum + " : (tensor<ui32>) -> tensor<i32>")[0];
}

}  // namespace

// Device numbers exist only where all axes are manual, so axes that a region leaves to the
// partitioner are made manual for this computation.
Names axis_index(Writing& w) {
  mesh_of(w);
  const Strings axes = CollectiveAttrs(w.attrs).axes;
  if (w.block.automatic.empty()) return {emit_place(w.block, axes)};
  std::string lines;
  Block inside = w.block.inside(lines);
  inside.automatic.clear();
  const std::string number = emit_place(inside, axes);
  inside.line("sdy.return " + number + " : tensor<i32>");
  const Names out = w.block.define("sdy.manual_computation() in_shardings=[] out_shardings=[<@" +
                                   w.block.module.mesh(*w.block.mesh) + ", []>] manual_axes={" +
                                   joined(all_quoted(w.block.automatic)) + "} () {");
  w.block.raw(lines);
  w.block.line("} : () -> tensor<i32>");
  return out;
}

}  // namespace tessera::inline v0::stablehlo::write
