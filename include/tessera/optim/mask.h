// Masks select the parameters that a transformation applies to.
#pragma once

#include <tessera/array.h>
#include <tessera/tree.h>
#include <functional>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0::optim {

/// The leaves of a tree in order, including empty ones.
using Leaves = std::vector<Array>;

/// Selects leaves, by a list with one entry per leaf or by a predicate on each leaf.
class Mask {
 public:
  Mask(std::vector<bool> leaves) : leaves_(std::move(leaves)) {}
  template <class F>
  requires(std::is_invocable_r_v<bool, F&, const Array&>) Mask(F of_parameter)
      : of_parameter_(std::move(of_parameter)) {}
  /// Returns one entry per leaf. Throws TreeError if a list has another number of entries.
  TESSERA_API std::vector<bool> of(const Leaves& params) const;

 private:
  std::vector<bool> leaves_;
  std::function<bool(const Array&)> of_parameter_;
};
/// Makes a mask from a predicate on paths and leaves: mask_by_path(params, [](const std::string&
/// path, const Array& p) { return p.ndim() > 1; }).
template <class Params, class F>
std::vector<bool> mask_by_path(const Params& params, F&& f) {
  const std::vector<std::string> paths = tree::paths(params);
  const Leaves leaves = tree::leaves(params);
  std::vector<bool> out;
  for (std::size_t i = 0; i < leaves.size(); ++i) out.push_back(f(paths[i], leaves[i]));
  return out;
}
/// Makes a mask from a tree like the parameters with a boolean scalar for each leaf:
/// mask_of(Params{true, false, true}). Empty leaves are not selected.
template <class Tree>
std::vector<bool> mask_of(const Tree& booleans) {
  std::vector<bool> out;
  for (const Array& leaf : tree::leaves(booleans))
    out.push_back(!leaf.is_empty() && leaf.item<bool>());
  return out;
}

}  // namespace tessera::inline v0::optim
