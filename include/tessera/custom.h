// Functions with custom derivative rules.
//
//   auto log1pexp = ts::custom_jvp([](Array x) { return ts::log(1 + ts::exp(x)); },
//                                  [](Array x, Array dx) {
//                                    return std::pair(ts::log(1 + ts::exp(x)),
//                                                     dx * ts::sigmoid(x));
//                                  });
//
//   auto clipped = ts::custom_vjp([](Array x) { return x; },
//                                 [](Array x) { return std::pair(x, std::tuple<>()); },
//                                 [](std::tuple<>, Array ct) { return ts::clip(ct, -1, 1); });
//
// Rules are traced when the function is differentiated. A rule may capture concrete arrays, but
// traced arrays must be arguments of the function.
#pragma once

#include <tessera/detail/call.h>
#include <memory>

#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tessera::inline v0 {
namespace detail {

/// Prepares a later call of a function on arguments of known trees, possibly on another thread.
class TESSERA_API CallMaker {
 public:
  virtual ~CallMaker() = default;
  /// Calls use(call, context) with a call whose argument leaves are all empty.
  virtual void make(void (*use)(Call&, void*), void* context) const = 0;
};

template <class F, class... P>
class CallMakerOf final : public CallMaker {
 public:
  CallMakerOf(std::shared_ptr<F> f, std::tuple<P...> values)
      : f_(std::move(f)), values_(std::move(values)) {}
  void make(void (*use)(Call&, void*), void* context) const override {
    std::tuple<P...> copy = values_;
    std::apply(
        [&](P&... values) {
          CallOf<F, P...> call(*f_, values...);
          use(call, context);
        },
        copy);
  }

 private:
  std::shared_ptr<F> f_;
  std::tuple<P...> values_;  // with empty leaves
};

/// Makes the backward rule's call from the forward rule's result, std::pair(result, residuals) with
/// empty leaves.
class TESSERA_API BackwardMaker {
 public:
  virtual ~BackwardMaker() = default;
  virtual std::unique_ptr<CallMaker> make(const void* forward_result) const = 0;
};
template <class Bwd, class R, class Residuals>
class BackwardMakerOf final : public BackwardMaker {
 public:
  explicit BackwardMakerOf(std::shared_ptr<Bwd> f) : f_(std::move(f)) {}
  std::unique_ptr<CallMaker> make(const void* forward_result) const override {
    const auto& p = *static_cast<const std::pair<R, Residuals>*>(forward_result);
    return std::make_unique<CallMakerOf<Bwd, Residuals, R>>(
        f_, std::tuple<Residuals, R>(p.second, p.first));
  }

 private:
  std::shared_ptr<Bwd> f_;
};

TESSERA_API Outcome custom_jvp(Call& function, std::unique_ptr<CallMaker> rule,
                               std::source_location loc);
TESSERA_API Outcome custom_vjp(Call& function, std::unique_ptr<CallMaker> forward,
                               std::unique_ptr<BackwardMaker> backward, std::source_location loc);

template <class F, class... P, class... Q>
auto call_maker(const std::shared_ptr<F>& f, const std::tuple<P...>& p, const std::tuple<Q...>& q) {
  return std::make_unique<CallMakerOf<F, P..., Q...>>(f, std::tuple_cat(p, q));
}
template <class F, class... T>
using ResultOf = std::decay_t<decltype(invoke_user(std::declval<F&>(), std::declval<T&>()...))>;
template <class F, class P, class Q>
struct ResultOn;
template <class F, class... P, class... Q>
struct ResultOn<F, Types<P...>, Types<Q...>> {
  using type = ResultOf<F, P..., Q...>;
};
template <class T, class R>
inline constexpr bool is_result_and_residuals = false;
template <class R, class Residuals>
inline constexpr bool is_result_and_residuals<std::pair<R, Residuals>, R> = true;
template <class P>
struct Cotangents;
template <class... P>
struct Cotangents<Types<P...>> {
  using type = std::tuple<P...>;
};
template <class P>
struct Cotangents<Types<P>> {
  using type = P;
};

}  // namespace detail

/// The callable that custom_jvp returns: it computes f, and its derivatives follow the rule.
template <class F, class Rule>
class CustomJvp {
 public:
  using tessera_function = F;
  CustomJvp(F f, Rule rule, std::source_location loc)
      : f_(std::make_shared<F>(std::move(f))),
        rule_(std::make_shared<Rule>(std::move(rule))),
        loc_(loc) {}

  template <class... A>
  auto operator()(A&&... args) const {
    return detail::with_call(
        detail::still_here(f_, "custom_jvp", loc_),
        [&]<class C>(C& call) {
          using R = typename C::Result;
          using Given =
              typename detail::ResultOn<Rule, typename C::Params, typename C::Params>::type;
          static_assert(std::is_same_v<Given, std::pair<R, R>>,
                        "tessera: the rule of custom_jvp takes (args..., tangents...) and returns "
                        "std::pair(result, tangent), "
                        "both of the function's result type");
          const auto empty = call.arg_copies();
          return call.result(
              detail::custom_jvp(call, detail::call_maker(rule_, empty, empty), loc_));
        },
        args...);
  }

 private:
  std::shared_ptr<F> f_;
  std::shared_ptr<Rule> rule_;
  std::source_location loc_;
};

/// Returns f with a custom derivative rule: rule(args..., tangents...) returns
/// std::pair(f(args...), its tangent). The rule serves forward mode, and reverse mode if it is
/// linear in the tangents. The tangents of integer leaves are empty.
template <class F, class Rule>
CustomJvp<std::decay_t<F>, std::decay_t<Rule>> custom_jvp(
    F&& f, Rule&& rule, std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), std::forward<Rule>(rule), loc};
}

/// The callable that custom_vjp returns: it computes f, and its reverse derivative follows the two
/// functions.
template <class F, class Fwd, class Bwd>
class CustomVjp {
 public:
  using tessera_function = F;
  CustomVjp(F f, Fwd fwd, Bwd bwd, std::source_location loc)
      : f_(std::make_shared<F>(std::move(f))),
        fwd_(std::make_shared<Fwd>(std::move(fwd))),
        bwd_(std::make_shared<Bwd>(std::move(bwd))),
        loc_(loc) {}

  template <class... A>
  auto operator()(A&&... args) const {
    return detail::with_call(
        detail::still_here(f_, "custom_vjp", loc_),
        [&]<class C>(C& call) {
          using R = typename C::Result;
          using Given = typename detail::ResultOn<Fwd, typename C::Params, detail::Types<>>::type;
          static_assert(
              detail::is_result_and_residuals<Given, R>,
              "tessera: the forward rule of custom_vjp returns std::pair(result, residuals)");
          using Residuals = typename Given::second_type;
          using Back = detail::ResultOf<Bwd, Residuals, R>;
          static_assert(std::is_same_v<Back, typename detail::Cotangents<typename C::Params>::type>,
                        "tessera: the backward rule of custom_vjp takes (residuals, cotangent) and "
                        "returns a cotangent for each "
                        "argument: a tuple of trees like the arguments, or the one tree");
          return call.result(detail::custom_vjp(
              call, detail::call_maker(fwd_, call.arg_copies(), std::tuple<>()),
              std::make_unique<detail::BackwardMakerOf<Bwd, R, Residuals>>(bwd_), loc_));
        },
        args...);
  }

 private:
  std::shared_ptr<F> f_;
  std::shared_ptr<Fwd> fwd_;
  std::shared_ptr<Bwd> bwd_;
  std::source_location loc_;
};

/// Returns f with a custom reverse-mode rule: fwd(args...) returns std::pair(f(args...),
/// residuals), and bwd(residuals, cotangent) returns the cotangents of the arguments, where an
/// empty leaf means zero. Forward mode throws TraceError.
template <class F, class Fwd, class Bwd>
CustomVjp<std::decay_t<F>, std::decay_t<Fwd>, std::decay_t<Bwd>> custom_vjp(
    F&& f, Fwd&& fwd, Bwd&& bwd, std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), std::forward<Fwd>(fwd), std::forward<Bwd>(bwd), loc};
}

}  // namespace tessera::inline v0
