// Trees of arrays: any C++ value made of Arrays, numbers, strings, standard containers and plain
// structs.
//
//   struct Layer { Array w, b; };
//   struct Mlp { std::vector<Layer> layers; int heads = 4; };
//
// The leaves of an Mlp are its Arrays, in order of declaration, an empty one too. Everything else
// (heads, the number of layers, keys of maps, absent optionals) is its structure. Leaves have
// paths: "layers/0/w". A class with constructors registers its members with TESSERA_FIELDS(w, b),
// or a foreign one with a function `auto tessera_fields(T& x) { return std::tie(x.w, x.b); }` in
// its namespace.
#pragma once

#include <tessera/axes.h>
#include <tessera/detail/walk.h>
#include <tessera/message.h>
#include <tessera/tree_def.h>

#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::inline v0 {

namespace detail {

TESSERA_API TreeDef describe(void (*walk)(const void*, Visitor&), const void* x);
TESSERA_API void collect(void (*walk)(const void*, Visitor&), const void* x,
                         std::vector<Array>& leaves);
/// Replaces the leaves of `x` in order. The count must be right; `loc` is for the error where it is
/// not.
TESSERA_API void fill(void (*walk)(const void*, Visitor&), void* x, std::span<const Array> leaves,
                      std::source_location loc = {});
/// Throws TreeError naming `function` and listing where the structures part, unless they are equal.
TESSERA_API void require_same_structure(const char* function, const TreeDef& first,
                                        const std::string& first_name, const TreeDef& other,
                                        const std::string& other_name, const SourceLoc& loc = {});
TESSERA_API void require_leaf_count(const char* function, std::size_t expected, std::size_t got,
                                    std::source_location loc = {});

/// The walk of T behind a pointer: the one instantiation that everything in this header shares.
template <class T>
void walk_erased(const void* x, Visitor& v) {
  walk(*static_cast<T*>(const_cast<void*>(x)), v);
}

TESSERA_API std::vector<Array> mapped_leaves(
    const char* function, std::span<const std::vector<Array>> trees,
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

template <class T>
TreeDef structure(const T& x) {
  return detail::describe(&detail::walk_erased<T>, &x);
}

/// The leaves in order, empty ones too.
template <class T>
std::vector<Array> leaves(const T& x) {
  std::vector<Array> out;
  detail::collect(&detail::walk_erased<T>, &x, out);
  return out;
}

/// Paths of the leaves: "layers/0/w".
template <class T>
std::vector<std::string> paths(const T& x) {
  return structure(x).paths();
}

struct Flat {
  std::vector<Array> leaves;
  TreeDef def;
};
template <class T>
Flat flatten(const T& x) {
  return {leaves(x), structure(x)};
}

/// A tree with the structure and static values of `like` and these leaves; TreeError when their
/// number differs.
template <class T>
T unflatten(const T& like, std::span<const Array> leaves,
            std::source_location loc = std::source_location::current()) {
  T x = like;
  detail::fill(&detail::walk_erased<T>, &x, leaves, loc);
  return x;
}

}  // namespace tree

namespace detail {

/// A function of N leaves, with the line of the user's that passes it: a parameter of this type
/// takes no part in deduction, so the caller's line follows any number of trees. It refers to the
/// function and lives as long as the call.
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

/// The trees' leaves, one vector a tree, once their structures are found to be one.
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

/// Applies f to corresponding leaves of trees of one structure and gives a tree like the first.
/// Where a leaf of any of them is empty, f is not called and the first tree's leaf stays: a
/// gradient's empty leaf leaves its parameter alone. TreeError listing the paths where the
/// structures differ. A function that passes its own caller's line on writes map({f, loc}, trees).
template <class T, class... Rest>
T map(detail::LeafFunction<1 + sizeof...(Rest)> f, const T& first, const Rest&... rest) {
  const auto rows = detail::aligned_leaves("tree::map", f.loc, first, rest...);
  return unflatten(first, detail::mapped_leaves("tree::map", rows, f.call, f.function), f.loc);
}

/// As map, for f(path, leaves...).
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
  return unflatten(first, detail::mapped_leaves("tree::map_with_path", rows, call, &context),
                   f.loc);
}

/// Calls f(path, leaf) on every leaf that is not empty.
template <class F, class T>
void for_each(F&& f, const T& x) {
  const std::vector<std::string> names = paths(x);
  const std::vector<Array> all = leaves(x);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].is_empty()) f(names[i], all[i]);
}

/// Same structure, and leaf by leaf the same dtype, shape and values, as == compares them: a NaN
/// equals nothing. Waits.
template <class T>
bool equal(const T& a, const T& b, std::source_location loc = std::source_location::current()) {
  const InFunction called("tree::equal", loc);
  if (!(structure(a) == structure(b))) return false;
  const std::vector<Array> x = leaves(a), y = leaves(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!detail::leaves_equal(x[i], y[i])) return false;
  return true;
}

/// Same structure and shapes, and |a - b| <= atol + rtol |b| everywhere. Waits.
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

/// Number of elements of all leaves together, and their bytes.
TESSERA_API std::int64_t element_count(std::span<const Array> leaves);
template <class T>
std::int64_t size(const T& x) {
  return element_count(leaves(x));
}

}  // namespace tree

namespace detail {

/// The axis of a leaf that is not mapped.
inline constexpr int kReplicated = -2147483647;

/// One axis a leaf of a tree that `axes` is a prefix of, not yet normalised. TreeError naming
/// `function` and listing every place where it is no prefix. `spec` and `tree` name the two in
/// messages: "in_axes", "args".
TESSERA_API std::vector<int> broadcast_axes(const char* function, const Axes& axes,
                                            const std::string& spec, const TreeDef& def,
                                            const std::string& tree, const SourceLoc& loc = {});

}  // namespace detail
}  // namespace tessera::inline v0
