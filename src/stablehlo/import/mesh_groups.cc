// Groups of devices that a collective gives by axes of a mesh: the devices that differ only along
// these axes.
#include "stablehlo/import/collectives.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo::rules {

namespace {

constexpr std::int64_t kMostOfMesh = 1 << 16;

struct NamedMesh {
  Strings axes;
  Ints sizes;
  Ints devices;  // by position in the mesh, the last axis fastest
};

const AttributeSyntax& field_of(const Reading& r, const AttributeSyntax& fields,
                                std::string_view name) {
  const AttributeSyntax* found = find(fields.entries, name);
  if (!found) r.refuse("its replica_groups lack the field " + std::string(name));
  return *found;
}

NamedMesh mesh_named(const Reading& r, const AttributeSyntax& mesh) {
  NamedMesh m;
  if (mesh.kind == AttributeSyntax::symbol || mesh.kind == AttributeSyntax::string) {
    const auto known = r.importer.module.meshes.find(mesh.text);
    if (known == r.importer.module.meshes.end())
      r.refuse("there is no mesh @" + std::string(mesh.text) + " in this module");
    m = {known->second.axes, known->second.sizes, known->second.devices};
  } else {
    for (const AttributeSyntax& axis : field_of(r, mesh, "axes").items) {
      m.axes.emplace_back(field_of(r, axis, "name").text);
      m.sizes.push_back(field_of(r, axis, "size").integer_value);
    }
    if (const AttributeSyntax* devices = find(mesh.entries, "device_ids"))
      m.devices = read_integers(r.importer.module, *devices);
  }
  std::int64_t count = 1;
  for (const std::int64_t size : m.sizes) {
    if (size < 1 || size > kMostOfMesh / count)
      r.refuse("its mesh has an axis of size " + std::to_string(size),
               "a mesh has at most " + std::to_string(kMostOfMesh) + " devices");
    count *= size;
  }
  if (m.devices.empty()) {
    m.devices.resize(static_cast<std::size_t>(count));
    std::iota(m.devices.begin(), m.devices.end(), std::int64_t{0});
  }
  if (static_cast<std::int64_t>(m.devices.size()) != count)
    r.refuse("its mesh names " + std::to_string(m.devices.size()) + " devices, and its axes have " +
             std::to_string(count) + " places");
  std::vector<bool> there(m.devices.size());
  for (const std::int64_t d : m.devices) {
    if (d < 0 || d >= count || there[static_cast<std::size_t>(d)])
      r.refuse(
          "its mesh has the device " + std::to_string(d) + " twice, or beyond its places",
          "the devices of a mesh are those from 0 to " + std::to_string(count - 1) + ", each once");
    there[static_cast<std::size_t>(d)] = true;
  }
  return m;
}

// An axis or a sub-axis, as a digit of a position in the mesh.
struct Digit {
  std::int64_t size = 1, stride = 1;
  std::int64_t of(std::int64_t place) const { return place / stride % size; }
};

std::string text_of_part(const Ints& numbers) {
  if (numbers.size() != 2) return "of " + std::to_string(numbers.size()) + " numbers";
  return "(" + std::to_string(numbers[0]) + ")" + std::to_string(numbers[1]);
}

Digit digit_of(const Reading& r, const NamedMesh& m, const AttributeSyntax& axis) {
  const std::string name(field_of(r, axis, "name").text);
  const auto at =
      static_cast<std::size_t>(std::find(m.axes.begin(), m.axes.end(), name) - m.axes.begin());
  if (at == m.axes.size()) r.refuse("its mesh has no axis " + shown(name));
  Digit d{m.sizes[at], 1};
  for (std::size_t i = at + 1; i < m.sizes.size(); ++i) d.stride *= m.sizes[i];
  if (const AttributeSyntax* part = find(axis.entries, "sub_axis_info")) {
    const Ints numbers = part->kind == AttributeSyntax::integers
                             ? part->values.to_vector()
                             : read_integers(r.importer.module, *part);
    if (numbers.size() != 2 || numbers[0] < 1 || numbers[1] < 1 || numbers[0] > d.size ||
        numbers[1] > d.size || d.size % (numbers[0] * numbers[1]))
      r.refuse(
          "its mesh has the axis " + shown(name) + " of size " + std::to_string(d.size) +
              ", and no part " + text_of_part(numbers) + " of it",
          "behind parts that multiply to p stands (p)n, a part of n, and p times n divides the "
          "size of the axis");
    d = {numbers[1], d.stride * (d.size / (numbers[0] * numbers[1]))};
  }
  return d;
}

}  // namespace

IntLists groups_of_mesh(const Reading& r, const AttributeSyntax& groups) {
  const NamedMesh m = mesh_named(r, field_of(r, groups, "mesh"));
  std::vector<Digit> digits;
  std::int64_t members = 1;
  for (const AttributeSyntax& axis : field_of(r, groups, "axes").items) {
    const Digit digit = digit_of(r, m, axis);
    if (digit.size == 1) continue;  // there may be any number of such axes
    digits.push_back(digit);
    members *= digit.size;
    // Check this before groups of that size are built.
    if (members > static_cast<std::int64_t>(m.devices.size()))
      r.refuse("its replica_groups name an axis twice");
  }
  // Maps each position to its group's first position, where all of these digits are zero.
  std::map<std::int64_t, Ints> by_first;
  for (std::int64_t place = 0; place < static_cast<std::int64_t>(m.devices.size()); ++place) {
    std::int64_t first = place, member = 0;
    for (const Digit& d : digits) {
      first -= d.of(place) * d.stride;
      member = member * d.size + d.of(place);
    }
    if (first < 0 || member >= members) r.refuse("its replica_groups name an axis twice");
    Ints& group = by_first.try_emplace(first, static_cast<std::size_t>(members), -1).first->second;
    std::int64_t& device = group[static_cast<std::size_t>(member)];
    if (device >= 0) r.refuse("its replica_groups name an axis twice");
    device = m.devices[static_cast<std::size_t>(place)];
  }
  IntLists out;
  for (auto& [first, group] : by_first) {
    if (std::find(group.begin(), group.end(), -1) != group.end())
      r.refuse("its replica_groups name an axis twice");
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace tessera::inline v0::stablehlo::rules
