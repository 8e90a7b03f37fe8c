#include "ops/reduction/window_dims.h"

#include "ops/contraction/conv_dims.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Attrs window_attrs(WindowDims d, int rank) {
  for (Ints* ones : {&d.window, &d.strides, &d.base_dilation, &d.window_dilation})
    if (ones->empty()) ones->assign(rank, 1);
  for (Ints* zeros : {&d.pad_low, &d.pad_high})
    if (zeros->empty()) zeros->assign(rank, 0);
  return {{"window", d.window},
          {"strides", d.strides},
          {"pad_low", d.pad_low},
          {"pad_high", d.pad_high},
          {"base_dilation", d.base_dilation},
          {"window_dilation", d.window_dilation}};
}

WindowDims window_dims(const Attrs& a) {
  return {a.ints("window"),   a.ints("strides"),       a.ints("pad_low"),
          a.ints("pad_high"), a.ints("base_dilation"), a.ints("window_dilation")};
}

std::vector<AttrSpec> window_attr_specs() {
  return {
      {"window", AttrKind::ints, "extents of a window, one a dimension"},
      {"strides", AttrKind::ints, "between windows"},
      {"pad_low", AttrKind::ints, "padding before each dimension, after dilation; negative crops"},
      {"pad_high", AttrKind::ints, "and after it"},
      {"base_dilation", AttrKind::ints, "distance of neighbours of the array"},
      {"window_dilation", AttrKind::ints, "distance of neighbours of a window"}};
}

Shape windowed_shape(const Shape& x, const WindowDims& d) {
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    shape.push_back(window_count(dilated(x[i], d.base_dilation[i]) + d.pad_low[i] + d.pad_high[i],
                                 dilated(d.window[i], d.window_dilation[i]), d.strides[i]));
  return shape;
}

namespace {

std::string too_far(const Shape& x, const WindowDims& d, int i) {
  return too_long(
      {x[i], d.base_dilation[i], d.window[i], d.window_dilation[i], d.pad_low[i], d.pad_high[i]});
}
bool fits(const Shape& x, const WindowDims& d) {
  const auto rank = static_cast<std::size_t>(x.rank());
  for (const Ints* list :
       {&d.window, &d.strides, &d.pad_low, &d.pad_high, &d.base_dilation, &d.window_dilation})
    if (list->size() != rank) return false;
  for (const Ints* positive : {&d.window, &d.strides, &d.base_dilation, &d.window_dilation})
    if (std::any_of(positive->begin(), positive->end(), [](std::int64_t n) { return n < 1; }))
      return false;
  for (int i = 0; i < x.rank(); ++i)
    if (!too_far(x, d, i).empty()) return false;
  return true;
}

}  // namespace

Shape windowed_shape(const InferArgs& a, const Type& x, const WindowDims& d) {
  bool bad = false;
  Message m(a.op.name);
  auto check = [&](const char* name, const Ints& v, bool positive) {
    if (static_cast<int>(v.size()) != x.shape.rank())
      m.offender(std::string(name) + " has " + std::to_string(v.size()) + " entries"), bad = true;
    for (std::int64_t e : v)
      if (positive && e < 1)
        m.offender(std::string(name) + " has an entry " + std::to_string(e)), bad = true;
  };
  check("window", d.window, true);
  check("strides", d.strides, true);
  check("pad_low", d.pad_low, false);
  check("pad_high", d.pad_high, false);
  check("base_dilation", d.base_dilation, true);
  check("window_dilation", d.window_dilation, true);
  if (bad)
    m.problem("the window does not fit an array of shape " + to_string(x.shape))
        .rule("each list has one entry for each of the " + std::to_string(x.shape.rank()) +
              " dimensions; windows, strides and dilations are at least 1")
        .from(a.loc)
        .advice("give batch and feature dimensions a window and a stride of 1")
        .raise<ShapeError>();
  for (int i = 0; i < x.shape.rank(); ++i)
    if (const std::string what = too_far(x.shape, d, i); !what.empty())
      m.offender("dimension " + std::to_string(i) + ": " + what), bad = true;
  if (bad)
    m.problem("the windows run too far")
        .rule("dilated arrays and windows, and padding, are shorter than 2^60")
        .from(a.loc)
        .advice("check the dilations and the padding")
        .raise<ShapeError>();
  return windowed_shape(x.shape, d);
}

WindowDims without_padding_only(const Shape& x, WindowDims d) {
  if (!fits(x, d)) return d;
  const Shape windows = windowed_shape(x, d);
  for (int i = 0; i < x.rank(); ++i) {
    if (windows[i] < 1) continue;
    const std::int64_t step = d.window_dilation[i], extent = dilated(x[i], d.base_dilation[i]);
    // The last window reads the array's first element with its own element `first` or a later one;
    // the first window reads the array's last element with its own element `last` or an earlier
    // one. The last window begins before the end of the padding, so this does not overflow.
    const std::int64_t before = d.pad_low[i] - (windows[i] - 1) * d.strides[i];
    const std::int64_t first =
        std::clamp<std::int64_t>((before + step - 1) / step, 0, d.window[i] - 1);
    const std::int64_t last =
        std::clamp<std::int64_t>((extent - 1 + d.pad_low[i]) / step, first, d.window[i] - 1);
    d.pad_low[i] -= first * step;
    d.pad_high[i] -= (d.window[i] - 1 - last) * step;
    d.window[i] = last - first + 1;
  }
  return d;
}

WindowDims with_stacked_dim(WindowDims d, int dim) {
  for (Ints* ones : {&d.window, &d.strides, &d.base_dilation, &d.window_dilation})
    ones->insert(ones->begin() + dim, 1);
  for (Ints* zeros : {&d.pad_low, &d.pad_high}) zeros->insert(zeros->begin() + dim, 0);
  return d;
}

FactorRule::Window window_along(const Shape& x, const WindowDims& d, int i) {
  return {.extent = x[i],
          .results = windowed_shape(x, d)[i],
          .stride = d.strides[i],
          .low = d.pad_low[i],
          .span = dilated(d.window[i], d.window_dilation[i]),
          .dilation = d.base_dilation[i],
          .spreads = true};
}

bool tiles(const Shape& x, const WindowDims& d, int i) {
  return d.base_dilation[i] == 1 && d.window_dilation[i] == 1 && d.strides[i] == d.window[i] &&
         d.pad_low[i] == 0 && x[i] == windowed_shape(x, d)[i] * d.window[i];
}

// A dimension that the windows tile is sharded with its windows; any other needs halos from its
// neighbours.
WindowFactors window_factors(FactorRule& rule, const Shape& x, const WindowDims& d,
                             const std::function<std::vector<FactorRule::Window>(int)>& fetched) {
  WindowFactors f;
  Shape out = windowed_shape(x, d);
  for (int i = 0; i < x.rank(); ++i) {
    const bool tiled = tiles(x, d, i);
    const std::vector<FactorRule::Window> windows =
        tiled ? std::vector<FactorRule::Window>{} : fetched(i);
    int shared = rule.factor(windows.empty() ? out[i] : windows[0].results);
    f.array.push_back({shared});
    f.windows.push_back({shared});
    if (tiled) {
      if (d.window[i] == 1) continue;
      int inner = rule.factor(d.window[i], 'p');
      rule.mark(FactorRule::Kind::need_repl, inner);
      f.array.back().push_back(inner);
      continue;
    }
    for (FactorRule::Window w : windows) {
      w.factor = shared;
      rule.window(w);
    }
    if (d.base_dilation[i] == 1 && d.strides[i] == 1 && x[i] == out[i]) {
      rule.mark(FactorRule::Kind::permutation, shared);
    } else if (!windows.empty()) {
      rule.mark(FactorRule::Kind::window, shared);
    } else {
      int apart = rule.factor(x[i], 'p');
      rule.mark(FactorRule::Kind::need_repl, shared);
      rule.mark(FactorRule::Kind::need_repl, apart);
      f.array.back() = {apart};
    }
  }
  return f;
}

std::int64_t window_element(const Shape& x, const Shape& strides, const WindowDims& d,
                            const Shape& o, const Shape& k) {
  std::int64_t flat = 0;
  for (int i = 0; i < x.rank(); ++i) {
    std::int64_t p = o[i] * d.strides[i] + k[i] * d.window_dilation[i] - d.pad_low[i];
    if (p < 0 || p % d.base_dilation[i] || p / d.base_dilation[i] >= x[i]) return -1;
    flat += p / d.base_dilation[i] * strides[i];
  }
  return flat;
}

WindowWalk::WindowWalk(const Shape& x, const WindowDims& d, std::span<const Index> window) {
  Shape out = windowed_shape(x, d);
  for (int i = 0; i < x.rank(); ++i) {
    Dim dim;
    dim.window = d.window[i];
    dim.dilation = d.window_dilation[i];
    dim.base = d.base_dilation[i];
    dim.extent = dilated(x[i], dim.base);
    dim.origin = window[i] * d.strides[i] - Index(d.pad_low[i]);
    dim.skips = dim.base > 1 && dim.dilation == 1;
    dim.inside =
        dim.base == 1 && d.pad_low[i] <= 0 &&
        (out[i] - 1) * d.strides[i] + (dim.window - 1) * dim.dilation - d.pad_low[i] < dim.extent;
    dim.step = dim.skips ? dim.base : 1;
    // The first element of the window that is not in a hole.
    if (dim.skips) dim.phase = floor_mod(Index(0) - dim.origin, dim.base);
    dims_.push_back(dim);
    extents_.push_back((dim.window + dim.step - 1) / dim.step);
  }
}

void WindowWalk::locate(std::span<const Index> k, std::vector<Index>& at,
                        std::vector<Bound>& bounds) const {
  at.clear();
  bounds.clear();
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    const Dim& d = dims_[i];
    Index element = d.skips ? k[i] * d.step + d.phase : k[i];
    Index p = d.origin + element * d.dilation;
    if (d.skips && d.window % d.step) bounds.push_back({element, 0, d.window});
    if (!d.inside) bounds.push_back({p, 0, d.extent});
    if (d.base > 1 && !d.skips) bounds.push_back({floor_mod(p, d.base), 0, 1});
    at.push_back(d.base > 1 ? floor_div(p, d.base) : p);
  }
}

}  // namespace tessera::inline v0::ops
