// std::complex as an incomplete type. <complex> includes <sstream> and the special functions of
// <cmath>, which would be a sixth of all lines that tessera.h includes, although few programs use
// complex numbers. A program that uses std::complex includes <complex> itself, before or after this
// header.
#pragma once

#include <cstddef>

// Only the standard library may declare its own names. The declaration is therefore repeated only
// for the one library in which it is known: libstdc++ without a versioned namespace.
#if defined(__GLIBCXX__) && !_GLIBCXX_INLINE_VERSION
namespace std __attribute__((visibility("default"))) {
  template <class T>
  class complex;
}  // namespace std
#else
#include <complex>
#endif
