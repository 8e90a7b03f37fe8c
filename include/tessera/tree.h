// A tree of arrays is any C++ value made of Arrays, numbers, strings, standard containers and plain
// structs.
//
//   struct Layer { Array w, b; };
//   struct Mlp { std::vector<Layer> layers; int heads = 4; };
//
// The leaves of an Mlp are its Arrays in order of declaration, including empty ones. Everything
// else (heads, the number of layers, keys of maps, absent optionals) is its structure. Leaves have
// paths: "layers/0/w". A class with constructors registers its members with TESSERA_FIELDS(w, b),
// and a third-party class with a function `auto tessera_fields(T& x) { return std::tie(x.w, x.b);
// }` in its namespace.
#pragma once

#include <tessera/axes.h>
#include <tessera/detail/walk.h>
#include <tessera/message.h>
#include <tessera/tree_def.h>

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

namespace detail {

TESSERA_API TreeDef describe(void (*walk)(const void*, Visitor&), const void* x);
TESSERA_API void collect(void (*walk)(const void*, Visitor&), const void* x,
                         std::vector<Array>& leaves);
/// Replaces the leaves of `x` in order. Throws an error at `loc` if the count is wrong.
TESSERA_API void fill(void (*walk)(const void*, Visitor&), void* x, std::span<const Array> leaves,
                      std::source_location loc = {});
// In users' files, making a span of a vector takes the compiler longer than another function.
TESSERA_API void fill(void (*walk)(const void*, Visitor&), void* x,
                      const std::vector<Array>& leaves, std::source_location loc = {});
/// Fills in the first `count` leaves, and removes them from `leaves`.
TESSERA_API void fill_first(void (*walk)(const void*, Visitor&), void* x, std::size_t count,
                            std::span<const Array>& leaves);
/// Throws a TreeError that names `function` and lists the differences, unless the structures are
/// equal.
TESSERA_API void require_same_structure(const char* function, const TreeDef& first,
                                        const std::string& first_name, const TreeDef& other,
                                        const std::string& other_name, const SourceLoc& loc = {});
TESSERA_API void require_leaf_count(const char* function, std::size_t expected, std::size_t got,
                                    std::source_location loc = {});

/// The traversal of a T through an untyped pointer. Everything in this header shares this one
/// instantiation.
template <class T>
void walk_erased(const void* x, Visitor& v) {
  walk(*static_cast<T*>(const_cast<void*>(x)), v);
}

TESSERA_API std::vector<Array> mapped_leaves(
    const char* function, const std::vector<Array>* trees, std::size_t count,
    Array (*call)(void* f, std::size_t leaf, std::span<const Array>), void* f);
TESSERA_API bool leaves_equal(const Array& a, const Array& b);
TESSERA_API bool leaves_close(const Array& a, const Array& b, double rtol, double atol);

template <class F, std::size_t... I>
Array call_on_row(F& f, std::span<const Array> row, std::index_sequence<I...>) {
  constexpr bool fits = std::is_invocable_r_v<Array, F&, decltype(row[I])...>;
  static_assert(
      fits, "tessera: the function of tree::map takes one Array of each tree and gives an Array");
  if constexpr (fits)
    return f(row[I]...);
  else
    return {};
}

}  // namespace detail

namespace tree {

/// The structure of a tree: everything but its leaves. Equal structures compare equal.
template <class T>
TreeDef structure(const T& x) {
  return detail::describe(&detail::walk_erased<T>, &x);
}

/// The leaves in order, including empty ones.
template <class T>
std::vector<Array> leaves(const T& x) {
  std::vector<Array> out;
  detail::collect(&detail::walk_erased<T>, &x, out);
  return out;
}

/// The paths of the leaves: "layers/0/w".
template <class T>
std::vector<std::string> paths(const T& x) {
  return structure(x).paths();
}

/// A tree in two parts: its leaves, including empty ones, and its structure `def`.
struct Flat {
  std::vector<Array> leaves;
  TreeDef def;
};
/// The leaves and the structure of a tree.
template <class T>
Flat flatten(const T& x) {
  return {leaves(x), structure(x)};
}

/// Returns a tree with the structure and static values of `like` and these leaves. Throws TreeError
/// if their number differs.
template <class T>
T unflatten(const T& like, std::span<const Array> leaves,
            std::source_location loc = std::source_location::current()) {
  T x = like;
  detail::fill(&detail::walk_erased<T>, &x, leaves, loc);
  return x;
}
template <class T>
T unflatten(const T& like, const std::vector<Array>& leaves,
            std::source_location loc = std::source_location::current()) {
  T x = like;
  detail::fill(&detail::walk_erased<T>, &x, leaves, loc);
  return x;
}

}  // namespace tree

namespace detail {

/// A function of N leaves together with the user's source line that passes it. A parameter of this
/// type does not take part in deduction, so it can capture the caller's line although any number of
/// trees follows. It refers to the function and must not outlive the call.
template <std::size_t N>
struct LeafFunction {
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, LeafFunction>)
      LeafFunction(F&& f, std::source_location where = std::source_location::current())
      : loc(where),
        function((void*)std::addressof(f)),
        call([](void* g, std::size_t, std::span<const Array> row) {
          return call_on_row(*(std::remove_reference_t<F>*)g, row, std::make_index_sequence<N>{});
        }) {}

  std::source_location loc;
  void* function;
  Array (*call)(void* function, std::size_t leaf, std::span<const Array>);
};
/// The same for a function of a leaf's path and N leaves.
template <std::size_t N>
struct PathFunction {
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, PathFunction>)
      PathFunction(F&& f, std::source_location where = std::source_location::current())
      : loc(where),
        function((void*)std::addressof(f)),
        call([](void* g, const std::string& path, std::span<const Array> row) {
          auto at_path =
              [&]<class... X>(
                  const X&... x) -> std::invoke_result_t<F&, const std::string&, const X&...> {
            return (*(std::remove_reference_t<F>*)g)(path, x...);
          };
          return call_on_row(at_path, row, std::make_index_sequence<N>{});
        }) {}

  std::source_location loc;
  void* function;
  Array (*call)(void* function, const std::string& path, std::span<const Array>);
};

/// Returns the leaves of each tree, after checking that all trees have the same structure.
template <class T, class... Rest>
std::array<std::vector<Array>, 1 + sizeof...(Rest)> aligned_leaves(const char* function,
                                                                   std::source_location loc,
                                                                   const T& first,
                                                                   const Rest&... rest) {
  if constexpr (sizeof...(Rest) > 0) {
    const TreeDef def = tree::structure(first);
    std::size_t i = 1;
    (require_same_structure(function, def, "trees[0]", tree::structure(rest),
                            "trees[" + std::to_string(i++) + "]", loc),
     ...);
  }
  return {tree::leaves(first), tree::leaves(rest)...};
}

}  // namespace detail

namespace tree {

/// Applies f to corresponding leaves of trees with the same structure and returns a tree like the
/// first. If a leaf of any tree is empty, f is not called and the first tree's leaf is kept: a
/// gradient's empty leaf leaves its parameter unchanged. Throws a TreeError that lists the paths
/// where the structures differ. To pass on its own caller's line, a function calls map({f, loc},
/// trees).
template <class T, class... Rest>
T map(detail::LeafFunction<1 + sizeof...(Rest)> f, const T& first, const Rest&... rest) {
  const auto rows = detail::aligned_leaves("tree::map", f.loc, first, rest...);
  return unflatten(first,
                   detail::mapped_leaves("tree::map", rows.data(), rows.size(), f.call, f.function),
                   f.loc);
}

/// Like map, but calls f(path, leaves...).
template <class T, class... Rest>
T map_with_path(detail::PathFunction<1 + sizeof...(Rest)> f, const T& first, const Rest&... rest) {
  const auto rows = detail::aligned_leaves("tree::map_with_path", f.loc, first, rest...);
  struct Context {
    const detail::PathFunction<1 + sizeof...(Rest)>& f;
    const std::vector<std::string> names;
  } context{f, paths(first)};
  auto call = [](void* c, std::size_t leaf, std::span<const Array> row) {
    const auto& at = *static_cast<const Context*>(c);
    return at.f.call(at.f.function, at.names[leaf], row);
  };
  return unflatten(
      first, detail::mapped_leaves("tree::map_with_path", rows.data(), rows.size(), call, &context),
      f.loc);
}

/// Calls f(path, leaf) for every non-empty leaf.
template <class F, class T>
void for_each(F&& f, const T& x) {
  const std::vector<std::string> names = paths(x);
  const std::vector<Array> all = leaves(x);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].is_empty()) f(names[i], all[i]);
}

/// Whether the structures are equal, and each leaf has the same dtype, shape and values as compared
/// by ==, so NaN equals nothing. Waits for the values.
template <class T>
bool equal(const T& a, const T& b, std::source_location loc = std::source_location::current()) {
  const InFunction called("tree::equal", loc);
  if (!(structure(a) == structure(b))) return false;
  const std::vector<Array> x = leaves(a), y = leaves(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!detail::leaves_equal(x[i], y[i])) return false;
  return true;
}

/// Whether the structures and shapes are equal and |a - b| <= atol + rtol |b| everywhere. Waits for
/// the values.
template <class T>
bool allclose(const T& a, const T& b, double rtol = 1e-5, double atol = 1e-8,
              std::source_location loc = std::source_location::current()) {
  const InFunction called("tree::allclose", loc);
  if (!(structure(a) == structure(b))) return false;
  const std::vector<Array> x = leaves(a), y = leaves(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!detail::leaves_close(x[i], y[i], rtol, atol)) return false;
  return true;
}

/// The total number of elements of all leaves.
TESSERA_API std::int64_t element_count(std::span<const Array> leaves);
/// The total number of elements of all leaves of a tree.
template <class T>
std::int64_t size(const T& x) {
  return element_count(leaves(x));
}

}  // namespace tree

namespace detail {

/// Marks a leaf that is not mapped.
inline constexpr int kReplicated = -2147483647;

/// Returns one axis per leaf of a tree that has `axes` as a prefix, not yet normalised. Throws a
/// TreeError that names `function` and lists every place where `axes` is not a prefix. `spec` and
/// `tree` name the two in messages: "in_axes", "args".
TESSERA_API std::vector<int> broadcast_axes(const char* function, const Axes& axes,
                                            const std::string& spec, const TreeDef& def,
                                            const std::string& tree, const SourceLoc& loc = {});

}  // namespace detail
}  // namespace tessera::inline v0
