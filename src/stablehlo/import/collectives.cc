// Collectives of devices: those of the axes of the mesh that their groups are along. Device (r, p) is
// number r * partitions + p.
#include "stablehlo/import/collectives.h"
#include "stablehlo/import/groups.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::stablehlo::rules {

namespace {

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

}  // namespace

const Devices& need_devices(const Reading& r) {
  const std::optional<Devices>& d = r.importer.devices;
  if (!d)
    r.refuse("it stands in no program for each device",
             "devices are those of a sdy.manual_computation, of interpreter.run_parallel, or of a "
             "module with several partitions or replicas",
             "export the function without shardings, and map it with pmap or jit's shardings");
  return *d;
}

IntLists device_groups(Reading& r, bool reduces) {
  const AttributeSyntax& a = r.need("replica_groups");
  const Devices& d = need_devices(r);
  const Members members = members_of(r, reduces);
  IntLists listed =
      a.kind == AttributeSyntax::fields ? groups_of_mesh(r, a) : read_rows(r.importer.module, a);
  if (listed.empty()) {  // one of all that the numbers may name
    const std::int64_t n = members == Members::devices      ? d.count()
                           : members == Members::partitions ? d.partitions
                                                            : d.replicas;
    listed.emplace_back(static_cast<std::size_t>(n));
    std::iota(listed[0].begin(), listed[0].end(), std::int64_t{0});
  }
  return expanded(listed, members, d);
}

namespace {

Over groups_of(Reading& r, bool reduces) {
  return over_groups(need_devices(r).mesh, device_groups(r, reduces));
}

Values each_operand(Reading& r, const std::function<Value(Value)>& f) {
  Values out;
  for (const Value& x : r.in) out.push_back(f(x));
  return out;
}

Value scalar_of_zero(Reading& r) {
  return r.scope.level().write({scalar_literal(DType::uint32, std::int64_t{0}), Shape()});
}

// The device's number along these axes.
Value place(Reading& r, AxisRange range) {
  const MeshShape& mesh = need_devices(r).mesh;
  const Strings axes(mesh.axes.begin() + static_cast<std::ptrdiff_t>(range.begin),
                     mesh.axes.begin() + static_cast<std::ptrdiff_t>(range.end));
  if (axes.empty()) return scalar_of_zero(r);
  const Value v = ops::convert(ops::axis_index(r.b, axes, mesh.size_of(axes)), DType::uint32);
  r.scope.level().place(v, range);
  return v;
}

template <class Part>
Value place_after(Reading& r, Part part, Value (*otherwise)(Value, Value)) {
  r.need_operands(2);
  const AxisRange* range = r.scope.level().place_of(r.in[0]);
  const std::optional<Ints> by = range ? r.known_integers(r.in[1]) : std::nullopt;
  if (by && by->size() == 1 && r.importer.devices)
    if (const auto rest = part(r.importer.devices->mesh, *range, (*by)[0])) return place(r, *rest);
  return otherwise(r.in[0], r.in[1]);
}

}  // namespace

Values replica_id(Reading& r) {
  const Devices& d = need_devices(r);
  if (d.replicas == 1) return {scalar_of_zero(r)};
  if (d.partitions == 1) return {place(r, {0, d.mesh.axes.size()})};
  return {place(r, {0, 1})};
}
Values partition_id(Reading& r) {
  const Devices& d = need_devices(r);
  if (d.partitions == 1) return {scalar_of_zero(r)};
  if (d.replicas == 1) return {place(r, {0, d.mesh.axes.size()})};
  return {place(r, {1, 2})};
}

// Of a device's number, its place along axes.
Values divide(Reading& r) { return {place_after(r, quotient, ops::div)}; }
Values remainder_of(Reading& r) { return {place_after(r, remainder, ops::rem)}; }

Values all_gather(Reading& r) {
  const auto axis = static_cast<int>(r.integer("all_gather_dim"));
  const Over over = groups_of(r, true);
  return each_operand(r, [&](Value x) {
    r.check_dims({axis}, x.rank(), "all_gather_dim");
    return ops::all_gather(x, over.axes, over.size, axis, true, over.groups);
  });
}

Values all_to_all(Reading& r) {
  const auto split = static_cast<int>(r.integer("split_dimension")),
             concat = static_cast<int>(r.integer("concat_dimension"));
  const Over over = groups_of(r, false);
  return each_operand(r, [&](Value x) {
    r.check_dims({split}, x.rank(), "split_dimension");
    r.check_dims({concat}, x.rank(), "concat_dimension");
    return ops::all_to_all(x, over.axes, over.size, split, concat, true, over.groups);
  });
}

Values collective_permute(Reading& r) {
  const Devices& d = need_devices(r);
  const Moves moves =
      over_pairs(d.mesh, expanded(r.rows_or("source_target_pairs", {}), members_of(r, false), d));
  return each_operand(
      r, [&](Value x) { return ops::ppermute(x, moves.over.axes, moves.over.size, moves.pairs); });
}

}  // namespace tessera::inline v0::stablehlo::rules
