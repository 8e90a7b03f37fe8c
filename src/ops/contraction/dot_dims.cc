#include "ops/contraction/dot_dims.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::ops {

DotDims dot_dims(const Attrs& attrs) {
  return {attrs.ints("lhs_contracting"), attrs.ints("rhs_contracting"), attrs.ints("lhs_batch"),
          attrs.ints("rhs_batch")};
}

Attrs dot_attrs(const DotDims& d, DType result) {
  return {{"lhs_contracting", d.lhs_contracting},
          {"rhs_contracting", d.rhs_contracting},
          {"lhs_batch", d.lhs_batch},
          {"rhs_batch", d.rhs_batch},
          {"dtype", result}};
}

Ints free_dims(int rank, const Ints& contracting, const Ints& batch) {
  Ints out;
  for (std::int64_t i = 0; i < rank; ++i)
    if (std::find(contracting.begin(), contracting.end(), i) == contracting.end() &&
        std::find(batch.begin(), batch.end(), i) == batch.end())
      out.push_back(i);
  return out;
}

bool multiplies_in_loops(const Type& lhs, const Type& rhs, const Type& result, const DotDims& d) {
  constexpr std::int64_t kMostElements = 16384;
  bool known =
      lhs.dtype == result.dtype && (lhs.dtype == DType::float32 || lhs.dtype == DType::float64);
  if (!known || !d.lhs_batch.empty() || result.shape.count() == 0) return false;
  std::int64_t k = 1;
  for (std::int64_t i : d.lhs_contracting) k *= lhs.shape[i];
  if (k <= 1) return k == 1;
  std::int64_t m = lhs.shape.count() / k, n = rhs.shape.count() / k;
  return m != n && (m == 1 || n == 1) && m * n * k <= kMostElements;
}

Value dot_general(Value lhs, Value rhs, const DotDims& dims) {
  return dot_general(lhs, rhs, dims, lhs.dtype());
}
Value dot_general(Value lhs, Value rhs, const DotDims& dims, DType result) {
  return lhs.builder->emit1("dot_general", {lhs, rhs}, dot_attrs(dims, result));
}

namespace {

Ints consecutive_ints(std::int64_t from, std::size_t n) {
  Ints out(n);
  std::iota(out.begin(), out.end(), from);
  return out;
}

bool is_identity(const Ints& p) { return p == consecutive_ints(0, p.size()); }

// Of two dtypes of one kind, the one that holds the values of both, if there is one.
DType wider(DType a, DType b) {
  if (is_inexact(a) && is_inexact(b)) return promote(a, false, b, false).dtype;
  return size_of(a) >= size_of(b) ? a : b;
}

}  // namespace

Value dot_general_transpose(Value ct, Value other, const DotDims& dims, const Type& operand,
                            bool operand_is_lhs) {
  const Ints& contracting = operand_is_lhs ? dims.lhs_contracting : dims.rhs_contracting;
  const Ints& batch = operand_is_lhs ? dims.lhs_batch : dims.rhs_batch;
  const Ints& other_contracting = operand_is_lhs ? dims.rhs_contracting : dims.lhs_contracting;
  const Ints& other_batch = operand_is_lhs ? dims.rhs_batch : dims.lhs_batch;
  Ints free = free_dims(operand.shape.rank(), contracting, batch);
  Ints other_free = free_dims(other.rank(), other_contracting, other_batch);

  // The cotangent's dims are batch, lhs free, rhs free: it is contracted with `other` over the free
  // dims of `other`.
  std::int64_t nb = static_cast<std::int64_t>(batch.size());
  std::int64_t first_other = operand_is_lhs ? nb + static_cast<std::int64_t>(free.size()) : nb;
  Ints ct_contracting = consecutive_ints(first_other, other_free.size()),
       ct_batch = consecutive_ints(0, batch.size());

  // `other` keeps its contracting dims, in its own order; these are the operand's dims that they
  // pair with:
  Ints order = consecutive_ints(0, other_contracting.size());
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return other_contracting[a] < other_contracting[b];
  });
  Ints paired;
  for (std::int64_t i : order) paired.push_back(contracting[i]);

  // Either factor may come first; often one of the two orders gives the operand's own layout,
  // without a final transpose.
  Ints ct_first = batch, other_first = batch;
  ct_first.insert(ct_first.end(), free.begin(), free.end());
  ct_first.insert(ct_first.end(), paired.begin(), paired.end());
  other_first.insert(other_first.end(), paired.begin(), paired.end());
  other_first.insert(other_first.end(), free.begin(), free.end());

  DType common = wider(ct.dtype(), other.dtype());
  Value g = convert(ct, common), o = convert(other, common);
  bool swap = !is_identity(ct_first) && is_identity(other_first);
  Value result =
      swap ? dot_general(o, g, {other_free, ct_contracting, other_batch, ct_batch}, operand.dtype)
           : dot_general(g, o, {ct_contracting, other_free, ct_batch, other_batch}, operand.dtype);
  const Ints& axes = swap ? other_first : ct_first;
  Ints permutation(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) permutation[axes[i]] = static_cast<std::int64_t>(i);
  return is_identity(permutation) ? result : transpose(result, permutation);
}

}  // namespace tessera::inline v0::ops
