// Programs for several devices: `run_parallel` becomes a map over a mesh of replicas and partitions,
// and collectives in it those of its axes. Device (r, p) is number r * partitions + p along both.
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::stablehlo::rules {

namespace {

const Strings kAxes = {"replica", "partition"};

const Devices& need_devices(const Reading& r) {
  const std::optional<Devices>& d = r.importer.devices;
  if (!d)
    r.refuse("it is supported inside interpreter.run_parallel only",
             "a loaded function is for one device",
             "export the function without shardings, and map it with pmap or jit's shardings");
  return *d;
}

std::int64_t channel_of(const Reading& r) {
  const AttributeSyntax* a = r.find("channel_handle");
  if (!a) return 0;
  const Ints handle = r.field(*a, "handle");
  return handle.empty() ? 0 : handle[0];
}

// What the numbers of replica_groups are.
enum class Members { replicas, partitions, replicas_of_all_partitions, devices };
Members members_of(const Reading& r, bool reduces) {
  if (channel_of(r) <= 0) return Members::replicas;
  if (r.flag_or("use_global_device_ids", false)) return Members::devices;
  return reduces ? Members::replicas_of_all_partitions : Members::partitions;
}

// The listed numbers as groups of devices: one for each replica or partition that they leave open.
IntLists expanded(const IntLists& listed, Members members, const Devices& d) {
  IntLists out;
  const auto each = [&](std::int64_t n, auto&& device) {
    for (std::int64_t k = 0; k < n; ++k)
      for (const Ints& row : listed) {
        Ints group;
        for (std::int64_t x : row)
          if (x >= 0) group.push_back(device(x, k));
        out.push_back(std::move(group));
      }
  };
  switch (members) {
    case Members::devices: each(1, [](std::int64_t x, std::int64_t) { return x; }); break;
    case Members::replicas:
      each(d.partitions, [&](std::int64_t x, std::int64_t p) { return x * d.partitions + p; });
      break;
    case Members::partitions:
      each(d.replicas, [&](std::int64_t x, std::int64_t r) { return r * d.partitions + x; });
      break;
    case Members::replicas_of_all_partitions:
      for (const Ints& row : listed) {
        Ints group;
        for (std::int64_t p = 0; p < d.partitions; ++p)
          for (std::int64_t x : row)
            if (x >= 0) group.push_back(x * d.partitions + p);
        out.push_back(std::move(group));
      }
  }
  return out;
}

IntLists groups_of(Reading& r, bool reduces) {
  const Devices& d = need_devices(r);
  const AttributeSyntax& a = r.need("replica_groups");
  if (a.kind == AttributeSyntax::other) r.refuse("groups by axes of a mesh are not supported");
  return expanded(read_rows(r.importer.module, a), members_of(r, reduces), d);
}

Values each_operand(Reading& r, const std::function<Value(Value)>& f) {
  Values out;
  for (const Value& x : r.in) out.push_back(f(x));
  return out;
}

// The function on every device of its own level, its arguments and results with a leading dimension
// of one.
RegionProgram per_device(Reading& r, const std::string& function,
                         const std::vector<Type>& arguments) {
  Level level(function, &r.scope.level());
  const Scope scope(level, nullptr, r.importer.module);
  OperationSyntax at;
  at.name = r.op.name;
  at.at = r.op.at;
  const Reading inside(r.importer, scope, at);
  std::vector<Bound> bound;
  for (const Type& t : arguments) {
    Shape block = t.shape;
    block.insert(block.begin(), 1);
    bound.push_back(
        {{ops::reshape(level.builder().input(Type(t.dtype, block)), t.shape)}, nullptr});
  }
  Values out;
  for (const Bound& b : r.importer.call(inside, function, bound))
    for (const Value& v : b.leaves) {
      Shape block = v.shape();
      block.insert(block.begin(), 1);
      out.push_back(ops::reshape(v, block));
    }
  return {level.builder().finish(out), level.captured()};
}

}  // namespace

Values run_parallel(Reading& r) {
  if (r.importer.devices) r.refuse("it stands inside another");
  const AttributeSyntax& programs = r.need("programs");
  Strings names;
  for (const AttributeSyntax& row : programs.items)
    for (const AttributeSyntax& name : row.items) names.push_back(name.text);
  const auto n = names.size();
  const auto replicas = static_cast<std::int64_t>(programs.items.size());
  if (n == 0 || n % programs.items.size())
    r.refuse("its programs are no table of replicas and partitions");
  if (std::count(names.begin(), names.end(), names[0]) != static_cast<std::ptrdiff_t>(n))
    r.refuse("different programs on different devices are not supported");
  if (r.in.size() % n || r.find("infeed")) r.refuse("its operands are not as many for each device");
  const std::size_t each = r.in.size() / n;
  std::vector<Type> arguments;
  Values stacked;
  for (std::size_t k = 0; k < each; ++k) {
    Values blocks;
    for (std::size_t d = 0; d < n; ++d) {
      const Value x = r.in[d * each + k];
      Shape block = x.shape();
      block.insert(block.begin(), 1);
      blocks.push_back(ops::reshape(x, block));
    }
    arguments.emplace_back(r.in[k].dtype(), r.in[k].shape());
    stacked.push_back(ops::concatenate(blocks, 0));
  }
  r.importer.devices = Devices{replicas, static_cast<std::int64_t>(n) / replicas};
  const RegionProgram body = per_device(r, names[0], arguments);
  const Devices devices = *r.importer.devices;
  r.importer.devices.reset();
  DeviceMesh mesh;
  mesh.axes = kAxes;
  mesh.sizes = {devices.replicas, devices.partitions};
  const Spec cut(Spec::Dims{kAxes});
  Specs in(stacked.size(), cut), out(body.program->outputs.size(), cut);
  in.resize(stacked.size() + body.captured.size());
  stacked.insert(stacked.end(), body.captured.begin(), body.captured.end());
  const Values whole = ops::shard_map(r.b, body.program, stacked, MeshRef(mesh), in, out, false);
  Values results;
  for (std::size_t d = 0; d < n; ++d)
    for (const Value& x : whole) {
      const auto i = static_cast<std::int64_t>(d);
      Ints start(static_cast<std::size_t>(x.rank()), 0), limit = x.shape().to_vector(),
                                                         strides(start.size(), 1);
      start[0] = i;
      limit[0] = i + 1;
      results.push_back(ops::reshape(ops::slice(x, start, limit, strides),
                                     Shape(x.shape().begin() + 1, x.shape().end())));
    }
  return results;
}

Values replica_id(Reading& r) {
  return {ops::convert(ops::axis_index(r.b, {kAxes[0]}, need_devices(r).replicas), DType::uint32)};
}
Values partition_id(Reading& r) {
  return {
      ops::convert(ops::axis_index(r.b, {kAxes[1]}, need_devices(r).partitions), DType::uint32)};
}

Values all_reduce(Reading& r) {
  r.need_regions(1);
  struct Row {
    const char* name;
    Value (*reduce)(Value, const Strings&, std::int64_t, const IntLists&);
  };
  static constexpr Row kRows[] = {{"stablehlo.add", ops::psum},
                                  {"stablehlo.maximum", ops::pmax},
                                  {"stablehlo.minimum", ops::pmin}};
  const IntLists groups = groups_of(r, true);
  for (const Row& row : kRows)
    if (applied(r.op.regions[0]) == row.name)
      return each_operand(
          r, [&](Value x) { return row.reduce(x, kAxes, need_devices(r).count(), groups); });
  r.refuse("a reduction by this region is not supported",
           "devices add, or take the greatest or least");
}

Values all_gather(Reading& r) {
  const auto axis = static_cast<int>(r.integer("all_gather_dim"));
  const IntLists groups = groups_of(r, true);
  return each_operand(r, [&](Value x) {
    r.check_dims({axis}, x.rank(), "all_gather_dim");
    return ops::all_gather(x, kAxes, need_devices(r).count(), axis, true, groups);
  });
}

Values reduce_scatter(Reading& r) {
  r.need_operands(1);
  r.need_regions(1);
  if (applied(r.op.regions[0]) != "stablehlo.add")
    r.refuse("a reduction by this region is not supported", "devices add");
  const auto axis = static_cast<int>(r.integer("scatter_dimension"));
  r.check_dims({axis}, r.in[0].rank(), "scatter_dimension");
  return {
      ops::psum_scatter(r.in[0], kAxes, need_devices(r).count(), axis, true, groups_of(r, true))};
}

Values all_to_all(Reading& r) {
  const auto split = static_cast<int>(r.integer("split_dimension")),
             concat = static_cast<int>(r.integer("concat_dimension"));
  const IntLists groups = groups_of(r, false);
  return each_operand(r, [&](Value x) {
    r.check_dims({split}, x.rank(), "split_dimension");
    r.check_dims({concat}, x.rank(), "concat_dimension");
    return ops::all_to_all(x, kAxes, need_devices(r).count(), split, concat, true, groups);
  });
}

Values collective_permute(Reading& r) {
  const Devices& d = need_devices(r);
  const IntLists perm = expanded(r.rows_or("source_target_pairs", {}), members_of(r, false), d);
  return each_operand(r, [&](Value x) { return ops::ppermute(x, kAxes, d.count(), perm); });
}

// The first of each group sends; who is in none gets zeros.
Values collective_broadcast(Reading& r) {
  const std::int64_t n = need_devices(r).count();
  auto senders =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(n) * sizeof(std::int64_t));
  std::vector<std::int64_t> sender(static_cast<std::size_t>(n), -1);
  for (const Ints& group : groups_of(r, false))
    for (std::int64_t d : group) {
      if (d >= n || group[0] < 0) r.refuse("there is no device " + std::to_string(d));
      sender[static_cast<std::size_t>(d)] = group[0];
    }
  std::memcpy(senders->data(), sender.data(), senders->size());
  const Value table = ops::constant(r.b, {DType::int64, Shape{n}, std::move(senders)});
  const Value me = ops::convert(ops::axis_index(r.b, kAxes, n), DType::int64);
  const Value from = ops::reshape(ops::dynamic_slice(table, Values{me}, {1}), Shape{});
  const Value zero = ops::zeros_like(from);
  return each_operand(r, [&](Value x) {
    Values start(static_cast<std::size_t>(x.rank()) + 1, zero);
    start[0] = ops::max(from, zero);
    Ints one = x.shape().to_vector();
    one.insert(one.begin(), 1);
    const Value all = ops::all_gather(x, kAxes, n, 0, false);
    const Value sent = ops::reshape(ops::dynamic_slice(all, start, one), x.shape());
    const Value gets = ops::broadcast_in_dim(ops::ge(from, zero), x.shape(), {});
    return ops::select(gets, sent, ops::zeros_like(x));
  });
}

}  // namespace tessera::inline v0::stablehlo::rules
