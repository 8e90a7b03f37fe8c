#include "platforms/axes_inside.h"

#include <algorithm>
#include <iterator>

namespace tessera::inline v0::platforms {

namespace {

std::set<std::int64_t> borders_of(const MeshShape& shape) {
  std::set<std::int64_t> borders{1};
  std::int64_t positions = 1;
  for (const std::int64_t size : shape.sizes) borders.insert(positions *= size);
  return borders;
}

bool each_divides_the_next(const std::set<std::int64_t>& borders) {
  for (auto it = borders.begin(), next = std::next(it); next != borders.end(); it = next++)
    if (*next % *it != 0) return false;
  return true;
}

}  // namespace

AxesInside::AxesInside(const std::vector<MeshShape>& shapes, const MeshShape& around)
    : is_one_(shapes.size() == 1) {
  bool has_single = false;
  for (const MeshShape& shape : shapes) {
    has_single =
        has_single || std::find(shape.sizes.begin(), shape.sizes.end(), 1) != shape.sizes.end();
    const std::set<std::int64_t> own = borders_of(shape);
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      std::set<std::int64_t> both = g.borders;
      both.insert(own.begin(), own.end());
      return each_divides_the_next(both);
    });
    if (group == groups_.end()) group = groups_.insert(group, Group{});
    group->borders.insert(own.begin(), own.end());
    group->shapes.push_back(shape);
  }
  if (is_one_) {
    all_ = shapes[0];
    return;
  }
  int number = 0;
  const auto add = [&](std::int64_t size) {
    std::string name;
    do name = "inside" + std::to_string(number++);
    while (around.find(name) >= 0);
    all_.axes.push_back(name);
    all_.sizes.push_back(size);
    return name;
  };
  for (Group& g : groups_)
    for (auto it = g.borders.begin(), next = std::next(it); next != g.borders.end(); it = next++)
      g.axes.push_back(add(*next / *it));
  if (has_single) single_ = add(1);
}

std::vector<std::string> AxesInside::parts_of(const MeshShape& shape,
                                              const std::string& axis) const {
  if (is_one_) return {axis};
  const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
    return std::find(g.shapes.begin(), g.shapes.end(), shape) != g.shapes.end();
  });
  std::int64_t begin = 1;
  const auto at = static_cast<std::size_t>(shape.find(axis));
  for (std::size_t i = 0; i < at; ++i) begin *= shape.sizes[i];
  const std::int64_t end = begin * shape.sizes[at];
  if (begin == end) return {single_};
  std::vector<std::string> parts;
  std::size_t k = 0;
  for (auto it = group->borders.begin(), next = std::next(it); next != group->borders.end();
       it = next++, ++k)
    if (begin <= *it && *next <= end) parts.push_back(group->axes[k]);
  return parts;
}

}  // namespace tessera::inline v0::platforms
