// How sharding a dimension of one operand relates to the others, as data that a partitioner reads.
#pragma once

#include "ir/combiner.h"

#include <tessera/shape.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Every dimension of every operand and result is a product of factors, major to minor. A factor
/// that appears in several tensors cuts them alike; what else it does where it is cut, its marks
/// say. One without marks passes through: each part of the results needs its part of the operands
/// alone.
class FactorRule {
 public:
  enum class Kind {
    reduction,    // partial results are combined over the devices
    indexed,      // positions come from data: a part finds its own and combines
    prefix,       // running: a part needs the combined total of those before it
    contest,      // parts offer their best elements, of which the op chooses
    permutation,  // parts change places
    window,       // a part needs neighbours' edges
    need_repl,    // it cannot be cut
    blocked,      // axes do not go along it, whatever else it is
  };
  struct Factor {
    std::string name;  // a letter, and digits where there are more than letters
    std::int64_t size = 1;
  };
  struct Mark {
    Kind kind;
    int factor;
    /// How a reduction, an indexed or a prefix factor combines its parts. For a contest it says which
    /// elements win, max or min; it is replace if the op's local rule itself leaves out what lies
    /// behind the end of an operand.
    Combiner combiner = Combiner::replace;
  };
  /// What a part of the results along a factor is made of: of the input's dimension that has the
  /// factor alone, whose elements lie `dilation` apart, results from j on, c of them, need those in
  /// [j * stride - low, (j + c - 1) * stride - low + span); where it is mirrored, counted from the
  /// other end.
  struct Window {
    int factor = 0;
    std::size_t input = 0;
    std::int64_t extent = 0, results = 0;  // of the input's dimension; along the factor
    std::int64_t stride = 1, low = 0, span = 1, dilation = 1;
    bool mirrored = false;
    /// Whether the op may have the operand with its holes filled in, where the parts' windows do not
    /// all begin at the same place between two elements.
    bool spreads = false;
    int fill = -1;  // the operand, a scalar, that lies around the elements and between them
  };
  using Dims = std::vector<std::vector<int>>;  // by dimension, its factors

  /// A new factor, named by the first free letter from `first` on: by custom 'a' for shared
  /// factors, 'p' for private ones and 'u' for those of size one.
  int factor(std::int64_t size, char first = 'a');
  /// One pass-through factor a dimension.
  std::vector<int> factors(const Shape& shape);

  /// The next operand or result, with one factor a dimension or with several.
  void input(const std::vector<int>& dims);
  void output(const std::vector<int>& dims);
  void input_dims(Dims dims) { inputs_.push_back(std::move(dims)); }
  void output_dims(Dims dims) { outputs_.push_back(std::move(dims)); }

  void mark(Kind kind, int factor, Combiner combiner = Combiner::replace) {
    marks_.push_back({kind, factor, combiner});
  }

  /// Of a factor whose parts can be fetched from where they lie; one an input that has it.
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
/// A list a tensor, an entry a dimension, its factors one after the other; then the factors' sizes,
/// then the marks by kind, with their combiners.
std::string to_string(const FactorRule& rule);

}  // namespace tessera::inline v0
