#include "stablehlo/import/progressions.h"

#include "ir/host_array.h"
#include "ir/op.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

namespace tessera::inline v0::stablehlo {

namespace {

using Number = std::optional<std::int64_t>;
using MaybeProgression = std::optional<Progression>;

Number sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? Number() : out;
}
Number difference(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(a, b, &out) ? Number() : out;
}
Number product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? Number() : out;
}
MaybeProgression both(Number start, Number step) {
  if (!start || !step) return std::nullopt;
  return Progression{*start, *step};
}
MaybeProgression difference(const Progression& a, const Progression& b) {
  return both(difference(a.start, b.start), difference(a.step, b.step));
}

int sign_of(std::int64_t x) { return x < 0 ? -1 : x > 0 ? 1 : 0; }

// The signs of a - b for which a comparison is true, found by comparing numbers of each sign.
struct Holds {
  bool less = false, equal = false, greater = false;
  bool of(int sign) const { return sign < 0 ? less : sign > 0 ? greater : equal; }
};
std::optional<Holds> comparison_of(const Equation& e) {
  if (e.op->stablehlo != "compare" || !e.op->evaluate) return std::nullopt;
  const auto holds = [&](std::int64_t a, std::int64_t b) {
    const std::vector<HostArray> in{HostArray::from(scalar_literal(DType::int64, a)),
                                    HostArray::from(scalar_literal(DType::int64, b))};
    std::vector<HostArray> out;
    out.emplace_back(DType::boolean, Shape());
    e.op->evaluate({e.attrs, in, out});
    return *out[0].data<bool>();
  };
  return Holds{holds(0, 1), holds(0, 0), holds(1, 0)};
}

template <class T>
constexpr bool is_integral_number = std::is_integral_v<T> && !std::is_same_v<T, bool>;

bool is_number(const Type& t) {
  return t.shape.count() == 1 && (is_integer(t.dtype) || t.dtype == DType::boolean);
}

MaybeProgression constant_of(const Equation& e) {
  const Literal* literal = e.op->literal ? e.op->literal(e.attrs) : nullptr;
  if (!literal || literal->shape.count() != 1) return std::nullopt;
  if (literal->dtype == DType::boolean) return Progression{(*literal->bytes)[0] != std::byte{0}, 0};
  if (!is_integer(literal->dtype)) return std::nullopt;
  const HostArray array = HostArray::from(*literal);
  return dispatch(literal->dtype, [&](auto tag) -> MaybeProgression {
    using T = decltype(tag);
    if constexpr (is_integral_number<T>) {
      const T value = *array.data<T>();
      if (std::cmp_greater(value, std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      return Progression{static_cast<std::int64_t>(value), 0};
    }
    return std::nullopt;
  });
}

bool fits(std::int64_t value, DType dtype) {
  if (dtype == DType::boolean) return value == 0 || value == 1;
  return dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (is_integral_number<T>) return std::in_range<T>(value);
    return false;
  });
}

}  // namespace

std::optional<std::int64_t> Progression::at(std::int64_t turn) const {
  const Number grown = product(step, turn);
  return grown ? sum(start, *grown) : std::nullopt;
}

bool stays_within(const Progression& x, DType dtype, std::int64_t last) {
  const Number end = x.at(last);
  return end && fits(x.start, dtype) && fits(*end, dtype);
}

std::optional<std::pair<int, int>> Progressions::signs(const Progression& a,
                                                       const Progression& b) const {
  const MaybeProgression d = difference(a, b);
  if (!d || (!last_ && !d->is_constant())) return std::nullopt;
  const Number end = d->at(last_.value_or(0));
  if (!end) return std::nullopt;
  return std::minmax(sign_of(d->start), sign_of(*end));
}

std::optional<Progression> Progressions::element_of(const Program& p, const Equation& slice) const {
  const auto array = arrays_.find(slice.inputs[0]);
  if (array == arrays_.end() || !last_ || slice.inputs.size() != 2) return std::nullopt;
  const MaybeProgression& at = all_[slice.inputs[1]];
  const Number end = at ? at->at(*last_) : std::nullopt;
  const std::int64_t count = p.type(slice.inputs[0]).shape.count();
  // Out of bounds, the index is clamped.
  if (!end || std::min(at->start, *end) < 0 || std::max(at->start, *end) >= count)
    return std::nullopt;
  return both(array->second.at(at->start), product(array->second.step, at->step));
}

std::optional<Progression> Progressions::result_of(const Program& p, const Equation& e) const {
  if (MaybeProgression c = constant_of(e)) return c;
  const std::string& what = e.op->stablehlo;
  if (what == "dynamic_slice") return element_of(p, e);
  // If the condition is the same in all iterations, the result is the selected operand.
  if (what == "select" && all_[e.inputs[0]] && all_[e.inputs[0]]->is_constant())
    return all_[e.inputs[all_[e.inputs[0]]->start ? 1 : 2]];
  std::vector<Progression> in;
  for (const Var v : e.inputs) {
    if (!all_[v]) return std::nullopt;
    in.push_back(*all_[v]);
  }
  if (in.size() == 1) {
    const bool same = what == "convert" || what == "broadcast_in_dim" || what == "reshape";
    if (same) return in[0];
    if (what == "negate") return both(difference(0, in[0].start), difference(0, in[0].step));
    return std::nullopt;
  }
  if (in.size() != 2 || p.type(e.inputs[0]).dtype == DType::boolean) return std::nullopt;
  const Progression &a = in[0], &b = in[1];
  if (what == "add") return both(sum(a.start, b.start), sum(a.step, b.step));
  if (what == "subtract") return difference(a, b);
  if (what == "multiply") {
    if (!a.is_constant() && !b.is_constant()) return std::nullopt;
    const Progression &x = a.is_constant() ? b : a, &by = a.is_constant() ? a : b;
    return both(product(x.start, by.start), product(x.step, by.start));
  }
  const std::optional<std::pair<int, int>> range = signs(a, b);
  if (!range) return std::nullopt;
  const auto [least, greatest] = *range;
  if (what == "maximum" || what == "minimum") {
    if (least < 0 && greatest > 0) return std::nullopt;
    return (greatest <= 0) == (what == "maximum") ? b : a;
  }
  const std::optional<Holds> holds = comparison_of(e);
  if (!holds) return std::nullopt;
  for (int sign = least; sign <= greatest; ++sign)
    if (holds->of(sign) != holds->of(least)) return std::nullopt;
  return Progression{holds->of(least), 0};
}

Progressions::Progressions(const Program& p, std::vector<std::optional<Progression>> inputs,
                           std::optional<std::int64_t> last, ProgressionArrays arrays)
    : all_(p.types.size()), last_(last), arrays_(std::move(arrays)) {
  for (std::size_t i = 0; i < p.inputs.size(); ++i) all_[p.inputs[i]] = inputs[i];
  for (const Equation& e : p.equations) {
    if (e.outputs.size() != 1 || !is_number(p.type(e.outputs[0]))) continue;
    MaybeProgression found = result_of(p, e);
    const DType dtype = p.type(e.outputs[0]).dtype;
    if (!found) continue;
    if (last_ && !stays_within(*found, dtype, *last_)) continue;
    if (!last_) {
      for (const Var v : e.inputs)
        if (all_[v]) assumed_.emplace_back(*all_[v], p.type(v).dtype);
      assumed_.emplace_back(*found, dtype);
    }
    all_[e.outputs[0]] = found;
  }
}

bool Progressions::hold_until(std::int64_t last) const {
  return std::all_of(assumed_.begin(), assumed_.end(),
                     [&](const auto& a) { return stays_within(a.first, a.second, last); });
}

std::optional<std::int64_t> first_failure(const Equation& comparison, const Progression& a,
                                          const Progression& b) {
  const std::optional<Holds> holds = comparison_of(comparison);
  const MaybeProgression d = difference(a, b);
  if (!holds || !d) return std::nullopt;
  const int from = sign_of(d->start), to = sign_of(d->step);
  if (!holds->of(from)) return 0;
  // The sign of the difference changes from that of the start to that of the step, and is 0 between
  // them only if the step divides the start.
  if (to == 0 || from == to) return std::nullopt;
  if (from == 0) return holds->of(to) ? Number() : 1;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  if (d->start == kLeast || d->step == kLeast) return std::nullopt;
  const std::int64_t way = std::abs(d->start), stride = std::abs(d->step);
  if (way % stride == 0 && !holds->of(0)) return way / stride;
  return holds->of(to) ? Number() : way / stride + 1;
}

}  // namespace tessera::inline v0::stablehlo
