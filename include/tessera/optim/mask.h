// Which parameters a transformation is for.
#pragma once

#include <tessera/array.h>
#include <tessera/tree.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0::optim {

using Leaves = std::vector<Array>;

/// Which leaves are meant: a list with an entry a leaf, or a question that is asked of each.
class Mask {
 public:
  Mask(std::vector<bool> leaves) : leaves_(std::move(leaves)) {}
  template <class F>
  requires(std::is_invocable_r_v<bool, F&, const Array&>) Mask(F of_parameter)
      : of_parameter_(std::move(of_parameter)) {}
  /// One entry a leaf; TreeError where there are more or fewer of them than leaves.
  TESSERA_API std::vector<bool> of(const Leaves& params) const;

 private:
  std::vector<bool> leaves_;
  std::function<bool(const Array&)> of_parameter_;
};
/// A mask by paths and leaves: mask_by_path(params, [](const std::string& path, const Array& p) {
/// return p.ndim() > 1; }).
template <class Params, class F>
std::vector<bool> mask_by_path(const Params& params, F&& f) {
  const std::vector<std::string> paths = tree::paths(params);
  const Leaves leaves = tree::leaves(params);
  std::vector<bool> out;
  for (std::size_t i = 0; i < leaves.size(); ++i) out.push_back(f(paths[i], leaves[i]));
  return out;
}
/// A mask from a tree like the parameters with a boolean scalar for each leaf:
/// mask_of(Params{true, false, true}). Empty leaves are not meant.
template <class Tree>
std::vector<bool> mask_of(const Tree& booleans) {
  std::vector<bool> out;
  for (const Array& leaf : tree::leaves(booleans))
    out.push_back(!leaf.is_empty() && leaf.item<bool>());
  return out;
}

}  // namespace tessera::inline v0::optim
