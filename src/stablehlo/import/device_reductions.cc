// Reductions over devices. If the region is one of our collectives, it becomes that; otherwise it
// is applied to the values of the group's devices, first to last.
#include "stablehlo/import/collectives.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tessera::inline v0::stablehlo::rules {

namespace {

enum class Exchanged { sum, greatest, least };

// The collective that computes the region; nothing if the region or the dtype needs more.
std::optional<Exchanged> exchanged(std::string_view region, DType dtype) {
  if (dtype == DType::boolean) {
    if (region == "stablehlo.add" || region == "stablehlo.or" || region == "stablehlo.maximum")
      return Exchanged::greatest;
    if (region == "stablehlo.multiply" || region == "stablehlo.and" ||
        region == "stablehlo.minimum")
      return Exchanged::least;
    return std::nullopt;
  }
  if (region == "stablehlo.add") return Exchanged::sum;
  if (is_complex(dtype)) return std::nullopt;  // no collective orders complex numbers
  if (region == "stablehlo.maximum") return Exchanged::greatest;
  if (region == "stablehlo.minimum") return Exchanged::least;
  return std::nullopt;
}

// The groups, and a group of one for each device that is in none.
IntLists with_all(IntLists groups, std::int64_t devices) {
  std::vector<bool> there(static_cast<std::size_t>(devices));
  for (const Ints& group : groups)
    for (const std::int64_t d : group)
      if (d >= 0 && d < devices) there[static_cast<std::size_t>(d)] = true;
  for (std::int64_t d = 0; d < devices; ++d)
    if (!there[static_cast<std::size_t>(d)]) groups.push_back({d});
  return groups;
}

// The operands in the dtype that the region computes in, the groups and, if no collective computes
// it, the region as a program of two scalars.
struct OverDevices {
  explicit OverDevices(Reading& r, bool partial = false)
      : over(over_axes(r, partial ? with_all(device_groups(r, true), need_devices(r).count())
                                  : device_groups(r, true))) {
    r.need_regions(1);
    const RegionSyntax& region = r.op.regions[0];
    if (region.arguments.size() != 2 || r.in.empty())
      r.refuse("it takes arrays, and a region with two arguments");
    const Type scalar = r.importer.type(region.arguments[0].type);
    if (scalar.shape.rank() != 0 || r.importer.type(region.arguments[1].type) != scalar)
      r.refuse("its region does not take a pair of scalars");
    for (Value& x : r.in)
      if (x.dtype() != scalar.dtype) x = ops::convert(x, scalar.dtype);
    how = exchanged(applied(region), scalar.dtype);
    if (how) return;
    by = r.importer.closed_region(r, region);
    if (by->output_types() != std::vector<Type>{scalar})
      r.refuse("its region does not give a scalar of " + std::string(name_of(scalar.dtype)));
  }

  std::int64_t members() const {
    return over.groups.empty() ? over.size : static_cast<std::int64_t>(over.groups[0].size());
  }
  bool equal() const {
    return std::all_of(over.groups.begin(), over.groups.end(),
                       [&](const Ints& g) { return g.size() == over.groups[0].size(); });
  }

  Over over;
  std::optional<Exchanged> how;
  ProgramPtr by;
};

// Combines the rows of x one after the other; only those that are `there`, which include the first.
Value rows_combined(const Program& by, Value x, std::optional<Value> there = std::nullopt) {
  const std::int64_t n = x.shape()[0];
  const Shape shape(x.shape().begin() + 1, x.shape().end());
  const auto rows = [&](std::int64_t from, std::int64_t to) {
    Ints start(static_cast<std::size_t>(x.rank()), 0), limit = x.shape().to_vector(),
                                                       strides(start.size(), 1);
    start[0] = from;
    limit[0] = to;
    return ops::slice(x, start, limit, strides);
  };
  const Value first = ops::reshape(rows(0, 1), shape);
  if (n == 1) return first;
  Builder step;
  const Type row(x.dtype(), shape);
  const Value so_far = step.input(row), next = step.input(row);
  Values carried = elementwise(step, by, {so_far, next}, shape), each{rows(1, n)};
  if (there) {
    const Value is = ops::broadcast_in_dim(step.input(Type(DType::boolean, {})), shape, {});
    carried[0] = ops::select(is, carried[0], so_far);
    each.push_back(ops::slice(*there, {1}, {n}, {1}));
  }
  return ops::scan(step.finish(carried), {}, Values{first}, each, n - 1, false, *x.builder)[0];
}

// Types tell whether a value is equal along whole axes, but not within groups of their devices.
Value summed(const Reading& r, Value x, const Over& o) {
  if (r.importer.devices->typed && o.groups.empty()) return ops::psum_invariant(x, o.axes);
  return ops::psum(x, o.axes, o.size, o.groups);
}

}  // namespace

Values reduced_over_devices(Reading& r, bool partial) {
  const OverDevices d(r, partial);
  const Over& o = d.over;
  Values out;
  if (!d.how && !d.equal()) {
    const Peers peers(r, d.over.groups);
    for (const Value& x : r.in) {
      const Peers::Rows rows = peers.rows(x);
      out.push_back(rows_combined(*d.by, rows.values, rows.there));
    }
    return out;
  }
  for (const Value& x : r.in) {
    const Value own = across(r, x, o.axes);
    if (o.axes.empty())
      out.push_back(x);
    else if (d.how == Exchanged::sum)
      out.push_back(summed(r, own, o));
    else if (d.how == Exchanged::greatest)
      out.push_back(ops::pmax(own, o.axes, o.size, o.groups));
    else if (d.how == Exchanged::least)
      out.push_back(ops::pmin(own, o.axes, o.size, o.groups));
    else
      out.push_back(rows_combined(*d.by, gathered(r, x, o, 0, false)));
  }
  return out;
}

Values all_reduce(Reading& r) { return reduced_over_devices(r, false); }

// Each device gets its slice of the dimension. If the region is not a sum, the device combines the
// slices that the others send.
Values reduce_scatter(Reading& r) {
  r.need_operands(1);
  const OverDevices d(r);
  const Over& o = d.over;
  const Value x = r.in[0];
  const auto axis = static_cast<int>(r.integer("scatter_dimension"));
  r.check_dims({axis}, x.rank(), "scatter_dimension");
  if (o.axes.empty()) return {x};
  if (d.how == Exchanged::sum)
    return {ops::psum_scatter(across(r, x, o.axes), o.axes, o.size, axis, true, o.groups)};
  const std::int64_t n = d.members(), extent = x.shape()[axis];
  if (n == 0 || extent % n)
    r.refuse("dimension " + std::to_string(axis) + " of " + to_string(x.type()) +
                 " does not divide over " + std::to_string(n) + " devices",
             "its extent is a multiple of the devices of a group");
  Ints parts = x.shape().to_vector();
  parts[static_cast<std::size_t>(axis)] = extent / n;
  parts.insert(parts.begin() + axis, n);
  const Value slabs = ops::reshape(x, Shape(parts.begin(), parts.end()));
  const Value rows =
      ops::all_to_all(across(r, slabs, o.axes), o.axes, o.size, axis, 0, false, o.groups);
  if (!d.how) return {rows_combined(*d.by, rows)};
  const bool boolean = x.dtype() == DType::boolean;
  if (*d.how == Exchanged::greatest)
    return {boolean ? ops::reduce_or(rows, {0}) : ops::reduce_max(rows, {0})};
  return {boolean ? ops::reduce_and(rows, {0}) : ops::reduce_min(rows, {0})};
}

}  // namespace tessera::inline v0::stablehlo::rules
