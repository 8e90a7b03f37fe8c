// Functions that take functions, as NumPy and JAX have them.
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

/// f of each vector along an axis; the axes of its result take the place of that one.
TESSERA_API Array apply_along_axis(const std::function<Array(Array)>& f, std::int64_t axis,
                                   Operand x);
/// For each place f of x there, of the last function whose condition holds, else of the one that
/// there may be beyond them, else 0. Each function gets all of x. ShapeError for another number of
/// functions.
TESSERA_API Array piecewise(Operand x, const std::vector<Array>& conditions,
                            const std::vector<std::function<Array(Array)>>& functions);

namespace detail {
using RowFunction = std::function<Array(const std::vector<Array>&)>;
TESSERA_API Array vectorized(const RowFunction& f, const std::string& signature,
                             const std::vector<Array>& xs, std::source_location loc);
}  // namespace detail
/// A function of arrays whose axes beyond those of `signature`, "(n,m),(m)->(n)", broadcast: it is
/// mapped over them. Without a signature it is one of scalars. Calls throw ShapeError where an
/// argument has fewer axes, Error for a signature that is none.
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

/// The transpose of a linear function of trees like `like`: from a cotangent of the result to those
/// of the arguments (the tree itself for one argument, else a tuple of trees). Of a function that
/// is not linear it is the transpose of the derivative at zero.
template <class F, class... A>
auto linear_transpose(F&& f, const A&... like) {
  return vjp(std::forward<F>(f), tree::map([](Array x) { return x * 0; }, like)...).second;
}

/// How many of the devices are this process's: all of them where it is alone.
TESSERA_API std::int64_t local_device_count();

namespace tree {

/// The leaves that are there with their paths, in order.
template <class T>
std::vector<std::pair<std::string, Array>> leaves_with_path(const T& x) {
  std::vector<std::pair<std::string, Array>> out;
  for_each([&](const std::string& path, const Array& leaf) { out.emplace_back(path, leaf); }, x);
  return out;
}
/// The same, and the structure.
struct FlatWithPath {
  std::vector<std::pair<std::string, Array>> leaves;
  TreeDef def;
};
template <class T>
FlatWithPath flatten_with_path(const T& x) {
  return {leaves_with_path(x), structure(x)};
}
/// f(f(start, leaf), leaf)... over the leaves that are there, in order.
template <class F, class T, class Start>
Start reduce(F&& f, const T& x, Start start) {
  for (const auto& [path, leaf] : leaves_with_path(x)) start = f(std::move(start), leaf);
  return start;
}
/// Whether all leaves that are there are true, as a C++ bool; it waits for them.
template <class T>
bool all(const T& x) {
  for (const auto& [path, leaf] : leaves_with_path(x))
    if (!static_cast<bool>(v0::all(Operand(leaf)))) return false;
  return true;
}

}  // namespace tree
}  // namespace tessera::inline v0
