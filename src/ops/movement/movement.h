// Shared by ops that only move data: types, linear derivatives, plain copying.
#pragma once

#include "ir/routine.h"
#include "ops/batching.h"
#include "ops/build.h"

#include <cstring>

namespace tessera::inline v0::ops {

/// The type of x with another shape.
inline Type with_shape(const Type& x, Shape shape) {
  return Type(x.dtype, std::move(shape), x.weak);
}
inline Shape to_shape(const Ints& v) { return Shape(v.begin(), v.end()); }
inline Ints to_ints(const Shape& s) { return s.to_vector(); }
inline Ints filled(std::size_t n, std::int64_t value) { return Ints(n, value); }
inline bool contains(const Ints& v, std::int64_t x) {
  for (std::int64_t e : v)
    if (e == x) return true;
  return false;
}
/// 0, 1, ..., n-1
inline Ints iota_ints(int n) {
  Ints v;
  for (int i = 0; i < n; ++i) v.push_back(i);
  return v;
}
/// `v` with `value` inserted before position `at`.
inline Ints inserted(Ints v, int at, std::int64_t value) {
  v.insert(v.begin() + at, value);
  return v;
}
std::string to_string(const Ints& v);  // "(1, 2)"

/// Throws unless the attribute has one entry per dimension of the operand.
void check_one_a_dim(const InferArgs& a, const char* attr, const Ints& v, const Shape& operand);
/// Throws unless all entries are distinct dimensions of `shape`.
void check_dims(const InferArgs& a, const char* attr, const Ints& dims, const Shape& shape);

/// The tangent of an op that is jointly linear in the inputs `which` (all if empty): the same op on
/// their tangents, with zeros for absent ones unless all are absent. The other inputs are passed
/// unchanged.
JvpRule linear_jvp(std::vector<int> which = {});

/// x[..., order[..., i, ...], ...] along dimension d; the shapes may differ only along d.
Value take_along(Value x, Value order, int d);

/// The local rule of sort; sort_parts.cc.
Values sort_local(const LocalArgs& a);
/// The routines of a concatenation with many operands (concatenate_call.cc) and of a sort
/// (src/codegen/calls/sort.cc).
std::shared_ptr<const Routine> concatenate_call(const CallArgs& a);
std::shared_ptr<const Routine> sort_call(const CallArgs& a);

/// Counts the bytes read and written, and no arithmetic.
CostRule movement_cost();

/// Copies element by element: out[index] = in[source(index)], where source returns a flat position.
template <class F>
void copy_elements(const HostArray& in, HostArray& out, F&& source) {
  auto n = static_cast<std::size_t>(size_of(in.dtype));
  std::byte* to = out.bytes;
  for_each_index(out.shape, [&](const Shape& index) {
    std::memcpy(to, in.bytes + static_cast<std::size_t>(source(index)) * n, n);
    to += n;
  });
}

}  // namespace tessera::inline v0::ops
