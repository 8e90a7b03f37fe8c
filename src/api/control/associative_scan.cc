#include <tessera/control_flow.h>

#include "api/trace/differentiate.h"

namespace tessera::inline v0::detail {
namespace {

using Arrays = std::vector<Array>;

/// The positions start, start + stride, ... below `limit` along `axis`.
Array strided(const Array& x, int axis, std::int64_t start, std::int64_t limit,
              std::int64_t stride) {
  Ints from(static_cast<std::size_t>(x.ndim()), 0), to(x.shape().begin(), x.shape().end()),
      by(static_cast<std::size_t>(x.ndim()), 1);
  const auto a = static_cast<std::size_t>(axis);
  from[a] = start, to[a] = std::max(start, limit), by[a] = stride;
  return bind1("slice", {x}, {{"start", from}, {"limit", to}, {"strides", by}}, {});
}

Array joined_halves(const Array& x, const Array& y, int axis) {
  return bind1("concatenate", {x, y}, {{"dimension", static_cast<std::int64_t>(axis)}}, {});
}

Array reshaped(const Array& x, const Shape& shape) {
  return bind1("reshape", {x}, {{"shape", Ints(shape.begin(), shape.end())}}, {});
}

/// e0 o0 e1 o1 ...: `even` has as many positions as `odd`, or one more.
Array interleaved(const Array& even, const Array& odd, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t n = odd.shape()[a], extra = even.shape()[a] - n;
  if (n == 0) return even;
  Shape one = odd.shape();
  one.insert(one.begin() + axis + 1, 1);
  const Array head = extra ? strided(even, axis, 0, n, 1) : even;
  Shape both = odd.shape();
  both[a] = 2 * n;
  const Array pairs =
      reshaped(joined_halves(reshaped(head, one), reshaped(odd, one), axis + 1), both);
  return extra ? joined_halves(pairs, strided(even, axis, n, n + 1, 1), axis) : pairs;
}

struct ScanCall {
  Call& combine;
  int axis;
  SourceLoc loc;

  std::int64_t length(const Array& x) const { return x.shape()[static_cast<std::size_t>(axis)]; }
  Arrays each(const Arrays& xs, std::int64_t start, std::int64_t limit, std::int64_t stride) const {
    Arrays out;
    for (const Array& x : xs)
      out.push_back(x.is_empty() ? x : strided(x, axis, start, limit, stride));
    return out;
  }
  Arrays apply(const Arrays& a, const Arrays& b) const {
    Arrays both = a;
    both.insert(both.end(), b.begin(), b.end());
    Arrays out = combine.invoke(both);
    check(a, out);
    return out;
  }
  /// Results are combined again, so they must have the types of the operands.
  void check(const Arrays& in, const Arrays& out) const {
    Message m("associative_scan");
    bool fits = in.size() == out.size();
    if (!fits)
      m.offender(std::to_string(in.size()) + " leaves go in, " + std::to_string(out.size()) +
                 " come out");
    for (std::size_t i = 0; fits && i < in.size(); ++i) fits = describe(in[i]) == describe(out[i]);
    for (std::size_t i = 0; !fits && in.size() == out.size() && i < in.size(); ++i)
      if (describe(in[i]) != describe(out[i]))
        m.offender(leaf_path(combine, i) + ": " + describe(in[i]) + " goes in, " +
                   describe(out[i]) + " comes out");
    if (fits) return;
    m.problem("the function changes the type of its elements")
        .rule(
            "it is called on stacks of elements, and gives a stack of as many, of one dtype and "
            "shape")
        .from(loc)
        .advice("work elementwise over the axis; wrap a function of single elements with ts::vmap")
        .raise<ShapeError>();
  }
  Arrays operator()(const Arrays& xs, std::int64_t n) const {
    if (n < 2) return xs;
    const std::int64_t pairs = n / 2;
    const Arrays odd = (*this)(apply(each(xs, 0, 2 * pairs, 2), each(xs, 1, n, 2)), pairs);
    // The result at position 2k is the prefix up to 2k - 1, combined with element 2k.
    const std::int64_t inner = (n - 1) / 2;
    Arrays out;
    const Arrays later =
        inner > 0 ? apply(each(odd, 0, inner, 1), each(xs, 2, n, 2)) : Arrays(xs.size());
    const Arrays first = each(xs, 0, 1, 1);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (xs[i].is_empty()) {
        out.emplace_back();
        continue;
      }
      out.push_back(interleaved(inner > 0 ? joined_halves(first[i], later[i], axis) : first[i],
                                odd[i], axis));
    }
    return out;
  }
};

}  // namespace

std::vector<Array> associative_scan(Call& combine, const AssociativeScanOptions& options,
                                    std::source_location where) {
  const SourceLoc loc = line_of(where);
  const InFunction called("associative_scan", loc);
  check_arguments(combine, "associative_scan", loc);
  const std::size_t count = combine.arg_ends[0];
  std::vector<std::string> offenders;
  std::int64_t length = -1;
  int axis = options.axis;
  bool bad = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Array& x = *combine.args.leaves[i];
    if (x.is_empty()) continue;
    offenders.push_back(leaf_path(combine, i) + " is " + visible_text(x.impl()->type));
    if (axis < -x.ndim() || axis >= x.ndim()) {
      bad = true;
      continue;
    }
    axis = options.axis < 0 ? options.axis + x.ndim() : options.axis;
    const std::int64_t n = x.shape()[static_cast<std::size_t>(axis)];
    if (length < 0) length = n;
    bad |= n != length;
  }
  if (bad || length < 0) {
    Message m("associative_scan");
    m.problem("the elements have no common axis " + std::to_string(options.axis));
    for (auto& o : offenders) m.offender(std::move(o));
    m.rule("all leaves have the axis, with one size")
        .from(loc)
        .advice("give the axis that is scanned: {.axis = 0}")
        .raise<ShapeError>();
  }

  Trace trace("associative_scan");
  Arrays leaves, outside;
  for (std::size_t i = 0; i < count; ++i) {
    const Array& x = *combine.args.leaves[i];
    if (x.is_empty()) {
      leaves.emplace_back();
      continue;
    }
    outside.push_back(x);
    Array in = trace.input(x.impl()->type, loc);
    leaves.push_back(options.reverse ? bind1("reverse", {in}, {{"dims", Ints{axis}}}, loc) : in);
  }
  Arrays results = ScanCall{combine, axis, loc}(leaves, length);
  Arrays outputs;
  for (Array& r : results)
    if (!r.is_empty())
      outputs.push_back(options.reverse ? bind1("reverse", {r}, {{"dims", Ints{axis}}}, loc) : r);
  Trace::Finished f = trace.finish(outputs);
  outside.insert(outside.end(), f.captures.begin(), f.captures.end());
  const Arrays arrays = apply(f.program, outside, loc);
  Arrays out;
  std::size_t next = 0;
  for (const Array& r : results) out.push_back(r.is_empty() ? Array() : arrays[next++]);
  return out;
}

}  // namespace tessera::inline v0::detail
