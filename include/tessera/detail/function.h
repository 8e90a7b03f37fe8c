// The parameter types of a callable if they can be deduced, else the types of its arguments.
#pragma once

#include <tessera/detail/anything.h>
#include <tessera/detail/walk.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace tessera::inline v0::detail {

template <class... T>
struct Types {
  static constexpr std::size_t size = sizeof...(T);
};

/// `known` is false for generic lambdas and overloaded functors.
template <class F>
struct Deduced {
  static constexpr bool known = false;
};
template <class... P>
struct DeducedParams {
  static constexpr bool known = true;
  using params = Types<std::decay_t<P>...>;
};
template <class R, class... P>
struct Deduced<R (*)(P...)> : DeducedParams<P...> {};
template <class R, class... P>
struct Deduced<R (*)(P...) noexcept> : DeducedParams<P...> {};
template <class M>
struct DeducedMember {
  static constexpr bool known = false;
};
#define TESSERA_DEDUCE_(qualifiers)       \
  template <class C, class R, class... P> \
  struct DeducedMember<R (C::*)(P...) qualifiers> : DeducedParams<P...> {};
TESSERA_DEDUCE_()
TESSERA_DEDUCE_(const)
TESSERA_DEDUCE_(noexcept)
TESSERA_DEDUCE_(const noexcept)
TESSERA_DEDUCE_(&)
TESSERA_DEDUCE_(const&)
TESSERA_DEDUCE_(&noexcept)
TESSERA_DEDUCE_(const& noexcept)
#undef TESSERA_DEDUCE_
template <class F>
requires requires { &F::operator(); }
struct Deduced<F> : DeducedMember<decltype(&F::operator())> {};
/// A transformed function has the parameters of the original function.
template <class F>
requires requires { typename F::tessera_function; }
struct Deduced<F> : Deduced<typename F::tessera_function> {};

template <class A>
struct ValueOf {
  using type = std::decay_t<A>;
};
template <class A>
requires std::is_convertible_v<A, const char*>
struct ValueOf<A> {
  using type = std::string;
};

template <class A>
requires std::is_base_of_v<Array, std::decay_t<A>>
struct ValueOf<A> {
  using type = Array;
};

template <std::size_t N, class Taken, class Rest>
struct FirstOf;
template <class... T, class... Rest>
struct FirstOf<0, Types<T...>, Types<Rest...>> {
  using type = Types<T...>;
};
template <std::size_t N, class... T, class Next, class... Rest>
requires(N > 0) struct FirstOf<N, Types<T...>, Types<Next, Rest...>>
    : FirstOf<N - 1, Types<T..., Next>, Types<Rest...>> {
};

/// The types of the arguments when F is called with A...: its parameter types (as many as there are
/// arguments; the rest have defaults), or if unknown, the arguments' own types.
template <class F, class... A>
constexpr auto argument_types() {
  if constexpr (Deduced<F>::known) {
    constexpr bool fits = sizeof...(A) <= Deduced<F>::params::size;
    static_assert(fits, "tessera: the function takes fewer arguments than it is called with");
    if constexpr (fits)
      return typename FirstOf<sizeof...(A), Types<>, typename Deduced<F>::params>::type{};
    else
      return Types<typename ValueOf<A>::type...>{};
  } else {
    return Types<typename ValueOf<A>::type...>{};
  }
}

/// An argument as the tree type P: itself if it has that type, else converted (a number to a weakly
/// typed scalar Array).
template <class P, class A>
using Held = std::conditional_t<std::is_same_v<P, std::remove_cvref_t<A>>, P&, P>;

template <class P, class A>
Held<P, A> hold(A& a) {
  if constexpr (std::is_same_v<P, std::remove_cvref_t<A>>) {
    return const_cast<P&>(a);
  } else {
    static_assert(
        std::is_convertible_v<A&, P>,
        "tessera: an argument does not convert to the parameter's type (a std::vector is made an "
        "array by Array(values))");
    return a;
  }
}

/// Accepts any function, but is a worse match than a template parameter for the function itself.
struct AnyFunction {
  template <class F>
  AnyFunction(F&&) {}
};

template <class T, std::size_t I>
struct NthOf;
template <class First, class... Rest, std::size_t I>
struct NthOf<Types<First, Rest...>, I> : NthOf<Types<Rest...>, I - 1> {};
template <class First, class... Rest>
struct NthOf<Types<First, Rest...>, 0> {
  using type = First;
};

}  // namespace tessera::inline v0::detail
