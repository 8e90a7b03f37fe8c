// Describes, as data for the partitioner, how sharding one dimension affects the other tensors.
#pragma once

#include "ir/combiner.h"

#include <tessera/shape.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Every dimension of every operand and result is a product of factors, major to minor. Sharding a
/// factor shards it in all tensors that have it; marks state what else that requires. A factor
/// without marks passes through: each shard of the results needs only the matching shards of the
/// operands.
class FactorRule {
 public:
  enum class Kind {
    reduction,    // partial results are combined over the devices
    indexed,      // positions come from data: a shard looks up its own, then shards are combined
    prefix,       // running total: a shard needs the combined total of the shards before it
    contest,      // each shard offers its best elements, among which the op chooses
    permutation,  // shards change places
    window,       // a shard needs halos from its neighbours
    need_repl,    // it cannot be sharded
    blocked,      // no axes propagate along it, whatever its other marks
  };
  struct Factor {
    std::string name;  // a letter, with a number once the letters are used up
    std::int64_t size = 1;
  };
  struct Mark {
    Kind kind;
    int factor;
    /// How the shards of a reduction, an indexed or a prefix factor are combined. For a contest,
    /// the elements that win: max or min, or replace if the op's local rule itself excludes the
    /// padding at the end of an operand.
    Combiner combiner = Combiner::replace;
  };
  /// The input elements that a shard of the results along a factor needs. The factor has an input
  /// dimension to itself, whose elements are `dilation` apart. The c results from j on need the
  /// input positions [j * stride - low, (j + c - 1) * stride - low + span), counted from the other
  /// end if `mirrored`.
  struct Window {
    int factor = 0;
    std::size_t input = 0;
    std::int64_t extent = 0, results = 0;  // of the input's dimension; along the factor
    std::int64_t stride = 1, low = 0, span = 1, dilation = 1;
    bool mirrored = false;
    /// Whether the op accepts the operand with its dilation holes filled in. That is needed if the
    /// windows of different shards begin at different offsets between two elements.
    bool spreads = false;
    int fill = -1;  // the scalar operand that fills the space around and between elements
  };
  using Dims = std::vector<std::vector<int>>;  // the factors of each dimension

  FactorRule();
  FactorRule(const FactorRule& other);
  FactorRule(FactorRule&& other) noexcept;
  FactorRule& operator=(const FactorRule& other);
  FactorRule& operator=(FactorRule&& other) noexcept;
  ~FactorRule();

  /// Adds a factor, named by the first free letter from `first` on. By convention names start at
  /// 'a' for shared factors, 'p' for private ones and 'u' for those of size one.
  int factor(std::int64_t size, char first = 'a');
  /// Adds one pass-through factor per dimension.
  std::vector<int> factors(const Shape& shape);

  /// Adds the next operand or result, with one factor per dimension; input_dims and output_dims
  /// take several per dimension.
  void input(const std::vector<int>& dims);
  void output(const std::vector<int>& dims);
  void input_dims(Dims dims) { inputs_.push_back(std::move(dims)); }
  void output_dims(Dims dims) { outputs_.push_back(std::move(dims)); }

  void mark(Kind kind, int factor, Combiner combiner = Combiner::replace) {
    marks_.push_back({kind, factor, combiner});
  }

  /// Describes a factor whose shards can be fetched from other devices; one per input that has the
  /// factor.
  void window(Window w) { windows_.push_back(w); }

  const std::vector<Factor>& all() const { return factors_; }
  const std::vector<Dims>& inputs() const { return inputs_; }
  const std::vector<Dims>& outputs() const { return outputs_; }
  const std::vector<Mark>& marks() const { return marks_; }
  const std::vector<Window>& windows() const { return windows_; }

 private:
  std::vector<Factor> factors_;
  std::vector<Dims> inputs_, outputs_;
  std::vector<Mark> marks_;
  std::vector<Window> windows_;
};

/// For people and tests:
///
///     ([a,bc],[])->([ab,c]) {a=2,b=2,c=6} reduction={b:+} need_repl={c}
///
/// Each tensor is a list with one entry per dimension, the concatenation of its factors. Then come
/// the factors' sizes, and the marks by kind with their combiners.
std::string to_string(const FactorRule& rule);

}  // namespace tessera::inline v0
