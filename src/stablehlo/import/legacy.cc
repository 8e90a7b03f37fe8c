// Operations that newer versions have removed, but that older modules contain.
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// "ab,bc->ac": one letter per dimension; dimensions with the same letter are equal.
struct Letters {
  std::vector<std::string> operands;
  std::string result;
};

Letters letters_of(Reading& r, std::size_t operands) {
  std::string text;
  for (const char c : r.word_or("einsum_config", ""))
    if (c != ' ') text += c;
  const std::size_t arrow = text.find("->");
  Letters l;
  if (arrow == text.npos) r.refuse(shown(text) + " has no '->'", "it is as in \"ab,bc->ac\"");
  l.result = text.substr(arrow + 2);
  for (std::size_t at = 0; at <= arrow;) {
    const std::size_t end = std::min(text.find(',', at), arrow);
    l.operands.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (l.operands.size() != operands)
    r.refuse(shown(text) + " is for " + std::to_string(l.operands.size()) +
             " operands, and it has " + std::to_string(operands));
  std::string all = l.result;
  for (std::size_t i = 0; i < operands; ++i) {
    if (l.operands[i].size() != static_cast<std::size_t>(r.in[i].rank()))
      r.refuse(shown(l.operands[i]) + " does not fit " + to_string(r.in[i].type()),
               "it has a letter for each dimension");
    all += l.operands[i];
  }
  for (const char c : all)
    if (!std::isalpha(static_cast<unsigned char>(c)))
      r.refuse(shown(text) + " has " + shown(std::string(1, c)), "dimensions are letters");
  for (std::size_t i = 0; i < l.result.size(); ++i)
    if (l.result.find(l.result[i]) != i || all.find(l.result[i], l.result.size()) == all.npos)
      r.refuse(shown(text) + ": the result's letters are different ones of the operands'");
  return l;
}

// x with letters that occur twice reduced to their diagonal, and letters that occur nowhere else
// summed over.
Value reduced(Value x, std::string& letters, const std::string& others) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    for (std::size_t j; (j = letters.find(letters[i], i + 1)) != letters.npos;) {
      const int a = static_cast<int>(i), b = static_cast<int>(j);
      const Value row = ops::iota(*x.builder, DType::int64, x.shape(), a),
                  column = ops::iota(*x.builder, DType::int64, x.shape(), b);
      x = ops::reduce_sum(ops::select(ops::eq(row, column), x, ops::zeros_like(x)), {b});
      letters.erase(j, 1);
    }
  }
  Ints alone;
  std::string kept;
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (others.find(letters[i]) == others.npos)
      alone.push_back(static_cast<std::int64_t>(i));
    else
      kept += letters[i];
  letters = kept;
  return alone.empty() ? x : ops::reduce_sum(x, alone);
}

Value in_order(Value x, const std::string& letters, const std::string& wanted) {
  Ints order;
  for (const char c : wanted) order.push_back(static_cast<std::int64_t>(letters.find(c)));
  return ops::transpose(x, order);
}

}  // namespace

Values unary_einsum(Reading& r) {
  r.need_operands(1);
  Letters l = letters_of(r, 1);
  const Value x = reduced(r.in[0], l.operands[0], l.result);
  return {in_order(x, l.operands[0], l.result)};
}

Values einsum(Reading& r) {
  r.need_operands(2);
  Letters l = letters_of(r, 2);
  std::string &left = l.operands[0], &right = l.operands[1];
  const DType result = r.result_dtype();
  const Value x = reduced(ops::convert(r.in[0], result), left, right + l.result),
              y = reduced(ops::convert(r.in[1], result), right, left + l.result);
  ops::DotDims dims;
  std::string batch, free;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::size_t j = right.find(left[i]);
    const bool kept = l.result.find(left[i]) != l.result.npos;
    if (j == right.npos) {
      free += left[i];
      continue;
    }
    if (kept) batch += left[i];
    (kept ? dims.lhs_batch : dims.lhs_contracting).push_back(static_cast<std::int64_t>(i));
    (kept ? dims.rhs_batch : dims.rhs_contracting).push_back(static_cast<std::int64_t>(j));
  }
  for (const char c : right)
    if (left.find(c) == left.npos) free += c;
  return {in_order(ops::dot_general(x, y, dims, result), batch + free, l.result)};
}

// The slices of x along `dim` that the indices select, for each position of the first `batch_dims`
// dimensions.
Values torch_index_select(Reading& r) {
  r.need_operands(2);
  const Value x = r.in[0], index = r.in[1];
  const std::int64_t dim = r.integer("dim"), batch = r.integer_or("batch_dims", 0);
  r.check_dims({dim}, x.rank(), "dim");
  if (batch < 0 || batch > dim || batch > index.rank())
    r.refuse("its batch_dims are " + std::to_string(batch),
             "they are dimensions of both operands, before dim");
  ops::GatherDims d;
  d.operand_batching_dims.resize(static_cast<std::size_t>(batch));
  std::iota(d.operand_batching_dims.begin(), d.operand_batching_dims.end(), 0);
  d.start_indices_batching_dims = d.operand_batching_dims;
  d.collapsed_slice_dims = d.start_index_map = {dim};
  d.index_vector_dim = index.rank();
  Ints sizes(x.shape().begin(), x.shape().end());
  for (std::int64_t k = 0; k < batch; ++k) sizes[static_cast<std::size_t>(k)] = 1;
  sizes[static_cast<std::size_t>(dim)] = 1;
  // The remaining dimensions of the indices replace `dim`.
  for (std::int64_t k = batch; k < x.rank() - 1; ++k)
    d.offset_dims.push_back(k < dim ? k : k + index.rank() - batch);
  return {ops::gather(x, index, d, sizes)};
}

// Only supported if the dimension already has the size.
Values set_dimension_size(Reading& r) {
  r.need_operands(2);
  const std::int64_t d = r.integer("dimension");
  r.check_dims({d}, r.in[0].rank(), "dimension");
  if (r.known_integers(r.in[1]) != Ints{r.in[0].shape()[static_cast<std::size_t>(d)]})
    r.refuse("its size is not known to be that of the dimension", "shapes are static");
  return {r.in[0]};
}

}  // namespace tessera::inline v0::stablehlo::rules
