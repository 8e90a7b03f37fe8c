// Higher-order functions, as in NumPy and JAX.
#pragma once

#include <tessera/array.h>
#include <tessera/device.h>
#include <tessera/grad.h>
#include <tessera/tree.h>
#include <functional>

#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// Applies f to each vector along an axis; the axes of its result replace that axis.
TESSERA_API Array apply_along_axis(const std::function<Array(Array)>& f, std::int64_t axis,
                                   Operand x);
/// Takes each element from f(x) for the last function whose condition holds there. Where none
/// holds, an additional last function is used, or else 0. Each function gets all of x. Throws
/// ShapeError for any other number of functions.
TESSERA_API Array piecewise(Operand x, const std::vector<Array>& conditions,
                            const std::vector<std::function<Array(Array)>>& functions);

namespace detail {
using RowFunction = std::function<Array(const std::vector<Array>&)>;
TESSERA_API Array vectorized(const RowFunction& f, const std::string& signature,
                             const std::vector<Array>& xs, std::source_location loc);
}  // namespace detail
/// Maps f over the axes of its arguments beyond those of `signature`, "(n,m),(m)->(n)"; these axes
/// broadcast. Without a signature f is a function of scalars. Calls throw ShapeError if an argument
/// has too few axes, and Error for an invalid signature.
template <class F>
auto vectorize(F f, std::string signature = "",
               std::source_location loc = std::source_location::current()) {
  return [f = std::move(f), signature = std::move(signature), loc](const auto&... xs) {
    const detail::RowFunction row = [&f](const std::vector<Array>& all) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) { return Array(f(all[I]...)); }
      (std::make_index_sequence<sizeof...(xs)>());
    };
    return detail::vectorized(row, signature, std::vector<Array>{Array(xs)...}, loc);
  };
}

/// The transpose of a linear function of trees like `like`: a function from a cotangent of the
/// result to cotangents of the arguments (a single tree for one argument, else a tuple of trees).
/// If f is not linear, the result is the transpose of its derivative at zero.
template <class F, class... A>
auto linear_transpose(F&& f, const A&... like) {
  return vjp(std::forward<F>(f), tree::map([](Array x) { return x * 0; }, like)...).second;
}

/// The number of local_devices(); all devices() in a single process.
TESSERA_API std::int64_t local_device_count();

namespace detail {
TESSERA_API std::vector<std::pair<std::string, Array>> leaves_with_path(
    std::vector<std::string> paths, std::vector<Array> leaves);
}

namespace tree {

/// The non-empty leaves with their paths, in order.
template <class T>
std::vector<std::pair<std::string, Array>> leaves_with_path(const T& x) {
  return detail::leaves_with_path(paths(x), leaves(x));
}
/// The same leaves together with the tree's structure.
struct FlatWithPath {
  std::vector<std::pair<std::string, Array>> leaves;
  TreeDef def;
};
template <class T>
FlatWithPath flatten_with_path(const T& x) {
  return {leaves_with_path(x), structure(x)};
}
/// Folds the non-empty leaves in order: f(f(start, leaf), leaf)...
template <class F, class T, class Start>
Start reduce(F&& f, const T& x, Start start) {
  for (const auto& [path, leaf] : leaves_with_path(x)) start = f(std::move(start), leaf);
  return start;
}
/// Whether all non-empty leaves are true, as a C++ bool; waits for them.
template <class T>
bool all(const T& x) {
  for (const auto& [path, leaf] : leaves_with_path(x))
    if (!static_cast<bool>(v0::all(Operand(leaf)))) return false;
  return true;
}

}  // namespace tree
}  // namespace tessera::inline v0
