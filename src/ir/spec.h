// A partition spec: for each dimension of a value, the mesh axes that shard it, major first.
#pragma once

#include "base/interned.h"
#include "ir/type.h"

#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Interned and immutable; to change a spec, construct another from its dimensions.
class Spec {
 public:
  using Axes = std::vector<std::string>;
  using Dims = std::vector<Axes>;

  Spec() = default;  // replicated
  /// Trailing unsharded dimensions may be given or omitted: the spec is the same.
  explicit Spec(Dims dims);
  /// Shards dimension `d` over one axis and no other dimension.
  static Spec cut(int d, std::string axis);

  /// Trailing unsharded dimensions are omitted.
  const Dims& dims() const { return cuts_->dims; }
  bool replicated() const { return dims().empty(); }
  AxisSet axes() const;
  /// The axes that shard dimension `d`; empty past the end.
  const Axes& axes_of(int d) const;

  std::size_t hash() const { return cuts_.hash(); }
  friend bool operator==(const Spec&, const Spec&) = default;
  /// Lexicographic by the dimensions' axes.
  friend bool operator<(const Spec& a, const Spec& b) { return a.dims() < b.dims(); }

  /// The interned value.
  struct Cuts {
    Dims dims;
    bool operator==(const Cuts&) const = default;
    friend std::size_t hash_of(const Cuts& cuts);
  };

 private:
  Interned<Cuts> cuts_;
};

/// The spec as the user writes it: "P()", "P('x')", "P(none, ('x', 'y'))".
std::string to_string(const Spec& spec);

}  // namespace tessera::inline v0
