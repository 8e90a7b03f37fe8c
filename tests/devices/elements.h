// The elements of arrays, one list for each member of the mapped axes: rows and slabs along an axis,
// and how they are put together.
#pragma once

#include "numbers.h"
#include "program.h"

#include <cstddef>
#include <vector>

namespace devices {

using Elements = std::vector<Number>;

struct Value {
  Extents shape;
  std::vector<Elements> members;  // by member: elements, row-major
  bool varies = false;            // by its type, along the axis of the region around
};
using Values = std::vector<Value>;

// The number of elements before an axis, along it and after it.
struct Cut {
  std::int64_t outer, extent, inner;
  Cut(const Extents& s, std::int64_t axis)
      : outer(1), extent(s[static_cast<std::size_t>(axis)]), inner(1) {
    for (std::size_t d = 0; d < s.size(); ++d)
      (static_cast<std::int64_t>(d) < axis ? outer : inner) *=
          static_cast<std::int64_t>(d) == axis ? 1 : s[d];
  }
  std::size_t at(std::int64_t o, std::int64_t k, std::int64_t i) const {
    return static_cast<std::size_t>((o * extent + k) * inner + i);
  }
};
inline Elements row(const Elements& x, const Extents& shape, std::int64_t axis, std::int64_t k) {
  const Cut c(shape, axis);
  Elements r;
  for (std::int64_t o = 0; o < c.outer; ++o)
    for (std::int64_t i = 0; i < c.inner; ++i) r.push_back(x[c.at(o, k, i)]);
  return r;
}
inline Elements stacked(const std::vector<Elements>& rows, const Extents& shape,
                        std::int64_t axis) {
  const Cut c(shape, axis);
  Elements r(static_cast<std::size_t>(count_of(shape)));
  for (std::int64_t k = 0; k < c.extent; ++k) {
    std::size_t next = 0;
    for (std::int64_t o = 0; o < c.outer; ++o)
      for (std::int64_t i = 0; i < c.inner; ++i)
        r[c.at(o, k, i)] = rows[static_cast<std::size_t>(k)][next++];
  }
  return r;
}
// Concatenates equal slabs along an axis.
inline Elements joined(const std::vector<Elements>& slabs, const Extents& slab, std::int64_t axis) {
  const Cut c(slab, axis);
  Elements r;
  for (std::int64_t o = 0; o < c.outer; ++o)
    for (const Elements& s : slabs)
      for (std::int64_t k = 0; k < c.extent; ++k)
        for (std::int64_t i = 0; i < c.inner; ++i) r.push_back(s[c.at(o, k, i)]);
  return r;
}
inline Elements slab(const Elements& x, const Extents& shape, std::int64_t axis,
                     std::int64_t number, std::int64_t count) {
  const Cut c(shape, axis);
  const std::int64_t size = c.extent / count;
  Elements r;
  for (std::int64_t o = 0; o < c.outer; ++o)
    for (std::int64_t k = number * size; k < (number + 1) * size; ++k)
      for (std::int64_t i = 0; i < c.inner; ++i) r.push_back(x[c.at(o, k, i)]);
  return r;
}
inline Number total(const Elements& x) {
  Number s;
  for (const Number& e : x) s = s + e;
  return s;
}

// Lets the values vary where others do, or all of them; returns whether that changed a type.
inline bool grow(Values& v, const Values& by, bool all = false) {
  bool grew = false;
  for (std::size_t k = 0; k < v.size(); ++k) {
    const bool now = v[k].varies || by[k].varies || all;
    grew = grew || now != v[k].varies;
    v[k].varies = now;
  }
  return grew;
}

// Selects x for the members whose entry in `first` is true, and y for the others.
inline Values chosen(const std::vector<bool>& first, const Values& x, const Values& y) {
  Values r = y;
  for (std::size_t k = 0; k < r.size(); ++k)
    for (std::size_t m = 0; m < first.size(); ++m)
      if (first[m]) r[k].members[m] = x[k].members[m];
  return r;
}
inline Values part(const Values& v, std::size_t begin, std::size_t end) {
  return {v.begin() + static_cast<std::ptrdiff_t>(begin),
          v.begin() + static_cast<std::ptrdiff_t>(end)};
}
inline Values with(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace devices
