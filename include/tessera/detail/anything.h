// Placeholders for options that a function does not have. Overloads that take them are unavailable,
// with an explanation as the compiler's error.
#pragma once

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

}  // namespace tessera::inline v0::detail
