// Writes the text of a sharding factor rule:
//
//   ([a,bc],[])->([ab,c]) {a=2,b=2,c=6} need_repl={c}
//
// A list a tensor, an entry a dimension, its factors major to minor; a factor is a letter and maybe
// digits, so entries need no separator. Then the factors' sizes, then the factors that are no plain
// pass-through, by kind: reduction, indexed and prefix carry their combiner ("{k:+}"), and
// permutation, window, need_repl and blocked are bare sets.
#pragma once

#include <tessera/shape.h>

#include <map>
#include <string>
#include <vector>

namespace tessera::inline v0::ops {

class FactorRule {
 public:
  using Dims = std::vector<std::vector<int>>;

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

  /// Kinds: "reduction", "indexed", "prefix" with a combiner ("+", "*", "max", "min", "and", "or");
  /// "permutation", "window", "need_repl", "blocked" without.
  void mark(const std::string& kind, int factor, const std::string& combiner = "");

  std::string str() const;

 private:
  std::vector<std::string> names_;
  std::vector<std::int64_t> sizes_;
  std::vector<Dims> inputs_, outputs_;
  std::vector<std::pair<std::string, std::vector<std::pair<int, std::string>>>> kinds_;
};

/// All results and operands of one shape, dimension by dimension.
std::string pointwise_rule(const Shape& shape, int inputs, int outputs);

}  // namespace tessera::inline v0::ops
