// The order in which a graph's nodes are asked to let axes go along, until none does.
#pragma once

#include "spmd/propagate/growth_memo.h"
#include "spmd/propagate/state.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::inline v0::spmd {

/// For each priority, for each rung, basic before aggressive: nodes whose values have changed are
/// asked in the order of the program and back again, so that a chain of any length is through in
/// two sweeps.
class Ladder {
 public:
  explicit Ladder(Propagation::State& state);
  /// `hide`: dimensions wait for their priority.
  void climb(bool hide);

 private:
  class Waiting {
   public:
    explicit Waiting(std::size_t nodes) : words_((nodes + 63) / 64) {}
    void add(std::size_t k) { words_[k >> 6] |= std::uint64_t{1} << (k & 63); }
    void remove(std::size_t k) { words_[k >> 6] &= ~(std::uint64_t{1} << (k & 63)); }
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    /// The first one at `from` or behind it, the last one there or before it.
    std::size_t up(std::size_t from) const;
    std::size_t down(std::size_t from) const;

   private:
    std::vector<std::uint64_t> words_;
  };

  void reveal(int priority);
  void rung();
  bool settle(Strategy strategy);
  bool visit(std::size_t k, Strategy strategy);
  void change(std::uint32_t value, DraftTable::Id draft);

  Propagation::State& s_;
  GrowthMemo memo_;
  int rung_ = 1;
  std::array<Waiting, 2> waiting_;  // by strategy
  std::vector<DraftTable::Id> before_;
};

}  // namespace tessera::inline v0::spmd
