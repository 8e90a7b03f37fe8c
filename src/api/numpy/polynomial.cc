#include <tessera/polynomial.h>

#include "api/numpy/array_helpers.h"

#include <tessera/control_flow.h>
#include <tessera/operators.h>
#include <tessera/signal.h>

#include <algorithm>

namespace tessera::inline v0 {

using detail::composed1;
using detail::part_of;

namespace {
using In = std::span<const Array>;

void need_vector(const char* name, const Array& p, const SourceLoc& loc) {
  detail::need_rank(name, p, 1, loc);
}
void need_times(const char* name, std::int64_t m, const SourceLoc& loc) {
  if (m >= 0) return;
  Message(name)
      .problem("it is asked for " + std::to_string(m) + " times")
      .rule("that is 0 times or more")
      .from(loc)
      .advice("the inverse of polyder is polyint")
      .raise<ShapeError>();
}
// Applies f to both vectors, padded with leading zeros to equal length.
template <class F>
Array combined(const char* name, const Operand& p, const Operand& q, F f) {
  return composed1(name, {p.array, q.array}, p.loc, [&](In in) {
    need_vector(name, in[0], p.loc);
    need_vector(name, in[1], p.loc);
    const std::int64_t n = std::max(in[0].size(), in[1].size());
    return f(pad(in[0], {{n - in[0].size(), 0}}), pad(in[1], {{n - in[1].size(), 0}}));
  });
}
// p (p - 1) ... (p - m + 1), the factor of the m-th derivative, for the `count` powers p from
// `lowest`, highest first.
Array factors(std::int64_t count, std::int64_t lowest, std::int64_t m, DType dtype) {
  Array f = ones({count}, dtype);
  for (std::int64_t k = 0; k < m; ++k)
    f = multiply(f, astype(flip(arange(lowest - k, lowest - k + count), 0), dtype));
  return f;
}
}  // namespace

Array polyval(Operand p, Operand x) {
  return composed1("polyval", {p.array, x.array}, p.loc, [&](In in) {
    need_vector("polyval", in[0], p.loc);
    const std::vector<Array> both = detail::promoted({in[0], in[1]});
    const Array at = array(both[1]);
    const Array start = zeros_like(at);
    return scan([&](Array y, Array c) { return std::pair(y * at + c, Array()); }, start,
                array(both[0]))
        .first;
  });
}
Array polyadd(Operand p, Operand q) {
  return combined("polyadd", p, q, [](const Array& a, const Array& b) { return a + b; });
}
Array polysub(Operand p, Operand q) {
  return combined("polysub", p, q, [](const Array& a, const Array& b) { return a - b; });
}
Array polymul(Operand p, Operand q) {
  return composed1("polymul", {p.array, q.array}, p.loc, [&](In in) {
    need_vector("polymul", in[0], p.loc);
    need_vector("polymul", in[1], p.loc);
    return convolve(in[0], in[1]);
  });
}
Array polyder(Operand p, std::int64_t m) {
  need_times("polyder", m, p.loc);
  return composed1("polyder", {p.array}, p.loc, [&](In in) {
    need_vector("polyder", in[0], p.loc);
    const Array v = detail::in_floats(array(in[0]));
    if (m == 0) return v;
    const std::int64_t left = std::max<std::int64_t>(v.size() - m, 0);
    // The polynomial has been differentiated to nothing.
    if (left == 0) return part_of(v, 0, 0, 0);
    return multiply(part_of(v, 0, 0, left), factors(left, m, m, v.dtype()));
  });
}
Array polyint(Operand p, std::int64_t m, std::optional<Array> k) {
  need_times("polyint", m, p.loc);
  constexpr std::int64_t kMostTimes = 10000;
  if (m > kMostTimes)
    Message("polyint")
        .problem("it is to be integrated " + std::to_string(m) + " times")
        .rule("that is at most " + std::to_string(kMostTimes) +
              " times: the result has a coefficient more each time")
        .from(p.loc)
        .advice(
            "from the 171st integration on the constants are divided by more than float64 holds")
        .raise<ShapeError>();
  std::vector<Array> all{p.array};
  if (k) all.push_back(*k);
  return composed1("polyint", all, p.loc, [&](In in) {
    need_vector("polyint", in[0], p.loc);
    const Array v = detail::in_floats(array(in[0]));
    if (m == 0) return v;
    Array constants = k ? astype(ravel(in[1]), v.dtype()) : zeros({1}, v.dtype());
    if (constants.size() != 1 && constants.size() != m)
      Message("polyint")
          .problem(detail::counted(static_cast<std::size_t>(constants.size()), "constant") +
                   " for " + detail::counted(static_cast<std::size_t>(m), "integration"))
          .rule("one for all of them, or one for each")
          .from(p.loc)
          .advice("without any they are 0")
          .raise<ShapeError>();
    const Array all_constants = broadcast_to(constants, {m});
    const Array whole = concatenate({v, all_constants});
    // The constant of integration i is integrated m - 1 - i more times, which divides it by (m - 1
    // - i)!.
    std::vector<double> divisor(static_cast<std::size_t>(m), 1);
    for (std::size_t i = divisor.size() - 1; i-- > 0;)
      divisor[i] = divisor[i + 1] * static_cast<double>(divisor.size() - 1 - i);
    const Array by =
        concatenate({factors(v.size(), m, m, v.dtype()), astype(Array(divisor), v.dtype())});
    return divide(whole, by);
  });
}

}  // namespace tessera::inline v0
