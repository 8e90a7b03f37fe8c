// The transpose of a scan: a loop in reverse that carries the cotangents of its carry and sums
// those of its consts, or computes such a sum after the loop by one equation (scan_sums.cc).
#include "ir/interpret.h"
#include "ops/build.h"
#include "ops/control/nested.h"
#include "ops/control/scan_rules.h"
#include "ops/indexing/cotangents.h"

#include <algorithm>
#include <memory>

namespace tessera::inline v0::ops {

namespace {

// The linear inputs of the body: a carry is linear if its initial value is, or becomes so in an
// iteration.
std::vector<bool> linear_inputs(const ScanLayout& s, std::span<const bool> linear) {
  std::vector<bool> mask(linear.begin(), linear.end());
  for (bool grew = true; grew;) {
    grew = false;
    std::vector<bool> out = depends_on(*s.body, mask);
    for (std::size_t i = 0; i < s.carry; ++i)
      if (out[i] && !mask[s.consts + i]) mask[s.consts + i] = grew = true;
  }
  return mask;
}

// Some carries are not linear (a counter, say): run those first, then transpose the rest.
MaybeValues split_and_transpose(const TransposeArgs& a) {
  PartialEvalResult r = scan_partial_eval({a.b, a.op, a.attrs, a.inputs, a.types});
  MaybeValues cts;
  for (std::size_t i = 0; i < r.outputs.size(); ++i)
    if (!r.outputs[i]) cts.push_back(a.cotangents[i]);
  std::vector<std::size_t> linear_at;
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (!a.inputs[i]) linear_at.push_back(i);
  std::size_t count = r.input_order.size();
  MaybeValues inputs;
  std::vector<Type> types;
  std::unique_ptr<bool[]> mask(new bool[count]);
  for (std::size_t k = 0; k < count; ++k) {
    std::size_t at = r.input_order[k];
    mask[k] = at >= r.residuals.size();
    inputs.push_back(mask[k] ? MaybeValue() : MaybeValue(r.residuals[at]));
    types.push_back(mask[k] ? a.types[linear_at[at - r.residuals.size()]] : r.residuals[at].type());
  }
  MaybeValues in_cts = scan_transpose(
      {a.b, a.op, r.attrs, inputs, types, std::span<const bool>(mask.get(), count), cts});
  MaybeValues result(a.inputs.size());
  for (std::size_t k = 0; k < count; ++k)
    if (mask[k]) result[linear_at[r.input_order[k] - r.residuals.size()]] = in_cts[k];
  return result;
}

// Cotangents of constants that are computed after the loop, from operands that are stacked anyway
// or that the loop stacks for this purpose.
class SumsBehind {
 public:
  /// `body` must contain all equations so far; its inputs are constants, cotangents of the carry,
  /// and xs.
  SumsBehind(const Program& body, std::size_t consts, const Values& xs, std::int64_t turns)
      : body_(body), xs_(xs), turns_(turns), fixed_(body.types.size()), x_(body.types.size(), -1) {
    for (std::size_t i = 0; i < consts; ++i) fixed_[body.inputs[i]] = true;
    for (const Equation& eqn : body.equations)
      if (std::all_of(eqn.inputs.begin(), eqn.inputs.end(), [&](Var v) { return fixed_[v]; }))
        for (Var v : eqn.outputs) fixed_[v] = true;
    const std::size_t first = body.inputs.size() - xs.size();
    for (std::size_t i = 0; i < xs.size(); ++i) {
      x_[body.inputs[first + i]] = static_cast<int>(i);
      bytes_ += xs[i].type().bytes();
    }
  }
  /// Whether the cotangent of this constant is computed after the loop; if so, records its sum.
  bool take(std::size_t constant, Var cotangent) {
    std::vector<bool> stacked;
    for (const int x : x_) stacked.push_back(x >= 0);
    std::optional<SumOfTurns> sum = sum_of_turns(body_, cotangent, fixed_, stacked, turns_, bytes_);
    if (!sum) return false;
    sums_.emplace_back(constant, *std::move(sum));
    return true;
  }
  /// Adds the operands that the loop must stack to the body's results.
  void stack(Builder& body, Values& results) const {
    for (const auto& [_, sum] : sums_)
      for (Var v : sum.product.inputs)
        if (x_[v] < 0) results.push_back({&body, v});
  }
  /// Emits the sums; the stacked operands are the results from `next` on.
  void make(Builder& b, const Values& results, std::size_t next, MaybeValues& cotangents) const {
    for (const auto& [constant, sum] : sums_) {
      Values stacks;
      for (Var v : sum.product.inputs)
        stacks.push_back(x_[v] < 0 ? results[next++] : xs_[static_cast<std::size_t>(x_[v])]);
      cotangents[constant] = emit(b, sum, stacks);
    }
  }

 private:
  const Program& body_;
  const Values& xs_;
  const std::int64_t turns_;
  std::vector<bool> fixed_;  // for each variable of the body: whether it is loop-invariant
  std::vector<int> x_;       // and which of the xs it is, or -1
  std::int64_t bytes_ = std::int64_t{1}
                        << 20;  // limit for stacking: the bytes stacked anyway, and a few more
  std::vector<std::pair<std::size_t, SumOfTurns>> sums_;
};

}  // namespace

MaybeValues scan_transpose(const TransposeArgs& a) {
  ScanLayout s(a.attrs);
  std::vector<bool> linear = linear_inputs(s, a.linear);
  for (std::size_t i = s.consts; i < s.first_x(); ++i)
    if (!linear[i]) return split_and_transpose(a);

  // The backward body takes (non-linear consts; cotangents of the carry, sums for the linear
  // consts; non-linear xs, cotangents of the ys). It returns the carry's cotangents, the sums, the
  // cotangents of the linear xs, and the operands of sums that are computed after the loop.
  const Program& body = *s.body;
  Builder t(body.name);
  auto type = [&](std::size_t i) { return body.types[body.inputs[i]]; };
  MaybeValues inputs(body.inputs.size()), cts(body.outputs.size());
  Values consts, carry, xs;  // outside the loop
  for (std::size_t i = 0; i < s.consts; ++i) {
    if (linear[i]) continue;
    inputs[i] = t.input(type(i));
    consts.push_back(*a.inputs[i]);
  }
  for (std::size_t i = 0; i < s.carry; ++i) {
    cts[i] = t.input(type(s.consts + i));
    carry.push_back(a.cotangents[i] ? *a.cotangents[i] : zeros(a.b, a.types[s.consts + i]));
  }
  std::size_t sums_at = t.so_far().inputs.size();
  for (std::size_t i = s.first_x(); i < inputs.size(); ++i) {
    if (linear[i]) continue;
    inputs[i] = t.input(type(i));
    xs.push_back(*a.inputs[i]);
  }
  for (std::size_t i = s.carry; i < cts.size(); ++i) {
    if (!a.cotangents[i]) continue;
    cts[i] = t.input(body.types[body.outputs[i]]);
    xs.push_back(*a.cotangents[i]);
  }
  std::size_t sums_from = t.so_far().inputs.size();

  MaybeValues in_cts = transpose_inline(t, body, inputs, linear, cts);
  SumsBehind behind(t.so_far(), consts.size(), xs, s.length);
  Values out;
  std::vector<std::size_t> summed, stacked;  // the operands with these cotangents
  for (std::size_t i = s.consts; i < s.first_x(); ++i)
    out.push_back(in_cts[i] ? *in_cts[i] : zeros(t, type(i)));
  for (std::size_t i = 0; i < s.consts; ++i) {
    if (!linear[i] || !in_cts[i] || behind.take(i, in_cts[i]->var)) continue;
    out.push_back(add_cotangents(t.input(type(i)), *in_cts[i]));
    carry.push_back(zeros(a.b, a.types[i]));
    summed.push_back(i);
  }
  for (std::size_t i = s.first_x(); i < inputs.size(); ++i) {
    if (!linear[i] || !in_cts[i]) continue;
    out.push_back(*in_cts[i]);
    stacked.push_back(i);
  }
  behind.stack(t, out);
  std::shared_ptr<Program> backward = t.finish(out);
  auto first = backward->inputs.begin();
  std::rotate(first + static_cast<std::ptrdiff_t>(sums_at),
              first + static_cast<std::ptrdiff_t>(sums_from), backward->inputs.end());

  Values results = scan(prune(*backward), consts, carry, xs, s.length, !s.reverse, a.b);
  MaybeValues ct(a.inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < s.carry; ++i, ++next)
    if (a.linear[s.consts + i]) ct[s.consts + i] = results[next];
  for (std::size_t i : summed) ct[i] = results[next++];
  for (std::size_t i : stacked) ct[i] = results[next++];
  behind.make(a.b, results, next, ct);
  return ct;
}

}  // namespace tessera::inline v0::ops
