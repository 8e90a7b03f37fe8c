// For each dimension of a value the mesh axes that cut it, major first.
#pragma once

#include "base/interned.h"
#include "ir/type.h"

#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Interned, and immutable: another spec is made from other dimensions.
class Spec {
 public:
  using Axes = std::vector<std::string>;
  using Dims = std::vector<Axes>;

  Spec() = default;  // replicated
  /// Trailing dimensions that nothing cuts may be there or not: the spec is the same.
  explicit Spec(Dims dims);
  /// Dimension `d` cut over one axis, the others by nothing.
  static Spec cut(int d, std::string axis);

  /// Trailing dimensions that nothing cuts are absent.
  const Dims& dims() const { return cuts_->dims; }
  bool replicated() const { return dims().empty(); }
  AxisSet axes() const;
  /// Axes that cut dimension `d`; none past the end.
  const Axes& axes_of(int d) const;

  std::size_t hash() const { return cuts_.hash(); }
  friend bool operator==(const Spec&, const Spec&) = default;
  /// By their axes, dimension by dimension.
  friend bool operator<(const Spec& a, const Spec& b) { return a.dims() < b.dims(); }

  /// What is interned.
  struct Cuts {
    Dims dims;
    bool operator==(const Cuts&) const = default;
    friend std::size_t hash_of(const Cuts& cuts);
  };

 private:
  Interned<Cuts> cuts_;
};

/// As the user writes it: "P()", "P('x')", "P(none, ('x', 'y'))".
std::string to_string(const Spec& spec);

}  // namespace tessera::inline v0
