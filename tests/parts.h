// The parts of complex arrays as real ones, for tests that draw and compare numbers.
#pragma once

#include "ir/host_array.h"

namespace parts {

/// A dimension of 2 more, last; in the same memory. Other arrays are themselves.
inline tessera::HostArray of(tessera::HostArray a) {
  if (!tessera::is_complex(a.dtype)) return a;
  a.dtype = tessera::real_dtype(a.dtype);
  a.shape.push_back(2);
  return a;
}
inline tessera::Type of(tessera::Type t) {
  if (!tessera::is_complex(t.dtype)) return t;
  t.dtype = tessera::real_dtype(t.dtype);
  t.shape.push_back(2);
  return t;
}
/// The inverse of `of` for dtype `d`.
inline tessera::HostArray joined(tessera::HostArray a, tessera::DType d) {
  if (!tessera::is_complex(d)) return a;
  a.dtype = d;
  a.shape.pop_back();
  return a;
}

}  // namespace parts
