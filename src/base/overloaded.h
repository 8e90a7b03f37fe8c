// A visitor made of lambdas, one for each alternative of a variant. std::visit does not compile if
// an alternative is missing, as long as none of the lambdas is generic.
#pragma once

namespace tessera::inline v0 {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace tessera::inline v0
