// What stands for the options that a function does not have, in overloads that the compiler refuses
// with a sentence.
#pragma once

#include <tessera/axis_list.h>

#include <initializer_list>
#include <type_traits>

namespace tessera::inline v0::detail {

/// What an option that does not exist may be given, and what comes of a call with one: takes and
/// gives anything, so that the one error is about the option's name.
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

/// Options of reductions: those of other libraries, slips of the pen, and those that another
/// function has, in the order of those that they stand for.
struct NoReduceOption {
  Named named = Named();
  Anything dim{}, dims{}, axes{}, axis{}, keepdim{}, keep_dims{}, keepdims{}, out{}, type{},
      dtype{}, correction{}, unbiased{}, ddof{}, p{}, ord{}, initial{}, init{}, mask{}, where{},
      reverse{}, exclusive{};
};

}  // namespace tessera::inline v0::detail
