// Overloads for calls that omit the braces of a list. The compiler rejects them with a message that
// states where the braces go.
#pragma once

#include <tessera/array.h>

/// For functions such as zeros(shape, ...): zeros(2, 3) is rejected.
#define TESSERA_SHAPE_IN_BRACES_(name, text)       \
  template <Position A, Position B, class... More> \
  __attribute__((unavailable("tessera: a shape goes in braces: " text))) Array name(A, B, More...)
/// For functions with an operand before the shape: random::normal(key, 2, 3) is rejected.
#define TESSERA_LATER_SHAPE_IN_BRACES_(name, text)                                                 \
  template <Position A, Position B, class... More>                                                 \
  __attribute__((unavailable("tessera: a shape goes in braces: " text))) Array name(Operand, A, B, \
                                                                                    More...)
/// For functions such as concatenate(arrays, ...): concatenate(a, b) is rejected.
#define TESSERA_ARRAYS_IN_BRACES_(name, text)                                             \
  template <class... More>                                                                \
  __attribute__((unavailable("tessera: several arrays go in braces: " text))) Array name( \
      const Array&, const Array&, const More&...)
