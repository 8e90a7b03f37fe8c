// A reference to a callable, for functions that call what they are given and do not keep it.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tessera::inline v0 {

template <class Signature>
class FunctionRef;

/// Does not own the callable, which has to outlive the call that it is passed to. A function that
/// takes a FunctionRef is compiled once, whereas a template is compiled for each of its callers.
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<R, F&, A...>) FunctionRef(F&& f)
      : callable_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* callable, A... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(callable))(std::forward<A>(args)...);
        }) {}
  R operator()(A... args) const { return call_(callable_, std::forward<A>(args)...); }

 private:
  void* callable_;
  R (*call_)(void*, A...);
};

}  // namespace tessera::inline v0
