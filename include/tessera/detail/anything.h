// Placeholders for options that a function does not have. Overloads that take them are unavailable,
// with an explanation as the compiler's error.
#pragma once

#include <tessera/axis_list.h>

#include <initializer_list>
#include <type_traits>

namespace tessera::inline v0::detail {

/// The type of a nonexistent option, and of the result of a call with one. It converts from
/// anything and can be called with anything, so that the only error is about the option's name.
struct Anything {
  Anything() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Anything>) Anything(T&&) {}
  Anything(std::initializer_list<Anything>) {}
  template <class... A>
  Anything operator()(A&&...) const {
    return {};
  }
};

/// Option names for reductions that do not exist: those of other libraries, common misspellings,
/// and options of other reductions, each listed at the position of the option that it stands for.
struct NoReduceOption {
  Named named = Named();
  Anything dim{}, dims{}, axes{}, axis{}, keepdim{}, keep_dims{}, keepdims{}, out{}, type{},
      dtype{}, correction{}, unbiased{}, ddof{}, p{}, ord{}, initial{}, init{}, mask{}, where{},
      reverse{}, exclusive{};
};

}  // namespace tessera::inline v0::detail
