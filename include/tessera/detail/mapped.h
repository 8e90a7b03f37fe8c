// A function that runs on the devices of a mesh, as pmap and shard_map give it.
#pragma once

#include <tessera/jit.h>

#include <cstddef>
#include <memory>
#include <source_location>
#include <utility>

namespace tessera::inline v0 {

template <class F>
class Mapped {
 public:
  using tessera_function = F;

  /// `what` made it at `loc`.
  Mapped(F f, std::shared_ptr<detail::CachedFunction> cache, const char* what,
         std::source_location loc)
      : f_(std::make_shared<F>(std::move(f))), cache_(std::move(cache)), what_(what), made_(loc) {}

  template <class... A>
  auto operator()(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        detail::still_here(f_, what_, made_),
        [&](auto& call) { return call.result(cache_->run(call, detail::moved_mask<A...>())); },
        args...);
  }
  /// Traces without running; arguments may be abstract.
  template <class... A>
  LoweredFunction<F> lower(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        detail::still_here(f_, what_, made_),
        [&](auto& call) {
          return LoweredFunction<F>(Lowered(cache_, cache_->find_or_build(call), made_), f_);
        },
        args...);
  }
  /// How often the function was traced to the end.
  std::size_t trace_count() const { return detail::still_here(cache_, what_, made_).trace_count(); }

 private:
  std::shared_ptr<F> f_;
  std::shared_ptr<detail::CachedFunction> cache_;
  const char* what_;
  std::source_location made_;
};

}  // namespace tessera::inline v0
