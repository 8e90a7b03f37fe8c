// Derivatives. Every function here takes a callable over trees of arrays, traces it, and
// differentiates the resulting program.
//
//   auto [loss, grads] = ts::value_and_grad(mse)(model, x, y);   // grads is a tree like model
//   auto [dw, db] = ts::grad<0, 1>(f)(w, b);
//
// A gradient has the tree type of its argument, with an empty leaf for every leaf that is integer,
// boolean or empty. Captured values are constants to the differentiated callable, but outer
// transformations still see them.
//
// A function that returns std::pair<Array, Aux> has auxiliary results: grad returns (gradients,
// aux), and value_and_grad returns ((value, aux), gradients).
#pragma once

#include <tessera/detail/derivatives.h>
#include <tessera/detail/foreign_options.h>
#include <tessera/elementwise.h>
#include <memory>

#include <map>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// The callable that grad and value_and_grad return. It takes the arguments of F.
template <bool WithValue, class F, int... I>
class GradOf {
 public:
  using tessera_function = F;
  GradOf(F f, std::source_location loc) : f_(std::move(f)), loc_(loc) {}

  template <class... A>
  auto operator()(A&&... args) const {
    // A generic callable receives a differentiated number as an array, so only other callables are
    // checked.
    if constexpr (detail::Deduced<F>::known) {
      TESSERA_CHECK_CALL_(F, A);
    }
    auto use = [&](auto& call) {
      using Result = typename std::remove_reference_t<decltype(call)>::Result;
      constexpr bool aux = detail::is_pair_with_aux<Result>;
      static_assert(aux || std::is_same_v<Result, Array>,
                    "tessera: a function to differentiate returns an Array, or a pair of an Array "
                    "and auxiliary results");
      constexpr int argnums[] = {I...};
      detail::GradOutcome o =
          detail::value_and_grad(WithValue ? "value_and_grad" : "grad", call, argnums, loc_);
      auto gradients = detail::gradients_like<I...>(call, o.gradients);
      if constexpr (WithValue)
        return std::pair(call.result(o.result), std::move(gradients));
      else if constexpr (aux)
        return std::pair(std::move(gradients), call.result(o.result).second);
      else
        return gradients;
    };
    return detail::with_call_as(
        detail::differentiable_types_at<F, I...>(detail::argument_types<F, A...>()), f_, use,
        args...);
  }

 private:
  mutable F f_;
  std::source_location loc_;
};

#define TESSERA_ARGNUMS_(name)                                                             \
  __attribute__((                                                                          \
      unavailable("tessera: the arguments to differentiate are template arguments: " #name \
                  "<1>(f), " #name "<0, 1>(f)"))) detail::Anything
#define TESSERA_NO_ARGNUMS_(name)                                       \
  template <detail::NamesArguments T>                                   \
  TESSERA_ARGNUMS_(name)                                                \
  name(detail::AnyFunction, T&&);                                       \
  TESSERA_ARGNUMS_(name) name(detail::AnyFunction, detail::BracedAxes); \
  TESSERA_ARGNUMS_(name) name(detail::AnyFunction, detail::NoGradOption)
TESSERA_NO_ARGNUMS_(grad);
TESSERA_NO_ARGNUMS_(value_and_grad);
#undef TESSERA_NO_ARGNUMS_
#undef TESSERA_ARGNUMS_

/// grad(f)(args...) returns the gradient of the scalar f(args...) with respect to argument 0;
/// grad<1, 2>(f) returns a tuple of the gradients with respect to arguments 1 and 2. Throws
/// ShapeError if the result is not a scalar, and DTypeError if the result or an argument to
/// differentiate is not floating.
template <int... I, class F>
auto grad(F&& f, std::source_location loc = std::source_location::current()) {
  if constexpr (sizeof...(I) == 0)
    return GradOf<false, std::decay_t<F>, 0>(std::forward<F>(f), loc);
  else
    return GradOf<false, std::decay_t<F>, I...>(std::forward<F>(f), loc);
}

/// Like grad, but returns the pair (value, gradients).
template <int... I, class F>
auto value_and_grad(F&& f, std::source_location loc = std::source_location::current()) {
  if constexpr (sizeof...(I) == 0)
    return GradOf<true, std::decay_t<F>, 0>(std::forward<F>(f), loc);
  else
    return GradOf<true, std::decay_t<F>, I...>(std::forward<F>(f), loc);
}

/// Returns the value of f and its derivative along `tangents`: a pair of trees like the result.
/// `primals` and `tangents` are a single argument each, or std::tuples of all arguments. Tangents
/// have the arguments' trees, dtypes and shapes, and are empty at integer leaves (an empty tangent
/// is zero). An integer result has an empty tangent.
template <class F, class P, class T>
auto jvp(F&& f, const P& primals, const T& tangents,
         std::source_location loc = std::source_location::current()) {
  auto all = detail::as_tuple(primals);
  return std::apply(
      [&](auto&... x) {
        auto use = [&]<class C>(C& call) {
          using Given = decltype(detail::as_tuple(tangents));
          static_assert(std::tuple_size_v<Given> == C::Params::size,
                        "tessera: jvp needs one tangent for each primal");
          auto t = detail::Converted<typename C::Params, Given>::from(detail::as_tuple(tangents));
          detail::Recorder recorder;
          detail::walk(t, recorder);
          detail::JvpOutcome o = detail::jvp(call, recorder, tree::structure(t), loc);
          using R = typename C::Result;
          R tangent = *static_cast<const R*>(o.result.prototype.get());
          detail::fill(&detail::walk_erased<R>, &tangent, o.tangents);
          return std::pair(call.result(o.result), std::move(tangent));
        };
        return detail::with_call_as(
            [&] {
              auto types = detail::argument_types<std::decay_t<F>, decltype(x)...>();
              if constexpr (detail::Deduced<std::decay_t<F>>::known)
                return types;
              else
                return []<class... Q>(detail::Types<Q...>) {
                  return detail::Types<detail::Differentiable<Q>...>{};
                }(types);
            }(),
            f, use, x...);
      },
      all);
}

/// The pullback of f at a point: a function from a cotangent of the result to cotangents of the
/// arguments (a single tree for one argument, else a tuple of trees).
template <class Result, class... P>
class Vjp {
 public:
  Vjp(detail::LinearMap map, std::tuple<P...> args, Result result)
      : map_(std::move(map)), args_(std::move(args)), result_(std::move(result)) {}
  /// Throws TreeError if the cotangent has another structure than the result, ShapeError if a dtype
  /// or shape differs, and CollectiveError if it varies over mapped axes that the result does not.
  auto operator()(const Result& cotangent,
                  std::source_location loc = std::source_location::current()) const {
    detail::Recorder in;
    detail::walk_const(cotangent, in);
    const std::vector<Array> out = map_(in, tree::structure(cotangent), loc);
    std::tuple<P...> back = args_;
    detail::fill(&detail::walk_erased<std::tuple<P...>>, &back, out);
    if constexpr (sizeof...(P) == 1)
      return std::get<0>(std::move(back));
    else
      return back;
  }

 private:
  detail::LinearMap map_;
  std::tuple<P...> args_;  // for their structure
  Result result_;
};

/// The derivative of f at a point: a linear function from tangents of the arguments to the tangent
/// of the result.
template <class Result, class... P>
class Linear {
 public:
  Linear(detail::LinearMap map, std::shared_ptr<const void> prototype)
      : map_(std::move(map)), prototype_(std::move(prototype)) {}
  Result operator()(const P&... tangents,
                    std::source_location loc = std::source_location::current()) const {
    std::tuple<const P&...> all(tangents...);
    detail::Recorder in;
    std::apply([&](const P&... t) { (detail::walk_const(t, in), ...); }, all);
    return detail::restore<Result>(
        {map_(in, tree::structure(std::tuple<P...>(tangents...)), loc), prototype_});
  }

 private:
  detail::LinearMap map_;
  std::shared_ptr<const void> prototype_;
};

// vjp and linearize are constructors of the pairs that they return, because a function with a
// parameter pack cannot have the caller's location as a defaulted last parameter, whereas a
// constructor with a deduction guide can.

/// Returns f(args...) and its pullback: auto [y, back] = ts::vjp(f, args...).
template <class F, class... A>
struct vjp : detail::VjpPair<F, A...> {
  vjp(F&& f, A&&... args, std::source_location loc = std::source_location::current())
      : detail::VjpPair<F, A...>(detail::vjp_at(loc, f, args...)) {}
};
template <class F, class... A>
vjp(F&&, A&&...) -> vjp<F, A...>;

/// Returns f(args...) and the derivative there as a linear function, which is cheap to apply
/// repeatedly: auto [y, forward] = ts::linearize(f, args...).
template <class F, class... A>
struct linearize : detail::LinearPair<F, A...> {
  linearize(F&& f, A&&... args, std::source_location loc = std::source_location::current())
      : detail::LinearPair<F, A...>(detail::linearize_at(loc, f, args...)) {}
};
template <class F, class... A>
linearize(F&&, A&&...) -> linearize<F, A...>;

/// Jacobians. Each leaf of a Jacobian has shape result.shape + argument.shape. If the result is a
/// single Array, the Jacobian is a tree like the argument; if the argument is a single Array, it is
/// a tree like the result. If both are trees, it is a std::map from the path of each leaf of the
/// result ("" for a bare leaf, "layers/0/w") to a tree like the argument.
template <bool Forward, class F, int I>
class JacobianOf {
 public:
  using tessera_function = F;
  JacobianOf(F f, std::source_location loc) : f_(std::move(f)), loc_(loc) {}

  template <class... A>
  auto operator()(A&&... args) const {
    auto use = [&]<class C>(C& call) {
      using Result = typename C::Result;
      using Argument = typename detail::NthOf<typename C::Params, I>::type;
      constexpr int argnums[] = {I};
      std::vector<Array> blocks;
      detail::Outcome o =
          detail::jacobian(Forward ? "jacfwd" : "jacrev", call, argnums, Forward, blocks, loc_);
      if constexpr (std::is_same_v<Result, Array>) {
        return detail::gradients_like<I>(call, blocks);
      } else if constexpr (std::is_same_v<Argument, Array>) {
        return detail::restore<Result>({std::move(blocks), o.prototype});
      } else {
        std::map<std::string, Argument> rows;
        std::span<const Array> left(blocks.data(), blocks.size());
        const std::size_t row = call.arg_ends[I] - call.arg_begin(I);
        for (const std::string& path : call.describe_result().paths())
          rows.emplace(path, detail::restore_like(call.template arg<I>(), row, left));
        return rows;
      }
    };
    return detail::with_call_as(
        detail::differentiable_types_at<F, I>(detail::argument_types<F, A...>()), f_, use, args...);
  }

 private:
  mutable F f_;
  std::source_location loc_;
};

/// Returns a tree whose leaves are constants to every derivative.
template <class T>
requires(!std::is_convertible_v<T, Operand>) T stop_gradient(const T& x) {
  return tree::map([](const Array& a) { return stop_gradient(Operand(a)); }, x);
}

/// The Jacobian column by column, in forward mode: best for functions with few inputs.
template <int I = 0, class F>
auto jacfwd(F&& f, std::source_location loc = std::source_location::current()) {
  return JacobianOf<true, std::decay_t<F>, I>(std::forward<F>(f), loc);
}
/// The Jacobian row by row, in reverse mode: best for functions with few outputs.
template <int I = 0, class F>
auto jacrev(F&& f, std::source_location loc = std::source_location::current()) {
  return JacobianOf<false, std::decay_t<F>, I>(std::forward<F>(f), loc);
}
/// Second derivatives, computed forward over reverse. For a function of one Array the shape is
/// result.shape + x.shape + x.shape. For a scalar function of a tree the result is a std::map from
/// the path of a leaf to a tree like the argument: hessian(f)(model)["w"].b is d2f / dw db, of
/// shape w.shape + b.shape.
template <int I = 0, class F>
auto hessian(F&& f, std::source_location loc = std::source_location::current()) {
  return jacfwd<I>(jacrev<I>(std::forward<F>(f), loc), loc);
}

}  // namespace tessera::inline v0
