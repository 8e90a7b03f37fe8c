// Derivatives of calls: the implementation of the templates of tessera/grad.h.
#pragma once

#include <tessera/detail/call.h>
#include <memory>

#include <cstddef>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

template <class Result, class... P>
class Vjp;  // tessera/grad.h
template <class Result, class... P>
class Linear;

namespace detail {

struct GradOutcome {
  Outcome result;
  /// One per leaf of the differentiated arguments, in the order of `argnums`.
  std::vector<Array> gradients;
};
TESSERA_API GradOutcome value_and_grad(const char* function, Call& call,
                                       std::span<const int> argnums, std::source_location loc);

struct JvpOutcome {
  Outcome result;
  std::vector<Array> tangents;  // one per leaf of the result
};
TESSERA_API JvpOutcome jvp(Call& call, const Recorder& tangents, const TreeDef& tangent_tree,
                           std::source_location loc);

/// A linear function of leaves, which holds its residuals. It is immutable, and copies share its
/// state.
class TESSERA_API LinearMap {
 public:
  struct State;
  explicit LinearMap(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  /// Applies the map to an argument given by its leaves and its structure. Throws TreeError for a
  /// wrong structure, ShapeError for a wrong dtype or shape, and CollectiveError if it varies over
  /// mapped axes that the value it belongs to does not vary over.
  std::vector<Array> operator()(const Recorder& in, const TreeDef& tree,
                                std::source_location loc) const;

 private:
  std::shared_ptr<const State> state_;
};
struct LinearOutcome {
  Outcome result;
  LinearMap map;
};
/// Forward mode: the map takes tangents of the arguments to tangents of the result.
TESSERA_API LinearOutcome linearize(Call& call, std::source_location loc);
/// Reverse mode: the map takes cotangents of the result to cotangents of the arguments.
TESSERA_API LinearOutcome vjp(Call& call, std::source_location loc);

/// Computes the Jacobian with respect to the arguments in `argnums`. `blocks` has one entry per
/// leaf of the result and leaf of these arguments, the latter varying faster.
TESSERA_API Outcome jacobian(const char* function, Call& call, std::span<const int> argnums,
                             bool forward, std::vector<Array>& blocks, std::source_location loc);

template <class T>
inline constexpr bool is_pair_with_aux = false;
template <class Aux>
inline constexpr bool is_pair_with_aux<std::pair<Array, Aux>> = true;

/// A C++ number passed to a generic callable as a differentiated argument becomes a scalar array.
template <class P>
using Differentiable = std::conditional_t<std::is_arithmetic_v<P>, Array, P>;
template <int I, class... P, std::size_t... K>
auto differentiable_at(Types<P...>, std::index_sequence<K...>) {
  return Types<std::conditional_t<static_cast<int>(K) == I, Differentiable<P>, P>...>{};
}
template <class F, int I, int... Rest, class... P>
constexpr auto differentiable_types_at(Types<P...> t) {
  static_assert(I >= 0 && I < static_cast<int>(sizeof...(P)),
                "tessera: an argument to differentiate does not exist: argnums count from 0 and "
                "the call has fewer arguments");
  if constexpr (Deduced<F>::known) {
    static_assert(
        !Fixed<typename NthOf<Types<P...>, I>::type>,
        "tessera: the differentiated parameter is a C++ number, which is static; make it an Array");
    if constexpr (sizeof...(Rest) == 0)
      return t;
    else
      return differentiable_types_at<F, Rest...>(t);
  } else {
    auto next = differentiable_at<I>(t, std::index_sequence_for<P...>{});
    if constexpr (sizeof...(Rest) == 0)
      return next;
    else
      return differentiable_types_at<F, Rest...>(next);
  }
}

/// Returns trees like the differentiated arguments of `call`, with these leaves. A single argument
/// gives the tree itself, not a tuple.
template <int... I, class C>
auto gradients_like(C& call, const std::vector<Array>& gradients) {
  std::span<const Array> leaves(gradients.data(), gradients.size());
  auto take = [&](auto index) {
    constexpr int i = decltype(index)::value;
    const std::size_t count = call.arg_ends[i] - call.arg_begin(i);
    return restore_like(call.template arg<i>(), count, leaves);
  };
  if constexpr (sizeof...(I) == 1)
    return (take(std::integral_constant<int, I>{}), ...);
  else
    return std::tuple{take(std::integral_constant<int, I>{})...};
}

template <class T>
concept NamesArguments = NamesAxes<std::decay_t<T>>;

template <class T>
inline constexpr bool is_std_tuple = false;
template <class... T>
inline constexpr bool is_std_tuple<std::tuple<T...>> = true;

template <class T>
auto as_tuple(const T& x) {
  if constexpr (is_std_tuple<T>)
    return x;
  else
    return std::tuple<T>(x);
}
template <class Params, class Tuple>
struct Converted;
template <class... P, class... T>
struct Converted<Types<P...>, std::tuple<T...>> {
  static std::tuple<P...> from(const std::tuple<T...>& t) {
    return std::apply([](const T&... x) { return std::tuple<P...>(P(x)...); }, t);
  }
};

template <class C, class... P>
auto make_vjp(C& call, Types<P...>, std::source_location loc) {
  LinearOutcome o = detail::vjp(call, loc);
  using R = typename C::Result;
  return std::pair(
      call.result(o.result),
      Vjp<R, P...>(o.map, call.arg_copies(), *static_cast<const R*>(o.result.prototype.get())));
}
template <class C, class... P>
auto make_linear(C& call, Types<P...>, std::source_location loc) {
  LinearOutcome o = detail::linearize(call, loc);
  using R = typename C::Result;
  return std::pair(call.result(o.result), Linear<R, P...>(o.map, o.result.prototype));
}

template <class F, class... A>
auto vjp_at(std::source_location loc, F& f, A&... args) {
  return with_call(
      f, [&]<class C>(C& call) { return make_vjp(call, typename C::Params{}, loc); }, args...);
}
template <class F, class... A>
auto linearize_at(std::source_location loc, F& f, A&... args) {
  return with_call(
      f, [&]<class C>(C& call) { return make_linear(call, typename C::Params{}, loc); }, args...);
}
template <class F, class... A>
using VjpPair = decltype(vjp_at({}, std::declval<F&>(), std::declval<A&>()...));
template <class F, class... A>
using LinearPair = decltype(linearize_at({}, std::declval<F&>(), std::declval<A&>()...));

}  // namespace detail
}  // namespace tessera::inline v0
