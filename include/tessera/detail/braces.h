// Overloads for calls that leave out the braces of a list: the compiler refuses them with a
// sentence that says where the braces go.
#pragma once

#include <tessera/array.h>

/// After zeros(shape, ...): zeros(2, 3) is refused.
#define TESSERA_SHAPE_IN_BRACES_(name, text)       \
  template <Position A, Position B, class... More> \
  __attribute__((unavailable("tessera: a shape goes in braces: " text))) Array name(A, B, More...)
/// The same where an operand comes before the shape: random::normal(key, 2, 3) is refused.
#define TESSERA_LATER_SHAPE_IN_BRACES_(name, text)                                                 \
  template <Position A, Position B, class... More>                                                 \
  __attribute__((unavailable("tessera: a shape goes in braces: " text))) Array name(Operand, A, B, \
                                                                                    More...)
/// After concatenate(arrays, ...): concatenate(a, b) is refused.
#define TESSERA_ARRAYS_IN_BRACES_(name, text)                                             \
  template <class... More>                                                                \
  __attribute__((unavailable("tessera: several arrays go in braces: " text))) Array name( \
      const Array&, const Array&, const More&...)
