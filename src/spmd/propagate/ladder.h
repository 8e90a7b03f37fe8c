// Schedules the nodes of a graph for propagation until nothing changes.
#pragma once

#include "spmd/propagate/growth_memo.h"
#include "spmd/propagate/state.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::inline v0::spmd {

/// For each priority and each rung, first with the basic and then with the aggressive strategy, it
/// sweeps over the nodes whose values have changed, forwards through the program and then
/// backwards, so that an axis crosses a chain of any length in two sweeps.
class Ladder {
 public:
  explicit Ladder(Propagation::State& state);
  /// `hide`: dimensions stay hidden until propagation reaches their priority.
  void climb(bool hide);

 private:
  class Waiting {
   public:
    explicit Waiting(std::size_t nodes) : words_((nodes + 63) / 64) {}
    void add(std::size_t k) { words_[k >> 6] |= std::uint64_t{1} << (k & 63); }
    void remove(std::size_t k) { words_[k >> 6] &= ~(std::uint64_t{1} << (k & 63)); }
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    /// `up`: the first waiting node at or after `from`. `down`: the last one at or before it.
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
