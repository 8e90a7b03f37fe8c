// Random convolutions for the tests of our loops: their sizes, and how a failing one is shrunk.
#pragma once

#include "ir/attrs.h"
#include "ops/contraction/conv_dims.h"

#include <cstdint>
#include <ostream>
#include <vector>

namespace tessera::testing {

struct Dimension {
  std::int64_t in = 1, window = 1, stride = 1, dilation = 1, holes = 1, low = 0, high = 0;
};

struct Geometry {
  std::int64_t batch = 1, inputs = 1, outputs = 1, groups = 1;
  std::vector<Dimension> dims;
  int layout = 0;   // numbered by each test
  double work = 1;  // that is announced, and decides the number of tasks
  int special = 0;  // infinite elements and NaN
  unsigned seed = 0;
  bool depthwise = false;  // with channels as lanes
};

inline std::ostream& operator<<(std::ostream& out, const Geometry& g) {
  out << "batch " << g.batch << ", " << g.inputs << " to " << g.outputs << " channels in "
      << g.groups << " groups, layout " << g.layout << ", work " << g.work << ", special "
      << g.special << ", seed " << g.seed;
  for (const Dimension& d : g.dims)
    out << "; in " << d.in << " window " << d.window << " stride " << d.stride << " dilation "
        << d.dilation << " holes " << d.holes << " padding " << d.low << " " << d.high;
  return out;
}

inline std::int64_t outputs_of(const Dimension& d) {
  return ops::window_count(ops::dilated(d.in, d.holes) + d.low + d.high,
                           ops::dilated(d.window, d.dilation), d.stride);
}

inline Shape arranged(const Ints& spec, const Ints& extents) {
  Shape s(extents);
  for (std::size_t i = 0; i < spec.size(); ++i) s[spec[i]] = extents[i];
  return s;
}

/// Returns the smallest case near `g` that still fails.
template <class Fails>
Geometry shrunk(Geometry g, Fails fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    auto attempt = [&](const Geometry& candidate) {
      if (smaller || !fails(candidate)) return;
      g = candidate;
      smaller = true;
    };
    for (auto member : {&Geometry::batch, &Geometry::inputs, &Geometry::outputs, &Geometry::groups})
      for (std::int64_t to : {std::int64_t{1}, g.*member / 2, g.*member - 1}) {
        Geometry candidate = g;
        if (to < 1 || to >= g.*member) continue;
        candidate.*member = to;
        attempt(candidate);
      }
    for (std::size_t i = 0; i < g.dims.size(); ++i) {
      for (auto member : {&Dimension::in, &Dimension::window, &Dimension::stride,
                          &Dimension::dilation, &Dimension::holes}) {
        Geometry candidate = g;
        if (g.dims[i].*member == 1) continue;
        --(candidate.dims[i].*member);
        attempt(candidate);
      }
      for (auto member : {&Dimension::low, &Dimension::high}) {
        Geometry candidate = g;
        if (g.dims[i].*member == 0) continue;
        candidate.dims[i].*member = 0;
        attempt(candidate);
      }
    }
  }
  return g;
}

}  // namespace tessera::testing
