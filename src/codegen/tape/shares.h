// The instances of a value that the devices of each process hold.
#pragma once

#include "base/message.h"
#include "codegen/tape/context.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace tessera::inline v0::tape {

inline Mask mask_of(const Region& r) {
  Mask m = 0;
  for (int a : r.axes) m |= Mask{1} << a;
  return m;
}

/// For each process, the instances of `mask` that its devices hold, ascending.
using Shares = std::vector<std::vector<std::int64_t>>;

/// For a tape that runs with fixed coordinates along some axes, only the processes that run it
/// together with this one count.
class Processes {
 public:
  Processes(const TapeContext& ctx, Mask fixed)
      : ctx_(ctx), all_(ctx.options.together), fixed_(fixed) {}

  const Shares& shares(Mask mask) {
    const auto known = shares_.find(mask);
    if (known != shares_.end()) return known->second;
    return shares_.emplace(mask, find(mask)).first->second;
  }
  /// Whether every process of the program holds all instances.
  bool everywhere(Mask mask) {
    const std::int64_t n = ctx_.instances(mask);
    const Shares& s = shares(mask);
    return std::all_of(s.begin(), s.end(),
                       [n](const auto& own) { return own.empty() || std::ssize(own) == n; });
  }
  /// `ways` are the axes that select a branch. Returns whether all branches that one process takes
  /// are run by the same processes, each with the same devices in all of them.
  bool go_together(Mask ways, Mask inner) const {
    std::map<std::int64_t, std::set<std::pair<int, std::int64_t>>> taken;  // by branch
    std::map<int, std::set<std::int64_t>> own;                             // branches by process
    for (const Region& r : ctx_.regions) {
      if ((ways | inner) & ~mask_of(r)) continue;
      for (std::size_t p = 0; p < r.mesh->devices.size(); ++p) {
        const std::int64_t way = instance(r, p, ways);
        taken[way].emplace(process(r, p), instance(r, p, inner));
        own[process(r, p)].insert(way);
      }
      break;
    }
    return std::all_of(own.begin(), own.end(), [&](const auto& entry) {
      return std::all_of(entry.second.begin(), entry.second.end(), [&](std::int64_t way) {
        return taken[way] == taken[*entry.second.begin()];
      });
    });
  }
  /// For each instance that this process holds, the number of its devices that share it.
  const std::vector<std::int64_t>& devices_of(Mask mask) {
    const auto [at, fresh] = devices_.try_emplace(mask);
    if (fresh) at->second = count_devices(mask);
    return at->second;
  }
  /// A multiple of the number of this process's devices on every mesh, so that each share of a mesh
  /// is a whole number of devices.
  double devices() {
    std::set<Mask> meshes;
    double product = 1;
    for (const Region& r : ctx_.regions) {
      if (!meshes.insert(mask_of(r)).second) continue;
      const std::vector<std::int64_t>& own = devices_of(mask_of(r));
      product *= static_cast<double>(std::accumulate(own.begin(), own.end(), std::int64_t{0}));
    }
    return product;
  }
  std::size_t rank() const { return static_cast<std::size_t>(all_.rank); }
  std::size_t count() const { return static_cast<std::size_t>(all_.count); }

 private:
  int process(const Region& r, std::size_t position) const {
    return static_cast<int>(r.mesh->devices[position] / all_.devices);
  }
  std::int64_t instance(const Region& r, std::size_t position, Mask mask) const {
    std::vector<std::int64_t> at(ctx_.axes.size());
    auto rest = static_cast<std::int64_t>(position);
    for (std::size_t a = r.axes.size(); a-- > 0;) {
      at[static_cast<std::size_t>(r.axes[a])] = rest % r.mesh->sizes[a];
      rest /= r.mesh->sizes[a];
    }
    std::int64_t number = 0;
    for (std::size_t a = 0; a < ctx_.axes.size(); ++a)
      if (mask >> a & 1) number = number * ctx_.axes[a].size + at[a];
    return number;
  }
  std::vector<std::int64_t> count_devices(Mask mask) const {
    std::map<std::int64_t, std::int64_t> devices;
    for (const Region& r : ctx_.regions) {
      if (mask & ~mask_of(r)) continue;
      for (std::size_t p = 0; p < r.mesh->devices.size(); ++p)
        if (process(r, p) == all_.rank) ++devices[instance(r, p, mask)];
      break;
    }
    std::vector<std::int64_t> counts;
    for (const auto& [_, count] : devices) counts.push_back(count);
    return counts;
  }
  Shares find(Mask mask) const {
    std::vector<std::set<std::int64_t>> own(count());
    bool found = false;
    for (const Region& r : ctx_.regions) {
      if (mask & ~mask_of(r)) continue;
      found = true;
      const Mask ways = fixed_ & mask_of(r);
      std::set<std::int64_t> here;  // branches that this process takes
      for (std::size_t p = 0; p < r.mesh->devices.size(); ++p)
        if (process(r, p) == all_.rank) here.insert(instance(r, p, ways));
      for (std::size_t p = 0; p < r.mesh->devices.size(); ++p)
        if (here.empty() || here.contains(instance(r, p, ways)))
          own[static_cast<std::size_t>(process(r, p))].insert(instance(r, p, mask));
      if (mask != 0) break;  // meshes that share an axis have the same devices
    }
    if (!found) throw InternalError("a value differs along axes of two meshes");
    Shares shares;
    for (const auto& s : own) shares.emplace_back(s.begin(), s.end());
    return shares;
  }

  const TapeContext& ctx_;
  const Together& all_;
  const Mask fixed_;
  std::map<Mask, Shares> shares_;
  std::map<Mask, std::vector<std::int64_t>> devices_;
};

}  // namespace tessera::inline v0::tape
