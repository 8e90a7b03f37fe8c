// Collectives over devices, expressed by the mesh axes that their groups follow. Device (r, p) has
// the number r * partitions + p.
#include "stablehlo/import/collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tessera::inline v0::stablehlo::rules {

namespace {

std::int64_t channel_of(const Reading& r) {
  const AttributeSyntax* a = r.find("channel_handle");
  if (!a) return 0;
  const Ints handle = r.field(*a, "handle");
  return handle.empty() ? 0 : handle[0];
}

// What the numbers in replica_groups refer to.
enum class Members { replicas, partitions, replicas_of_all_partitions, devices };
Members members_of(const Reading& r, bool reduces) {
  if (channel_of(r) <= 0) return Members::replicas;
  if (r.flag_or("use_global_device_ids", false)) return Members::devices;
  return reduces ? Members::replicas_of_all_partitions : Members::partitions;
}

// Expands the listed numbers to groups of device numbers: one group for each replica or partition
// that they leave unspecified.
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

namespace {

// A module with one replica and one partition is for one device, which communicates with itself.
const Devices& devices_of(const Reading& r) {
  static const auto* const one = new Devices{};
  const auto is_one = [&](std::string_view name) {
    const AttributeSyntax* n = find(r.importer.module.attributes, name);
    return n && n->integer_value == 1;
  };
  const bool alone = is_one("mhlo.num_replicas") && is_one("mhlo.num_partitions");
  return alone && !r.importer.devices ? *one : need_devices(r);
}

// Converts device numbers to positions in the mesh. Numbers that no device has are kept.
IntLists in_mesh(const Devices& d, IntLists devices) {
  std::vector<std::int64_t> places(d.mesh.devices.size());
  for (std::size_t place = 0; place < places.size(); ++place)
    places[static_cast<std::size_t>(d.mesh.devices[place])] = static_cast<std::int64_t>(place);
  for (Ints& list : devices)
    for (std::int64_t& device : list)
      if (device >= 0 && device < static_cast<std::int64_t>(places.size()))
        device = places[static_cast<std::size_t>(device)];
  return devices;
}

void need_manual(const Reading& r, const Strings& axes) {
  const Devices& d = devices_of(r);
  for (const std::string& axis : axes)
    if (std::find(d.manual.begin(), d.manual.end(), axis) == d.manual.end())
      r.refuse("it is along the axis " + shown(axis) + ", which is not manual here",
               "along axes that are not manual the partitioner divides a computation, and only its "
               "collectives go along them");
}

}  // namespace

IntLists device_groups(Reading& r, bool reduces) {
  const AttributeSyntax& a = r.need("replica_groups");
  const Devices& d = devices_of(r);
  const Members members = members_of(r, reduces);
  IntLists listed =
      a.kind == AttributeSyntax::fields ? groups_of_mesh(r, a) : read_rows(r.importer.module, a);
  if (listed.empty()) {  // a single group of everything that the numbers may refer to
    const std::int64_t n = members == Members::devices      ? d.count()
                           : members == Members::partitions ? d.partitions
                                                            : d.replicas;
    listed.emplace_back(static_cast<std::size_t>(n));
    std::iota(listed[0].begin(), listed[0].end(), std::int64_t{0});
  }
  return in_mesh(d, expanded(listed, members, d));
}

Over over_axes(const Reading& r, IntLists groups) {
  const Devices& d = devices_of(r);
  Over over = over_groups(d.mesh, d.manual, std::move(groups));
  if (!over.groups.empty()) need_manual(r, d.mesh.axes);
  need_manual(r, over.axes);
  if (over.axes.empty() && !over.groups.empty())
    r.refuse("its groups have other devices than the one that the module is for");
  return over;
}

Value across(const Reading& r, Value x, const Strings& axes) {
  const Devices& d = devices_of(r);
  return d.typed ? ops::pvary(x, axes) : x;
}

Value gathered(const Reading& r, Value x, const Over& over, int axis, bool tiled) {
  if (over.axes.empty()) {
    if (tiled) return x;
    Shape shape = x.shape();
    shape.insert(shape.begin() + axis, 1);
    return ops::reshape(x, shape);
  }
  const Value own = across(r, x, over.axes);
  if (devices_of(r).typed && over.groups.empty())
    return ops::all_gather_invariant(own, over.axes, over.size, axis, tiled);
  return ops::all_gather(own, over.axes, over.size, axis, tiled, over.groups);
}

Value place_in_mesh(const Reading& r) {
  const Devices& d = need_devices(r);
  need_manual(r, d.mesh.axes);
  return across(r, ops::axis_index(r.b, d.mesh.axes, d.count()), d.mesh.axes);
}

namespace {

Over groups_of(Reading& r, bool reduces) { return over_axes(r, device_groups(r, reduces)); }

Values each_operand(Reading& r, const std::function<Value(Value)>& f) {
  Values out;
  for (const Value& x : r.in) out.push_back(f(x));
  return out;
}

Value scalar_of_zero(Reading& r) {
  return r.scope.level().write({scalar_literal(DType::uint32, std::int64_t{0}), Shape()});
}

// The device's position along these axes.
Value place(Reading& r, AxisRange range) {
  const MeshShape& mesh = need_devices(r).mesh;
  const Strings axes(mesh.axes.begin() + static_cast<std::ptrdiff_t>(range.begin),
                     mesh.axes.begin() + static_cast<std::ptrdiff_t>(range.end));
  if (axes.empty()) return scalar_of_zero(r);
  need_manual(r, axes);
  const Value v =
      ops::convert(across(r, ops::axis_index(r.b, axes, mesh.size_of(axes)), axes), DType::uint32);
  r.scope.level().place(v, range);
  return v;
}

// The device's number, which is its position if the mesh has the devices in order.
Value number_of_partition(Reading& r) {
  const DeviceMesh& mesh = need_devices(r).mesh;
  if (std::is_sorted(mesh.devices.begin(), mesh.devices.end()))
    return place(r, {0, mesh.axes.size()});
  std::vector<std::uint32_t> numbers(mesh.devices.begin(), mesh.devices.end());
  auto bytes = std::make_shared<std::vector<std::byte>>(numbers.size() * sizeof numbers[0]);
  std::memcpy(bytes->data(), numbers.data(), bytes->size());
  const Value table = ops::constant(r.b, {DType::uint32, Shape{mesh.size()}, std::move(bytes)});
  return ops::reshape(ops::dynamic_slice(table, Values{place_in_mesh(r)}, {1}), Shape{});
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
  const Devices& d = devices_of(r);
  if (d.replicas == 1) return {scalar_of_zero(r)};
  if (d.partitions == 1) return {place(r, {0, d.mesh.axes.size()})};
  return {place(r, {0, 1})};
}
Values partition_id(Reading& r) {
  const Devices& d = devices_of(r);
  if (d.partitions == 1) return {scalar_of_zero(r)};
  if (d.replicas == 1) return {number_of_partition(r)};
  return {place(r, {1, 2})};
}

// Divides a device's number, which gives its position along axes.
Values divide(Reading& r) { return {place_after(r, quotient, ops::div)}; }
Values remainder_of(Reading& r) { return {place_after(r, remainder, ops::rem)}; }

Values all_gather(Reading& r) {
  const auto axis = static_cast<int>(r.integer("all_gather_dim"));
  const Over over = groups_of(r, true);
  return each_operand(r, [&](Value x) {
    r.check_dims({axis}, x.rank(), "all_gather_dim");
    return gathered(r, x, over, axis, true);
  });
}

Values all_to_all(Reading& r) {
  const auto split = static_cast<int>(r.integer("split_dimension")),
             concat = static_cast<int>(r.integer("concat_dimension"));
  const Over over = groups_of(r, false);
  return each_operand(r, [&](Value x) {
    r.check_dims({split}, x.rank(), "split_dimension");
    r.check_dims({concat}, x.rank(), "concat_dimension");
    if (over.axes.empty()) return x;
    return ops::all_to_all(across(r, x, over.axes), over.axes, over.size, split, concat, true,
                           over.groups);
  });
}

Values collective_permute(Reading& r) {
  const Devices& d = devices_of(r);
  const std::optional<Moves> moves = over_pairs(
      d.mesh, d.manual,
      in_mesh(d, expanded(r.rows_or("source_target_pairs", {}), members_of(r, false), d)));
  if (!moves)
    r.refuse("its pairs go along axes that are not manual here",
             "along axes that are not manual the partitioner divides a computation");
  need_manual(r, moves->over.axes);
  return each_operand(r, [&](Value x) {
    if (moves->over.axes.empty())  // with one device, it gets what it sends, or zeros
      return moves->pairs == IntLists{{0, 0}} ? x : ops::zeros_like(x);
    return ops::ppermute(across(r, x, moves->over.axes), moves->over.axes, moves->over.size,
                         moves->pairs);
  });
}

}  // namespace tessera::inline v0::stablehlo::rules
