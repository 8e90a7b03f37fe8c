// The mapped axes around a node, and their members: one for each combination of coordinates.
#pragma once

#include "program.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace devices {

class Scope {
 public:
  struct Axis {
    std::string name;
    std::int64_t size;
  };
  std::size_t members() const {
    std::size_t n = 1;
    for (const Axis& a : axes_) n *= static_cast<std::size_t>(a.size);
    return n;
  }

  // A member's position along these axes, and the member at another position along them with the
  // same other coordinates.
  std::int64_t place(std::size_t member, const std::vector<std::string>& names) const {
    std::int64_t place = 0;
    for (const std::string& name : names) {
      const std::size_t a = axis(name);
      place = place * axes_[a].size + at(member, a);
    }
    return place;
  }
  std::size_t peer(std::size_t member, const std::vector<std::string>& names,
                   std::int64_t place) const {
    for (std::size_t k = names.size(); k-- > 0;) {
      const std::size_t a = axis(names[k]);
      std::int64_t stride = 1;
      for (std::size_t i = a + 1; i < axes_.size(); ++i) stride *= axes_[i].size;
      member = static_cast<std::size_t>(static_cast<std::int64_t>(member) +
                                        (place % axes_[a].size - at(member, a)) * stride);
      place /= axes_[a].size;
    }
    return member;
  }
  std::size_t axis(const std::string& name) const {
    for (std::size_t a = axes_.size(); a-- > 0;)
      if (axes_[a].name == name) return a;
    throw std::logic_error("no axis " + name);
  }
  std::int64_t at(std::size_t member, std::size_t a) const {
    auto m = static_cast<std::int64_t>(member);
    for (std::size_t i = axes_.size(); --i > a;) m /= axes_[i].size;
    return m % axes_[a].size;
  }
  // The members of the same group, including this one, in order.
  std::vector<std::size_t> group(const Node& n, std::size_t member) const {
    std::int64_t size = 1;
    for (const std::string& name : n.names) size *= axes_[axis(name)].size;
    std::vector<std::int64_t> places;
    const std::int64_t own = place(member, n.names);
    if (n.groups.empty())
      for (std::int64_t p = 0; p < size; ++p) places.push_back(p);
    for (const auto& g : n.groups)
      if (std::find(g.begin(), g.end(), own) != g.end()) places = g;
    std::vector<std::size_t> peers;
    for (std::int64_t p : places) peers.push_back(peer(member, n.names, p));
    return peers;
  }

  void enter(std::string name, std::int64_t size) { axes_.push_back({std::move(name), size}); }
  void leave() { axes_.pop_back(); }
  std::ptrdiff_t innermost() const { return std::ssize(axes_) - 1; }
  const std::string& name(std::ptrdiff_t a) const {
    return axes_[static_cast<std::size_t>(a)].name;
  }

 private:
  std::vector<Axis> axes_;
};

}  // namespace devices
