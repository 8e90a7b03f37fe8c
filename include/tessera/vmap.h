// vmap: a function over single examples becomes one over a stack of them.
//
//   auto rows = ts::vmap([](Array x, Array w) { return ts::dot(x, w); },
//                        {.in_axes = {0, ts::replicated}});
//
// The function is traced on examples (the mapped axis removed) and its program rewritten; nothing
// loops.
#pragma once

#include <tessera/axes.h>
#include <tessera/detail/call.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

namespace tessera::inline v0 {

struct VmapOptions {
  /// The axis mapped in each leaf of the arguments: one for all, or a list with an entry an
  /// argument. Entries of parameters left to their defaults are ignored.
  Axes in_axes = 0;
  /// Where the stack goes in each leaf of the result. A result that does not depend on a mapped
  /// argument is repeated; `replicated` leaves it alone, and is an error for one that does depend.
  Axes out_axes = 0;
  /// A name for collectives over the mapped axis: ts::psum(x, "batch").
  std::string axis_name = {};
  /// Needed where no argument is mapped.
  std::int64_t axis_size = 0;
};

namespace detail {
TESSERA_API Outcome vmap(Call& call, const VmapOptions& options, std::source_location loc);
}

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

namespace detail {
/// Options of other libraries, and slips of the pen, in the order of those that they stand for.
struct NoVmapOption {
  Anything in_axis{}, in_dims{}, in_axes{}, out_axis{}, out_dims{}, out_axes{}, axis{}, axes{},
      axisname{}, spmd_axis_name{}, name{}, axis_name{}, size{}, axis_size{}, randomness{},
      chunk_size{}, batch_size{};
};
}  // namespace detail
__attribute__((unavailable(
    "tessera: vmap has no option of this name; its options, in this order: in_axes, out_axes, "
    "axis_name, axis_size (ts::map has batch_size)"))) detail::Anything
vmap(detail::AnyFunction, const detail::NoVmapOption&);

/// Maps f over an axis of its arguments. Static arguments pass through. Throws ShapeError listing
/// every leaf when the mapped sizes disagree or an axis does not exist, TreeError when in_axes or
/// out_axes fit no prefix of the tree.
template <class F>
Vmap<std::decay_t<F>> vmap(F&& f, VmapOptions options = {},
                           std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), std::move(options), loc};
}

}  // namespace tessera::inline v0
