#include <tessera/functional.h>

#include "api/numpy/array_helpers.h"

#include <tessera/operators.h>
#include <tessera/vmap.h>

#include <algorithm>
#include <map>

namespace tessera::inline v0 {

using detail::rank_of;

namespace {
using Arrays = std::vector<Array>;
using Dims = std::vector<std::string>;

// Maps f over the first axis of each array.
Array mapped(const detail::RowFunction& f, const Arrays& xs) {
  return vmap([&](const Arrays& rows) { return f(rows); })(xs);
}

[[noreturn]] void no_signature(const std::string& s, const SourceLoc& loc) {
  Message("vectorize")
      .problem("the signature is \"" + s + "\"")
      .rule("it names the axes of each argument and of the result: \"(n,m),(m)->(n)\"")
      .from(loc)
      .advice("leave it out for a function of scalars")
      .raise<Error>();
}

// The axis names of each argument of a signature such as "(n,m),(m)->(n)".
std::vector<Dims> core_axes(const std::string& signature, std::size_t arguments,
                            const SourceLoc& loc) {
  std::vector<Dims> out;
  if (signature.empty()) return std::vector<Dims>(arguments);
  const std::size_t arrow = signature.find("->");
  if (arrow == std::string::npos) no_signature(signature, loc);
  std::string name;
  bool inside = false;
  for (char c : signature.substr(0, arrow)) {
    if (c == '(' && !inside)
      inside = true, out.emplace_back();
    else if (inside && (c == ',' || c == ')')) {
      if (!name.empty()) out.back().push_back(std::exchange(name, ""));
      inside = c == ',';
    } else if (inside && c != ' ' && c != '(')
      name += c;
    else if (c != ',' && c != ' ')
      no_signature(signature, loc);
  }
  if (inside || out.size() != arguments) no_signature(signature, loc);
  return out;
}
}  // namespace

std::vector<std::pair<std::string, Array>> detail::leaves_with_path(std::vector<std::string> paths,
                                                                    std::vector<Array> leaves) {
  std::vector<std::pair<std::string, Array>> out;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!leaves[i].is_empty()) out.emplace_back(std::move(paths[i]), std::move(leaves[i]));
  return out;
}

Array detail::vectorized(const RowFunction& f, const std::string& signature, const Arrays& xs,
                         std::source_location loc) {
  const std::vector<Dims> core = core_axes(signature, xs.size(), loc);
  Shape loop;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    need_rank_at_least("vectorize", xs[i], static_cast<int>(core[i].size()), loc);
    const Shape& s = xs[i].shape();
    const Shape outer(std::vector<std::int64_t>(
        s.begin(), s.end() - static_cast<std::ptrdiff_t>(core[i].size())));
    loop = broadcast_shapes(loop, outer, "vectorize", loc);
  }
  if (loop.empty()) return f(xs);
  Arrays rows;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Shape& s = xs[i].shape();
    Shape wide = loop, flat{loop.count()};
    for (std::size_t k = s.size() - core[i].size(); k < s.size(); ++k)
      wide.push_back(s[k]), flat.push_back(s[k]);
    rows.push_back(broadcast_to(xs[i], wide).reshape(flat));
  }
  const Array r = mapped(f, rows);
  Shape shape = loop;
  for (int i = 1; i < rank_of(r); ++i) shape.push_back(detail::extent_of(r, i));
  return r.reshape(shape);
}

Array apply_along_axis(const std::function<Array(Array)>& f, std::int64_t axis, Operand x) {
  detail::need(x.array, "apply_along_axis", x.loc);
  const int a = normalize_axis(axis, rank_of(x.array), "apply_along_axis", x.loc);
  if (rank_of(x.array) == 1) return f(x.array);
  const Array rows = moveaxis(x.array, a, -1);
  Shape outer = rows.shape();
  const std::int64_t n = outer.back();
  outer.erase(outer.end() - 1);
  const Array r =
      mapped([&](const Arrays& row) { return f(row[0]); }, {rows.reshape(Shape{outer.count(), n})});
  const int inner = rank_of(r) - 1;
  Shape shape = outer;
  for (int i = 1; i < rank_of(r); ++i) shape.push_back(detail::extent_of(r, i));
  // Move the result's own axes to the position of the axis that was applied over.
  std::vector<std::int64_t> order;
  for (int i = 0; i < a; ++i) order.push_back(i);
  for (int i = 0; i < inner; ++i) order.push_back(outer.rank() + i);
  for (int i = a; i < outer.rank(); ++i) order.push_back(i);
  return transpose(r.reshape(shape), order);
}

Array piecewise(Operand x, const Arrays& conditions,
                const std::vector<std::function<Array(Array)>>& functions) {
  detail::need(x.array, "piecewise", x.loc);
  if (functions.size() != conditions.size() && functions.size() != conditions.size() + 1)
    Message("piecewise")
        .problem(detail::counted(conditions.size(), "condition") + " and " +
                 detail::counted(functions.size(), "function"))
        .rule("one for each condition, and perhaps one for where none holds")
        .from(x.loc)
        .advice("where chooses between two arrays")
        .raise<ShapeError>();
  const DType d = x.array.dtype();
  Array r = zeros_like(x);
  if (functions.size() > conditions.size()) r = astype(functions.back()(x.array), d);
  for (std::size_t k = 0; k < conditions.size(); ++k)
    r = where(conditions[k], astype(functions[k](x.array), d), r);
  return r;
}

}  // namespace tessera::inline v0
