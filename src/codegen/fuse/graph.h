// The program as fusion sees it: producers and users of each variable, and the groups formed so
// far. Private to fusion.
#pragma once

#include "codegen/fuse/fuse.h"
#include "codegen/fuse/traits.h"
#include "codegen/kernel/reading.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::inline v0::codegen {

inline constexpr int kNone = -1;
inline constexpr std::size_t kNoEquation = std::numeric_limits<std::size_t>::max();

// Equations that become one kernel. Every group has a level above those of the groups it reads.
// Groups of equal level are independent, so joining them cannot create a cycle.
struct Group {
  std::vector<std::size_t> equations;
  // Iteration space of the widest members, without dimensions of size 1.
  std::vector<std::int64_t> space;
  int rows = kNone;  // members may also have the shape of the first `rows` dimensions of the space
  int level = 0;
  int readers = std::numeric_limits<int>::max();  // lowest level of the groups that read this one
  int exec_class = 0;
  bool reduces = false, columns = false, window = false, expensive = false, kernel = true,
       gone = false;
};

struct Source {
  Var var;
  Reading reading;
  bool reshaped;
};

struct FuseGraph {
  FuseGraph(const Program& p, const std::vector<int>& exec_class, const Overwriting& overwriting);

  bool is_view(std::size_t k) const;
  /// Whether equation `k` is repeated in the kernels that read it instead of being executed once.
  bool floats(std::size_t k) const { return roles[k] == FuseRole::free && !materialized[k]; }
  int group_of_var(Var v) const;
  /// The groups, other than those of floating equations, that must run before equation `k` although
  /// it does not read them.
  std::vector<int> groups_before(std::size_t k) const;
  /// Collects the variables from which `v` is computed through floating equations.
  void sources(Var v, Reading reading, bool reshaped, std::vector<Source>& out) const;
  /// The sources of all inputs of equation `k`.
  std::vector<Source> sources_of(std::size_t k) const;
  /// Whether `v` is used outside group `g` and equation `e`.
  bool escapes(Var v, int g, std::size_t e) const;

  const Program& program;
  const std::vector<int>& exec_class;
  const Overwriting& overwriting;
  std::vector<FuseRole> roles;                  // by equation
  std::vector<int> producer;                    // by variable; kNone for an input
  std::vector<std::vector<std::size_t>> users;  // by variable
  std::vector<bool> is_output;                  // by variable
  std::vector<bool>
      materialized;  // by equation: a free equation whose result is needed outside kernels
  std::vector<Group> groups;
  std::vector<int> group_of;  // by equation
};

/// The groups as clusters, in program order where dependencies allow.
std::vector<Cluster> clusters_of(const FuseGraph& graph);

}  // namespace tessera::inline v0::codegen
