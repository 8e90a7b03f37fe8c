// Control flow that depends on traced values: branches and loops whose bodies are traced once.
//
// Bodies are callables over trees. They may capture arrays, including traced ones, which become
// operands, so derivatives and vmap account for them. All branches return trees of the same
// structure, and loop bodies keep the dtypes and shapes of the carry; otherwise an error lists each
// offending leaf with both types. A weakly typed initial value takes the dtype that the body
// returns.
#pragma once

#include <tessera/detail/call.h>
#include <tessera/vmap.h>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// The options of scan.
struct ScanOptions {
  /// The number of steps; -1 infers it from the inputs.
  std::int64_t length = -1;
  /// Steps from the last input to the first. Each result is stored at the position of its input.
  bool reverse = false;
};
/// The options of map.
struct MapOptions {
  /// The number of elements that are processed together, by vmap; 0 processes them one at a time.
  std::int64_t batch_size = 0;
};
/// The options of associative_scan: the `axis` of the elements; with `reverse` suffixes are
/// combined in place of prefixes.
struct AssociativeScanOptions {
  bool reverse = false;
  int axis = 0;
};

namespace detail {

/// `index` is the branch index, or for cond the predicate. All calls have the operands of the
/// first.
TESSERA_API Outcome branches(const char* function, const Array& index, bool predicate,
                             std::span<Call* const> calls, std::source_location loc);
TESSERA_API Outcome while_loop(Call& condition, Call& body, std::source_location loc);
/// `body` has the signature (i, carry). The bounds are known at trace time in the first overload
/// and are arrays in the second.
TESSERA_API Outcome fori_loop(std::int64_t lo, std::int64_t hi, Call& body,
                              std::source_location loc);
TESSERA_API Outcome fori_loop(const Array& lo, const Array& hi, Call& body,
                              std::source_location loc);
/// `body` has the signature (carry, x), where the first `carry_args` arguments are the carry (0 for
/// map).
TESSERA_API Outcome scan(const char* function, Call& body, std::size_t carry_args,
                         const ScanOptions& options, std::source_location loc);
/// The elements of map in batches: `whole` has shape (batches, size, ...), and `rest` holds the
/// remainder. Either may be empty.
struct Batches {
  std::vector<Array> whole, rest;
  bool batched = false;
};
TESSERA_API Batches in_batches(const TreeDef& tree, const std::vector<Array>& leaves,
                               std::int64_t size, std::source_location loc);
/// Merges the two leading dimensions.
TESSERA_API Array merge_leading(const Array& x);
TESSERA_API Array joined(const Array& a, const Array& b);
/// `combine` has the signature (a, b); both arguments hold the elements.
TESSERA_API std::vector<Array> associative_scan(Call& combine,
                                                const AssociativeScanOptions& options,
                                                std::source_location loc);

/// The type of a loop-carried value: a C++ number becomes a scalar array.
template <class T>
using Carried = std::conditional_t<std::is_arithmetic_v<std::decay_t<T>>, Array, std::decay_t<T>>;

/// The parameter types of a callable, or the given ones if they cannot be deduced.
template <class F, class... Default>
constexpr auto parameters_or() {
  if constexpr (Deduced<std::decay_t<F>>::known) {
    static_assert(Deduced<std::decay_t<F>>::params::size == sizeof...(Default),
                  "tessera: the function takes another number of arguments than it is given here");
    return typename Deduced<std::decay_t<F>>::params{};
  } else {
    return Types<Default...>{};
  }
}

template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

template <class First, class... Rest>
inline constexpr bool all_same = (std::is_same_v<First, Rest> && ...);

template <class Result, std::size_t I, std::size_t N, class Branches, class... A>
auto switch_from(std::array<Call*, N>& calls, const Array& index, const char* function,
                 bool predicate, Branches& functions, std::source_location loc, A&... operands) {
  return with_call(
      std::get<I>(functions),
      [&]<class C>(C& call) {
        constexpr bool same = std::is_void_v<Result> || std::is_same_v<Result, typename C::Result>;
        static_assert(
            same,
            "tessera: the branches return different types; all need to return the same tree type");
        calls[I] = &call;
        if constexpr (I + 1 == N)
          return call.result(branches(function, index, predicate, calls, loc));
        else
          return switch_from<typename C::Result, I + 1>(calls, index, function, predicate,
                                                        functions, loc, operands...);
      },
      operands...);
}

}  // namespace detail

/// Returns on_true(operands...) if the scalar `predicate` is true (or not zero), else
/// on_false(operands...). Both are traced, but only one runs. Under vmap over the predicate both
/// run and the results are selected elementwise.
template <class F, class G, class... A>
auto cond(const Operand& predicate, F&& on_true, G&& on_false, A&&... operands) {
  std::array<detail::Call*, 2> calls{};
  std::tuple<G&, F&> functions(on_false, on_true);
  return detail::switch_from<void, 0>(calls, predicate.array, "cond", true, functions,
                                      predicate.loc, operands...);
}

/// Runs one of several branches, chosen by an integer scalar that is clamped into range: switch_(i,
/// std::tuple(f, g, h), operands...).
template <class... F, class... A>
auto switch_(const Operand& index, std::tuple<F...> branches, A&&... operands) {
  static_assert(sizeof...(F) > 0, "tessera: switch_ needs at least one branch");
  std::array<detail::Call*, sizeof...(F)> calls{};
  return detail::switch_from<void, 0>(calls, index.array, "switch_", false, branches, index.loc,
                                      operands...);
}

/// Repeats carry = body(carry) while condition(carry) holds, and returns the last carry. It has no
/// reverse-mode derivative, because the number of steps is unknown in advance.
template <class Cond, class Body, class Init>
auto while_loop(Cond&& condition, Body&& body, const Init& init,
                std::source_location loc = std::source_location::current()) {
  using C = typename detail::NthOf<decltype(detail::parameters_or<Body, detail::Carried<Init>>()),
                                   0>::type;
  C start(init);
  detail::CallOf<std::remove_reference_t<Cond>, C> test(condition, start);
  detail::CallOf<std::remove_reference_t<Body>, C> step(body, start);
  using Next = typename decltype(step)::Result;
  static_assert(std::is_same_v<Next, C>,
                "tessera: the body of while_loop returns another type than it takes");
  static_assert(std::is_same_v<typename decltype(test)::Result, Array>,
                "tessera: the condition of while_loop returns a boolean Array");
  return step.result(detail::while_loop(test, step, loc));
}

namespace detail {
template <class Body, class Init>
struct ForTypes {
  using Params = decltype(parameters_or<Body, Array, Carried<Init>>());
  using Carry = typename NthOf<Params, 1>::type;
  static_assert(std::is_same_v<typename NthOf<Params, 0>::type, Array>,
                "tessera: the body of fori_loop takes its index as an Array: it is traced once for "
                "all steps");
};
}  // namespace detail

/// For i = lo .. hi - 1: carry = body(i, carry). With C++ integers as bounds this is a scan and
/// fully differentiable; with arrays it is a while_loop. The index is an int32 scalar (int64 if a
/// bound needs it).
template <std::integral Lo, std::integral Hi, class Body, class Init>
auto fori_loop(Lo lo, Hi hi, Body&& body, const Init& init,
               std::source_location loc = std::source_location::current()) {
  using C = typename detail::ForTypes<Body, Init>::Carry;
  C start(init);
  Array index(detail::as_position(lo));
  detail::CallOf<std::remove_reference_t<Body>, Array, C> step(body, index, start);
  static_assert(std::is_same_v<typename decltype(step)::Result, C>,
                "tessera: the body of fori_loop returns another type than it carries");
  return step.result(
      detail::fori_loop(detail::as_position(lo), detail::as_position(hi), step, loc));
}
template <class Lo, class Hi, class Body, class Init>
requires(std::is_same_v<Lo, Array> || std::is_same_v<Hi, Array>) auto fori_loop(
    const Lo& lo, const Hi& hi, Body&& body, const Init& init,
    std::source_location loc = std::source_location::current()) {
  using C = typename detail::ForTypes<Body, Init>::Carry;
  C start(init);
  Array index(lo);
  detail::CallOf<std::remove_reference_t<Body>, Array, C> step(body, index, start);
  static_assert(std::is_same_v<typename decltype(step)::Result, C>,
                "tessera: the body of fori_loop returns another type than it carries");
  return step.result(detail::fori_loop(Array(lo), Array(hi), step, loc));
}

/// Iterates over the leading axis of every leaf of `xs` with (carry, y) = f(carry, x). Returns the
/// pair of the last carry and the stacked ys. The body is traced once; scan is differentiable in
/// both modes, and the length may be zero.
template <class F, class Carry, class Xs>
requires(!std::is_same_v<std::decay_t<Xs>, ScanOptions>) auto scan(
    F&& f, const Carry& init, const Xs& xs, const ScanOptions& options = {},
    std::source_location loc = std::source_location::current()) {
  using Params = decltype(detail::parameters_or<F, detail::Carried<Carry>, std::decay_t<Xs>>());
  using C = typename detail::NthOf<Params, 0>::type;
  using X = typename detail::NthOf<Params, 1>::type;
  C start(init);
  X inputs(xs);
  detail::CallOf<std::remove_reference_t<F>, C, X> body(f, start, inputs);
  using Result = typename decltype(body)::Result;
  static_assert(detail::is_pair<Result>, "tessera: the body of scan returns std::pair(carry, y)");
  static_assert(std::is_same_v<typename Result::first_type, C>,
                "tessera: the body of scan returns a carry of another type than it takes");
  return body.result(detail::scan("scan", body, 1, options, loc));
}
/// Without inputs: calls f(carry) options.length times.
template <class F, class Carry>
auto scan(F&& f, const Carry& init, const ScanOptions& options,
          std::source_location loc = std::source_location::current()) {
  using C =
      typename detail::NthOf<decltype(detail::parameters_or<F, detail::Carried<Carry>>()), 0>::type;
  C start(init);
  detail::CallOf<std::remove_reference_t<F>, C> body(f, start);
  using Result = typename decltype(body)::Result;
  static_assert(detail::is_pair<Result>, "tessera: the body of scan returns std::pair(carry, y)");
  static_assert(std::is_same_v<typename Result::first_type, C>,
                "tessera: the body of scan returns a carry of another type than it takes");
  return body.result(detail::scan("scan", body, 1, options, loc));
}

/// Applies f to each x along the leading axis, one at a time, and stacks the results: like vmap,
/// but with the memory of a single call.
template <class F, class Xs>
auto map(F&& f, const Xs& xs, std::source_location loc = std::source_location::current()) {
  using X = typename detail::NthOf<decltype(detail::parameters_or<F, std::decay_t<Xs>>()), 0>::type;
  X inputs(xs);
  detail::CallOf<std::remove_reference_t<F>, X> body(f, inputs);
  return body.result(detail::scan("map", body, 0, {}, loc));
}
/// Like map, but processes batch_size elements at a time by vmap, and the remainder in one more
/// batch. It is as fast as vmap if the batch is large enough, and needs only the memory of one
/// batch.
template <class F, class Xs>
auto map(F&& f, const Xs& xs, const MapOptions& options,
         std::source_location loc = std::source_location::current()) {
  using X = typename detail::NthOf<decltype(detail::parameters_or<F, std::decay_t<Xs>>()), 0>::type;
  const X inputs(xs);
  const detail::Batches parts =
      detail::in_batches(tree::structure(inputs), tree::leaves(inputs), options.batch_size, loc);
  if (!parts.batched) return map(f, inputs, loc);
  auto batch = vmap(f, {}, loc);
  auto rest = [&] { return batch(tree::unflatten(inputs, parts.rest)); };
  if (parts.whole.empty()) return rest();
  auto ys = tree::map([](const Array& y) { return detail::merge_leading(y); },
                      map(batch, tree::unflatten(inputs, parts.whole), loc));
  if (parts.rest.empty()) return ys;
  return tree::map([&](const Array& a, const Array& b) { return detail::joined(a, b); }, ys,
                   rest());
}

/// The inclusive scan under an associative function (a, b) -> tree: entry i of the result combines
/// the elements 0 to i. The function is called on stacks of elements and must act elementwise along
/// the axis. The depth is logarithmic (Blelloch 1990).
template <class F, class T>
T associative_scan(F&& combine, const T& elements, const AssociativeScanOptions& options = {},
                   std::source_location loc = std::source_location::current()) {
  T a(elements), b(elements);
  detail::CallOf<std::remove_reference_t<F>, T, T> call(combine, a, b);
  static_assert(std::is_same_v<typename decltype(call)::Result, T>,
                "tessera: the function of associative_scan returns another type than it takes");
  return tree::unflatten(elements, detail::associative_scan(call, options, loc));
}

}  // namespace tessera::inline v0
