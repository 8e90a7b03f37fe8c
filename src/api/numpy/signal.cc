#include <tessera/signal.h>

#include "api/numpy/array_helpers.h"
#include "api/trace/composite.h"

#include <algorithm>

namespace tessera::inline v0 {

using detail::composed1;
using detail::rank_of;

namespace {
using In = std::span<const Array>;
using Widths = std::vector<std::pair<std::int64_t, std::int64_t>>;

void check_signals(const char* name, In in, const std::string& mode, const SourceLoc& loc) {
  if (mode != "full" && mode != "same" && mode != "valid")
    Message(name)
        .problem("the mode is \"" + mode + "\"")
        .rule("it is \"full\", \"same\" or \"valid\"")
        .from(loc)
        .advice("\"full\" has all overlaps")
        .raise<Error>();
  const Shape &a = in[0].shape(), &b = in[1].shape();
  bool larger = a.rank() == b.rank() && a.rank() > 0, smaller = larger;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    larger = larger && a[i] >= b[i];
    smaller = smaller && a[i] <= b[i];
  }
  if (!larger && !smaller)
    Message(name)
        .problem("the operands have shapes " + to_string(a) + " and " + to_string(b))
        .rule("they have as many axes, and one is as large as the other or larger along each")
        .from(loc)
        .advice("pad the one that is smaller along an axis")
        .raise<ShapeError>();
  if (a.count() == 0 || b.count() == 0)
    Message(name)
        .problem("the operands have shapes " + to_string(a) + " and " + to_string(b))
        .rule("both have elements")
        .from(loc)
        .advice("check the size first")
        .raise<ShapeError>();
}

// Sliding dot products of y (not reversed) along x with this padding.
Array slid(const Array& x, const Array& y, const Widths& padding, const SourceLoc& loc) {
  return detail::composite1("convolve", {x, y}, loc, [&](Builder&, std::span<const Value> in) {
    const int n = in[0].rank();
    Shape one{1, 1}, two{1, 1};
    ops::ConvDims d;
    for (int i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      one.push_back(in[0].shape()[k]), two.push_back(in[1].shape()[k]);
      d.pad_low.push_back(padding[k].first), d.pad_high.push_back(padding[k].second);
    }
    d.strides = d.lhs_dilation = d.rhs_dilation = Ints(static_cast<std::size_t>(n), 1);
    for (int i = 0; i < n + 2; ++i) d.lhs_spec.push_back(i);
    d.rhs_spec = d.out_spec = d.lhs_spec;
    const Value r = ops::convolution(ops::reshape(in[0], one), ops::reshape(in[1], two), d);
    return ops::reshape(r,
                        Shape(std::vector<std::int64_t>(r.shape().begin() + 2, r.shape().end())));
  });
}

Array convolved(const char* name, In in, const std::string& mode, const SourceLoc& loc) {
  check_signals(name, in, mode, loc);
  auto [x, y] = detail::both_in_floats(array(in[0]), array(in[1]));
  Shape wanted = y.shape();  // for "same": the first operand, or the longer vector
  bool swapped = true;
  for (std::size_t i = 0; i < wanted.size(); ++i) swapped = swapped && x.shape()[i] <= wanted[i];
  if (swapped) std::swap(x, y);
  if (x.shape().rank() == 1) wanted = y.shape();
  Widths padding;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::int64_t n = y.shape()[i], o = wanted[i];
    if (mode == "full") padding.emplace_back(n - 1, n - 1);
    if (mode == "same" && x.shape().rank() == 1) padding.emplace_back(n / 2, n - n / 2 - 1);
    if (mode == "same" && x.shape().rank() > 1)
      padding.emplace_back(n - 1 - (o - 1) / 2, n - o + (o - 1) / 2);
    if (mode == "valid") padding.emplace_back(0, 0);
  }
  return slid(x, flip(y), padding, loc);
}
}  // namespace

Array convolve(Operand x, Operand y, const std::string& mode) {
  return composed1("convolve", {x.array, y.array}, x.loc,
                   [&](In in) { return convolved("convolve", in, mode, x.loc); });
}
Array convolve2d(Operand x, Operand y, const std::string& mode) {
  return composed1("convolve2d", {x.array, y.array}, x.loc, [&](In in) {
    for (const Array& a : in) detail::need_rank("convolve2d", a, 2, x.loc);
    return convolved("convolve2d", in, mode, x.loc);
  });
}
Array correlate(Operand x, Operand y, const std::string& mode) {
  return composed1("correlate", {x.array, y.array}, x.loc, [&](In in) {
    for (const Array& a : in) detail::need_rank("correlate", a, 1, x.loc);
    check_signals("correlate", in, mode, x.loc);
    auto [a, b] = detail::both_in_floats(array(in[0]), array(in[1]));
    b = conj(b);
    const bool swapped = a.size() < b.size();
    if (swapped) std::swap(a, b);
    const std::int64_t n = b.size();
    const Widths padding{mode == "full"   ? std::pair{n - 1, n - 1}
                         : mode == "same" ? std::pair{n / 2, n - n / 2 - 1}
                                          : std::pair<std::int64_t, std::int64_t>{0, 0}};
    const Array r = slid(a, b, padding, x.loc);
    return swapped ? flip(r, 0) : r;
  });
}

namespace {
std::string upper(std::string s) {
  for (char& c : s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return s;
}
// The padding of a transposed convolution along one axis.
std::pair<std::int64_t, std::int64_t> padded_around(bool same, std::int64_t kernel,
                                                    std::int64_t stride) {
  const std::int64_t all =
      kernel + stride - 2 + (same ? 0 : std::max<std::int64_t>(kernel - stride, 0));
  const std::int64_t before = !same || stride > kernel - 1 ? kernel - 1 : (all + 1) / 2;
  return {before, all - before};
}
}  // namespace

Array conv_transpose(Operand x, Operand kernel, const ConvTransposeOptions& o) {
  return composed1("conv_transpose", {x.array, kernel.array}, x.loc, [&](In in) {
    detail::need_rank_at_least("conv_transpose", in[0], 3, x.loc);
    detail::need_rank("conv_transpose", in[1], rank_of(in[0]), x.loc);
    const int n = rank_of(in[0]) - 2;
    const std::string name = upper(o.padding.name());
    const bool fits = o.strides.empty() || static_cast<int>(o.strides.size()) == n;
    if (!fits ||
        (name != "SAME" && name != "VALID" && static_cast<int>(o.padding.widths().size()) != n))
      Message("conv_transpose")
          .problem(std::to_string(o.strides.size()) + " strides and the padding \"" +
                   o.padding.name() + "\" for " + std::to_string(n) + " spatial axes")
          .rule("one stride for each; the padding is \"SAME\" or \"VALID\", or a pair for each")
          .from(x.loc)
          .advice("{.strides = {2, 2}} doubles the extents of images")
          .raise<ShapeError>();
    std::vector<std::int64_t> strides = o.strides;
    strides.resize(static_cast<std::size_t>(n), 1);
    Widths widths = o.padding.widths();
    if (!name.empty())
      for (int i = 0; i < n; ++i)
        widths.push_back(padded_around(name == "SAME", detail::extent_of(in[1], i),
                                       strides[static_cast<std::size_t>(i)]));
    Array k = in[1];
    if (o.transpose_kernel) {
      std::vector<std::int64_t> spatial;
      for (int i = 0; i < n; ++i) spatial.push_back(i);
      k = swapaxes(flip(k, AxisList(spatial)), n, n + 1);
    }
    return conv(in[0], k, {.padding = widths, .input_dilation = strides});
  });
}

}  // namespace tessera::inline v0
