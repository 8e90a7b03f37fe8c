// Reductions of whole arrays and over windows. A region that is one operation of a monoid becomes
// our op; any other is the body of a general reduction.
#include "ops/reduction/associative_scan.h"
#include "ops/reduction/general.h"
#include "stablehlo/import/extremes.h"
#include "stablehlo/import/rules.h"
#include "stablehlo/import/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::inline v0::stablehlo::rules {

namespace {

// Our ops for the operations of StableHLO that form monoids.
struct Monoid {
  const char* name;
  Value (*reduce)(Value, const Ints&);
  Value (*combine)(Value, Value);
  const char* window;                     // the op over windows; null if there is none
  Value (*cumulative)(Value, int, bool);  // over windows that begin, or end, at the edge
  enum Neutral { zero, one, least, greatest, ones } neutral;
};
constexpr Monoid kMonoids[] = {
    {"stablehlo.add", ops::reduce_sum, ops::add, "reduce_window_sum", ops::cumsum, Monoid::zero},
    {"stablehlo.multiply", ops::reduce_prod, ops::mul, nullptr, ops::cumprod, Monoid::one},
    {"stablehlo.maximum", ops::reduce_max, ops::max, "reduce_window_max", ops::cummax,
     Monoid::least},
    {"stablehlo.minimum", ops::reduce_min, ops::min, "reduce_window_min", ops::cummin,
     Monoid::greatest},
    {"stablehlo.and", ops::reduce_and, ops::and_, nullptr, nullptr, Monoid::ones},
    {"stablehlo.or", ops::reduce_or, ops::or_, nullptr, nullptr, Monoid::zero},
};

const Monoid* monoid_of(const RegionSyntax& region, DType dtype) {
  std::string_view name = applied(region);
  if (dtype == DType::boolean) {  // a sum is `or` and a product `and`
    if (name == "stablehlo.add" || name == "stablehlo.maximum") name = "stablehlo.or";
    if (name == "stablehlo.multiply" || name == "stablehlo.minimum") name = "stablehlo.and";
  }
  for (const Monoid& m : kMonoids)
    if (name == m.name) return &m;
  return nullptr;
}

bool is_neutral(const Reading& r, const Monoid& m, Value init) {
  const std::optional<double> x = r.known_number(init);
  if (!x) return false;
  const DType d = init.dtype();
  const bool lowest = m.neutral == Monoid::least;
  switch (m.neutral) {
    case Monoid::zero: return *x == 0;
    case Monoid::one: return *x == 1;
    case Monoid::ones: {
      if (d == DType::boolean || is_signed_integer(d)) return *x == (d == DType::boolean ? 1 : -1);
      const int bits = 8 * size_of(d);
      const std::optional<Ints> i = r.known_integers(init);
      return i && (*i)[0] == (bits == 64 ? -1 : (std::int64_t{1} << bits) - 1);
    }
    default: break;
  }
  if (is_floating(d)) return std::isinf(*x) && std::signbit(*x) == lowest;
  return dispatch(d, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) < 8)
      return *x == static_cast<double>(lowest ? std::numeric_limits<T>::min()
                                              : std::numeric_limits<T>::max());
    else if constexpr (std::is_integral_v<T>) {
      const std::optional<Ints> i = r.known_integers(init);
      return i && i->size() == 1 &&
             (*i)[0] == static_cast<std::int64_t>(lowest ? std::numeric_limits<T>::min()
                                                         : std::numeric_limits<T>::max());
    } else {
      return false;
    }
  });
}

// Inputs and initial values in the dtypes that the region computes in.
struct Operands {
  Values inputs, inits;
};
Operands operands_of(Reading& r) {
  r.need_regions(1);
  const std::size_t n = r.in.size() / 2;
  const RegionSyntax& region = r.op.regions[0];
  if (n == 0 || r.in.size() != 2 * n || region.arguments.size() != 2 * n)
    r.refuse(
        "it takes inputs, as many start values, and a region with two arguments for each input");
  Operands o;
  for (std::size_t i = 0; i < n; ++i) {
    const Type t = r.importer.type(region.arguments[i].type);
    if (t.shape.rank() != 0 || r.importer.type(region.arguments[n + i].type) != t)
      r.refuse("its region does not take pairs of scalars");
    if (r.in[n + i].rank() != 0) r.refuse("its start values are no scalars");
    if (r.in[i].shape() != r.in[0].shape()) r.refuse("its inputs have different shapes");
    o.inputs.push_back(ops::convert(r.in[i], t.dtype));
    const Value init = r.in[n + i];
    o.inits.push_back(init.dtype() == t.dtype ? init : ops::convert(init, t.dtype));
  }
  return o;
}

ProgramPtr reducer_of(Reading& r, std::size_t n) {
  ProgramPtr p = r.importer.closed_region(r, r.op.regions[0]);
  std::vector<Type> in = p->input_types(), out = p->output_types();
  bool fits = out.size() == n;
  for (std::size_t i = 0; fits && i < n; ++i)
    fits = out[i].shape.rank() == 0 && out[i].dtype == in[i].dtype;
  if (!fits) r.refuse("its region does not give a scalar for each input");
  return p;
}

// A region that takes two elements of the first operand and returns a scalar of this dtype.
ProgramPtr scalar_region(Reading& r, std::size_t i, DType gives) {
  ProgramPtr p = r.importer.closed_region(r, r.op.regions[i]);
  const std::vector<Type> pair(2, Type(r.in[0].dtype(), {}));
  if (p->input_types() != pair || p->output_types() != std::vector<Type>{Type(gives, {})})
    r.refuse("its region does not take two elements and give a scalar of " +
             std::string(name_of(gives)));
  return p;
}

// Whether the position of the initial value matters: combining it last instead of first may round
// differently.
bool rounds(const Monoid& m, DType dtype) {
  return is_inexact(dtype) && (m.neutral == Monoid::zero || m.neutral == Monoid::one);
}

Value with_start(const Reading& r, const Monoid& m, Value init, Value x) {
  return is_neutral(r, m, init) ? x : m.combine(ops::broadcast_in_dim(init, x.shape(), {}), x);
}

// Running totals in 16 bits, rounded after every element: where sums nearly cancel, the remainder
// consists of these rounding errors.
Value rounded_totals(const Monoid& m, Value x, int along, bool reverse) {
  Ints first{along}, back;
  for (int d = 0; d < x.rank(); ++d)
    if (d != along) first.push_back(d);
  for (int d = 0; d < x.rank(); ++d) back.push_back(d < along ? d + 1 : d == along ? 0 : d);
  const Value rows = ops::transpose(x, first);
  const Type row(x.dtype(), Shape(rows.shape().begin() + 1, rows.shape().end()));
  Builder b;
  const Value so_far = b.input(row), next = b.input(row), total = m.combine(so_far, next);
  const ProgramPtr body = b.finish(Values{total, total});
  const Value none = ops::full(*x.builder, x.dtype(), row.shape, m.neutral == Monoid::one ? 1 : 0);
  const Value totals =
      ops::scan(body, {}, Values{none}, Values{rows}, rows.shape()[0], reverse, *x.builder)[1];
  return ops::transpose(totals, back);
}

// The dimension along which windows grow from the array's edge.
struct Growing {
  int along = -1;
  bool reverse = false;
};

// Nothing if the windows do not all begin, or all end, at the array's edge.
std::optional<Growing> growing(Value x, const ops::WindowDims& d) {
  Growing g;
  for (int i = 0; i < x.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t n = x.shape()[k];
    if (d.strides[k] != 1 || d.base_dilation[k] != 1 || d.window_dilation[k] != 1)
      return std::nullopt;
    if (d.window[k] == 1 && d.pad_low[k] == 0 && d.pad_high[k] == 0) continue;
    const bool before = d.pad_low[k] == n - 1 && d.pad_high[k] == 0;
    const bool behind = d.pad_low[k] == 0 && d.pad_high[k] == n - 1;
    if (g.along >= 0 || d.window[k] != n || (!before && !behind)) return std::nullopt;
    g = {i, !before};
  }
  if (g.along < 0) return std::nullopt;
  return g;
}

// Reductions over growing windows are running totals.
Value running(const Monoid& m, Value x, const Growing& g) {
  if (rounds(m, x.dtype()) && size_of(x.dtype()) < 4)
    return rounded_totals(m, x, g.along, g.reverse);
  return m.cumulative(x, g.along, g.reverse);
}

// The same for any reducer, which has to be associative. The initial value, which may be combined
// any number of times, is combined once.
Values running(Reading& r, const Operands& o, const Growing& g) {
  const Program reducer = *reducer_of(r, o.inputs.size());
  // A scan from the end has the elements that come first last.
  const auto combine = [&](const Values& left, const Values& right) {
    Values both = g.reverse ? right : left;
    const Values& later = g.reverse ? left : right;
    both.insert(both.end(), later.begin(), later.end());
    return elementwise(r.b, reducer, both, left[0].shape());
  };
  Values start;
  for (const Value& init : o.inits)
    start.push_back(ops::broadcast_in_dim(init, o.inputs[0].shape(), {}));
  return combine(start, ops::associative_scan(combine, o.inputs, g.along, g.reverse));
}

// Fewer elements are reduced window by window as fast.
constexpr std::int64_t kLeastRunning = 16;

bool have_one_element(const Shape& shape, const Ints& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [&](std::int64_t d) { return shape[static_cast<std::size_t>(d)] == 1; });
}

// `dims` ascend.
Shape without(const Shape& shape, const Ints& dims) {
  Shape rest;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (!std::binary_search(dims.begin(), dims.end(), static_cast<std::int64_t>(d)))
      rest.push_back(shape[d]);
  return rest;
}

}  // namespace

Values reduce(Reading& r) {
  const Operands o = operands_of(r);
  const std::size_t n = o.inputs.size();
  Ints dims = r.ints("dimensions");
  const int rank = o.inputs[0].rank();
  r.check_dims(dims, rank, "dimensions");
  std::sort(dims.begin(), dims.end());
  if (n == 1) {
    if (const Monoid* m = monoid_of(r.op.regions[0], o.inputs[0].dtype())) {
      const Value x = o.inputs[0], init = o.inits[0];
      // The initial value counts even without dimensions to reduce: 0 + -0 is 0.
      if (dims.empty()) return {m->combine(ops::broadcast_in_dim(init, x.shape(), {}), x)};
      // JAX writes this for each index whose bounds it checks.
      if (!rounds(*m, x.dtype()) && is_neutral(r, *m, init) && have_one_element(x.shape(), dims))
        return {ops::reshape(x, without(x.shape(), dims))};
      if (!rounds(*m, x.dtype()) || is_neutral(r, *m, init))
        return {with_start(r, *m, init, m->reduce(x, dims))};
    }
  }
  const ProgramPtr reducer = reducer_of(r, n);
  if (dims.size() == 1)
    if (const auto both = extremes(r, *reducer, o.inputs, o.inits, static_cast<int>(dims[0])))
      return *both;
  return ops::reduce(o.inputs, o.inits, reducer, dims);
}

Values reduce_window(Reading& r) {
  const Operands o = operands_of(r);
  const std::size_t n = o.inputs.size();
  const Value x = o.inputs[0];
  const ops::WindowDims d = window_dims(r, x.rank());
  const Shape windows = windows_of(r, x.shape(), d);
  const std::optional<Growing> grows = windows.count() > 0 ? growing(x, d) : std::nullopt;
  const Monoid* const m = n == 1 ? monoid_of(r.op.regions[0], x.dtype()) : nullptr;
  if (m) {
    // Padding is the initial value, and is combined like an element.
    const bool neutral = is_neutral(r, *m, o.inits[0]);
    if (neutral && grows && m->cumulative) return {running(*m, x, *grows)};
    if (m->window && (neutral || (is_unpadded(d) && !rounds(*m, x.dtype()))))
      return {with_start(r, *m, o.inits[0], ops::reduce_window(m->window, x, d))};
  }
  if (windows.count() == 0) {  // cropping may go beyond the array
    Values none;
    for (const Value& init : o.inits) none.push_back(ops::broadcast_in_dim(init, windows, {}));
    return none;
  }
  if (grows && !m && x.shape()[static_cast<std::size_t>(grows->along)] >= kLeastRunning)
    return running(r, o, *grows);
  Values inputs = o.inputs;
  ops::WindowDims inside = d;
  if (!is_unpadded(d)) {  // make the padding explicit: it counts as elements
    Ints holes = d.base_dilation;
    for (std::int64_t& h : holes) --h;
    for (std::size_t i = 0; i < n; ++i)
      inputs[i] = ops::pad(inputs[i], o.inits[i], d.pad_low, d.pad_high, holes);
    inside.pad_low.assign(holes.size(), 0);
    inside.pad_high = inside.pad_low;
    inside.base_dilation.assign(holes.size(), 1);
  }
  return ops::reduce_window(inputs, o.inits, reducer_of(r, n), inside);
}

// The parameters of the windows are operands after the others, and the region is a function.
Values dynamic_reduce_window(Reading& r) {
  constexpr const char* kOperands[] = {"window_dimensions", "window_strides", "base_dilations",
                                       "window_dilations", "padding"};
  constexpr std::size_t kCount = std::size(kOperands);
  const AttributeSyntax* called = r.find("called_computations");
  if (r.in.size() != r.operands.size() || r.in.size() < kCount + 2 || !called ||
      called->items.size() != 1)
    r.refuse("it takes inputs, as many start values, five lists of windows, and a computation");
  OperationSyntax plain = r.op;
  plain.name = "stablehlo.reduce_window";
  plain.attributes = {};
  Memory memory;
  const std::size_t first = r.in.size() - kCount;
  for (std::size_t i = 0; i < kCount; ++i) {
    AttributeSyntax a;
    a.kind = AttributeSyntax::integers;
    a.at = r.op.at;
    const Ints settled = r.settled(first + i);
    a.values = List<std::int64_t>::copy(memory, settled);
    if (i + 1 == kCount) {
      AttributeSyntax rows;
      rows.kind = AttributeSyntax::list;
      rows.at = r.op.at;
      for (std::size_t k = 0; k + 1 < settled.size(); k += 2) {
        AttributeSyntax row = a;
        row.values = List<std::int64_t>::copy(memory, &settled[k], 2);
        rows.items.add(memory, row);
      }
      a = rows;
    }
    plain.attributes.add(memory, {kOperands[i], a});
  }
  plain.operands = plain.operands.first(first);
  const FunctionSyntax& f = r.importer.need_function(r, std::string(called->items[0].text));
  RegionSyntax body = f.body;
  body.arguments = f.arguments;
  plain.regions = List<RegionSyntax>::copy(memory, &body, 1);
  Reading read(r.importer, r.scope, plain);
  return reduce_window(read);
}

Values select_and_scatter(Reading& r) {
  r.need_operands(3);
  r.need_regions(2);
  const Value x = r.in[0], init = r.in[2];
  const ops::WindowDims d = window_dims(r, x.rank());
  if (init.rank() != 0) r.refuse("its start value is no scalar");
  if (r.in[1].shape() != windows_of(r, x.shape(), d))
    r.refuse("its source does not have an element for each window");
  const std::string direction = compared(r.op.regions[0]);
  const Monoid* m = monoid_of(r.op.regions[1], x.dtype());
  if ((direction == "GE" || direction == "LE") && m && m->combine == ops::add)
    return {with_start(r, *m, init, ops::select_and_scatter_add(x, r.in[1], d, direction == "GE"))};
  return {ops::select_and_scatter(x, r.in[1], init, scalar_region(r, 0, DType::boolean),
                                  scalar_region(r, 1, x.dtype()), d)};
}

}  // namespace tessera::inline v0::stablehlo::rules
