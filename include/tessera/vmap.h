// vmap turns a function of single examples into one of stacked examples.
//
//   auto rows = ts::vmap([](Array x, Array w) { return ts::dot(x, w); },
//                        {.in_axes = {0, ts::replicated}});
//
// The function is traced on one example (without the mapped axis), and its program is rewritten to
// process all of them at once, without a loop.
#pragma once

#include <tessera/axes.h>
#include <tessera/detail/call.h>
#include <tessera/detail/foreign_options.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

namespace tessera::inline v0 {

/// The options of vmap.
struct VmapOptions {
  /// The mapped axis of each leaf of the arguments: one for all, or a list with one entry per
  /// argument. Entries for parameters left to their defaults are ignored.
  Axes in_axes = 0;
  /// The axis along which each leaf of the result is stacked. A result that does not depend on a
  /// mapped argument is repeated. `replicated` returns it unstacked, and is an error for a result
  /// that does depend on one.
  Axes out_axes = 0;
  /// A name for collectives over the mapped axis: ts::psum(x, "batch").
  std::string axis_name = {};
  /// The size of the axis; required only if no argument is mapped.
  std::int64_t axis_size = 0;
};

namespace detail {
TESSERA_API Outcome vmap(Call& call, const VmapOptions& options, std::source_location loc);
}

/// The callable that vmap returns. It takes the arguments of F with one more axis where `in_axes`
/// maps one.
template <class F>
class Vmap {
 public:
  using tessera_function = F;
  Vmap(F f, VmapOptions options, std::source_location loc)
      : f_(std::move(f)), options_(std::move(options)), loc_(loc) {}

  template <class... A>
  auto operator()(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        f_, [&](auto& call) { return call.result(detail::vmap(call, options_, loc_)); }, args...);
  }

 private:
  mutable F f_;
  VmapOptions options_;
  std::source_location loc_;
};

__attribute__((unavailable(
    "tessera: vmap has no option of this name; its options, in this order: in_axes, out_axes, "
    "axis_name, axis_size (ts::map has batch_size)"))) detail::Anything
vmap(detail::AnyFunction, const detail::NoVmapOption&);

/// Maps f over an axis of its arguments; static arguments are passed through. Throws a ShapeError
/// that lists every leaf if the mapped sizes disagree or an axis does not exist, and TreeError if
/// in_axes or out_axes are not a prefix of the tree.
template <class F>
Vmap<std::decay_t<F>> vmap(F&& f, VmapOptions options = {},
                           std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), std::move(options), loc};
}

}  // namespace tessera::inline v0
