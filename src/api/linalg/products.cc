#include <tessera/products.h>

#include "api/numpy/array_helpers.h"

#include <tessera/contractions.h>

#include <algorithm>

namespace tessera::inline v0 {

using detail::composed1;
using detail::rank_of;

namespace {
using In = std::span<const Array>;

[[noreturn]] void lengths_differ(const char* name, In in, const char* rule, const char* advice,
                                 const SourceLoc& loc) {
  Message(name)
      .problem("the operands have shapes " + to_string(in[0].shape()) + " and " +
               to_string(in[1].shape()))
      .rule(rule)
      .from(loc)
      .advice(advice)
      .raise<ShapeError>();
}
}  // namespace

Array vdot(Operand x, Operand y) {
  return composed1("vdot", {x.array, y.array}, x.loc, [&](In in) {
    if (in[0].size() != in[1].size())
      lengths_differ("vdot", in, "both have as many elements", "take a part of one", x.loc);
    return dot(conj(ravel(in[0])), ravel(in[1]));
  });
}

Array vecdot(Operand x, Operand y, std::int64_t axis) {
  return composed1("vecdot", {x.array, y.array}, x.loc, [&](In in) {
    const Array a = moveaxis(in[0], axis, -1), b = moveaxis(in[1], axis, -1);
    if (a.shape().back() != b.shape().back())
      lengths_differ("vecdot", in, "both have as many elements along the axis",
                     "take a part of one", x.loc);
    return squeeze(matmul(expand_dims(conj(a), -2), expand_dims(b, -1)), {-2, -1});
  });
}

Array cross(Operand x, Operand y, std::int64_t axis) {
  return composed1("cross", {x.array, y.array}, x.loc, [&](In in) {
    Array a = moveaxis(in[0], axis, -1), b = moveaxis(in[1], axis, -1);
    const std::int64_t n = a.shape().back(), m = b.shape().back();
    if (n < 2 || n > 3 || m < 2 || m > 3)
      lengths_differ("cross", in, "vectors have 2 or 3 elements along the axis",
                     "name another axis: cross(x, y, 0)", x.loc);
    const auto at = [](const Array& v, std::int64_t i) {
      return detail::element_of(v, rank_of(v) - 1, i);
    };
    const auto minor = [&](std::int64_t i, std::int64_t j) {
      return subtract(multiply(at(a, i), at(b, j)), multiply(at(a, j), at(b, i)));
    };
    if (n == 2 && m == 2) return minor(0, 1);
    const auto of_three = [](const Array& v) {
      std::vector<std::pair<std::int64_t, std::int64_t>> widths(v.shape().size());
      widths.back().second = 3 - v.shape().back();
      return pad(v, widths);
    };
    a = of_three(a), b = of_three(b);
    return moveaxis(stack({minor(1, 2), minor(2, 0), minor(0, 1)}, -1), -1, axis);
  });
}

Array kron(Operand x, Operand y) {
  return composed1("kron", {x.array, y.array}, x.loc, [&](In in) {
    Shape a = in[0].shape(), b = in[1].shape(), merged;
    while (a.rank() < b.rank()) a.insert(a.begin(), 1);
    while (b.rank() < a.rank()) b.insert(b.begin(), 1);
    Shape outer, inner;
    for (std::size_t i = 0; i < a.size(); ++i) {
      outer.push_back(a[i]), outer.push_back(1);
      inner.push_back(1), inner.push_back(b[i]);
      merged.push_back(a[i] * b[i]);
    }
    return multiply(in[0].reshape(outer), in[1].reshape(inner)).reshape(merged);
  });
}

Array batch_matmul(Operand x, Operand y) {
  return composed1("batch_matmul", {x.array, y.array}, x.loc, [&](In in) {
    const Shape &a = in[0].shape(), &b = in[1].shape();
    if (a.rank() < 2 || a.rank() != b.rank() || !std::equal(a.begin(), a.end() - 2, b.begin()))
      lengths_differ("batch_matmul", in, "both have the same axes before the last two",
                     "matmul broadcasts them", x.loc);
    return matmul(in[0], in[1]);
  });
}

}  // namespace tessera::inline v0
