// The semantics of all kinds of factors except plain ones, as the partitioner uses them: the op
// runs on each shard, and the results are combined.
#pragma once

#include "ops/factor_pieces.h"
#include "ops/registry_walk.h"

#include <functional>
#include <optional>

namespace walk {

/// Writes block `part` of `parts` along `dim`.
inline void put_block(HostArray& whole, const HostArray& piece, int dim, std::int64_t part) {
  Shape strides = whole.shape.strides();
  const auto d = static_cast<std::size_t>(dim), n = static_cast<std::size_t>(size_of(whole.dtype));
  const std::byte* from = piece.bytes;
  for_each_index(piece.shape, [&](Shape index) {
    index[d] += part * piece.shape[d];
    std::copy_n(from, n, whole.bytes + static_cast<std::size_t>(flat_index(index, strides)) * n);
    from += n;
  });
}
/// Entries [first, first + count) along `dim`; those outside the array are zero.
inline HostArray stretch(const HostArray& x, int dim, std::int64_t first, std::int64_t count) {
  Shape shape = x.shape, strides = x.shape.strides();
  const auto d = static_cast<std::size_t>(dim), n = static_cast<std::size_t>(size_of(x.dtype));
  const std::int64_t extent = x.shape[d];
  shape[d] = count;
  HostArray out(x.dtype, shape);
  std::byte* to = out.bytes;
  for_each_index(shape, [&](Shape index) {
    index[d] += first;
    if (index[d] < 0 || index[d] >= extent)
      std::fill_n(to, n, std::byte{0});
    else
      std::copy_n(x.bytes + static_cast<std::size_t>(flat_index(index, strides)) * n, n, to);
    to += n;
  });
  return out;
}
inline HostArray mapped(const HostArray& x, const std::function<double(std::int64_t, double)>& f) {
  HostArray out(x.dtype, x.shape);
  dispatch(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const double v = f(i, x.number(i));
      if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        out.data<T>()[i] = T(static_cast<float>(v));
      else if constexpr (std::is_integral_v<T>)
        out.data<T>()[i] = static_cast<T>(static_cast<std::int64_t>(v));
      else
        out.data<T>()[i] = static_cast<T>(v);
    }
  });
  return out;
}

/// One op on its operands, with a factor of its rule.
struct Special {
  const Op& op;
  Attrs attrs;
  Rule rule;
  std::string factor;
  Arrays x;
  Arrays whole;
  std::int64_t parts;

  Arrays run_with(const Arrays& inputs, const Attrs& with) const {
    std::vector<Type> types;
    for (const HostArray& a : inputs) types.emplace_back(a.dtype, a.shape);
    return run(*program_of(op, {types, with}), inputs);
  }
  int in(std::size_t i) const { return dim_of(rule.inputs[i], factor); }
  int out() const { return dim_of(rule.outputs[0], factor); }
};

/// For orders without totals: sorts the concatenation of the sorted shards.
inline HostArray by_order(const Special& s) {
  std::vector<HostArray> pieces;
  for (const HostArray& x : s.x) pieces.emplace_back(x.dtype, x.shape);
  for (std::int64_t k = 0; k < s.parts; ++k) {
    std::vector<HostArray> mine;
    for (const HostArray& x : s.x) mine.push_back(block(x, s.out(), k, s.parts));
    mine = s.run_with(mine, s.attrs);
    for (std::size_t i = 0; i < mine.size(); ++i) put_block(pieces[i], mine[i], s.out(), k);
  }
  return s.run_with(pieces, s.attrs)[0];
}

/// Combines the totals of the preceding shards with each shard's own running values.
inline HostArray by_prefix(const Special& s) {
  const int d = s.out();
  const bool back = s.attrs.flag("reverse");
  HostArray result(s.whole[0].dtype, s.whole[0].shape);
  std::optional<HostArray> before;
  for (std::int64_t k = 0; k < s.parts; ++k) {
    const std::int64_t part = back ? s.parts - 1 - k : k;
    HostArray mine = s.run_with({block(s.x[0], d, part, s.parts)}, s.attrs)[0];
    const std::int64_t n = mine.shape[static_cast<std::size_t>(d)];
    if (before) {
      HostArray total = stretch(*before, d, 0, 1);
      Shape strides = total.shape.strides(), shape = mine.shape;
      std::vector<double> totals;
      for_each_index(shape, [&](Shape index) {
        index[static_cast<std::size_t>(d)] = 0;
        totals.push_back(total.number(flat_index(index, strides)));
      });
      mine = mapped(mine, [&](std::int64_t i, double v) {
        return combine(s.rule.combiners.at(s.factor), totals[static_cast<std::size_t>(i)], v);
      });
    }
    put_block(result, mine, d, part);
    before = stretch(mine, d, back ? 0 : n - 1, 1);
  }
  return result;
}

/// Checks a contest, in which the op chooses from the results of the shards: every result of the
/// whole must be among the elements that a shard offers.
inline std::string not_a_contest(const Special& s) {
  const int d = s.in(0);
  const bool with_values = s.whole.size() == 2;
  const std::int64_t n = s.x[0].shape[static_cast<std::size_t>(d)] / s.parts;
  std::vector<Arrays> offers;
  for (std::int64_t part = 0; part < s.parts; ++part) {
    Attrs attrs = s.attrs;
    if (with_values) attrs.set("k", std::min(attrs.i("k"), n));
    offers.push_back(s.run_with({block(s.x[0], d, part, s.parts)}, attrs));
  }
  const std::size_t i = s.whole.size() - 1;  // the indices
  const std::int64_t k = with_values ? s.attrs.i("k") : 1,
                     offered = with_values ? std::min(k, n) : 1;
  for (std::int64_t at = 0; at < s.whole[i].count(); ++at) {
    const auto index = static_cast<std::int64_t>(s.whole[i].number(at));
    const HostArray& offer = offers[static_cast<std::size_t>(index / n)][i];
    bool found = false;
    for (std::int64_t o = 0; o < offered; ++o)
      found = found || static_cast<std::int64_t>(offer.number(at / k * offered + o)) == index % n;
    if (!found) return "element " + std::to_string(index) + " is not among what its piece offers";
  }
  return "";
}

/// Applies the op to the concatenation of the shards' offers.
inline HostArray by_offers(const Special& s) {
  const int d = s.in(0);
  const std::int64_t n = s.x[0].shape[static_cast<std::size_t>(d)] / s.parts,
                     offered = std::min(s.attrs.i("count"), n);
  Attrs attrs = s.attrs;
  attrs.set("count", offered);
  Shape shape = s.x[0].shape;
  shape[static_cast<std::size_t>(d)] = s.parts * offered;
  Arrays offers;
  for (const HostArray& x : s.x) offers.emplace_back(x.dtype, shape);
  for (std::int64_t part = 0; part < s.parts; ++part) {
    Arrays pieces;
    for (const HostArray& x : s.x) pieces.push_back(block(x, d, part, s.parts));
    const Arrays mine = s.run_with(pieces, attrs);
    for (std::size_t i = 0; i < offers.size(); ++i) put_block(offers[i], mine[i], d, part);
  }
  return s.run_with(offers, s.attrs)[0];
}

/// The index vectors, with the component for operand dimension `dim` shifted by `f`.
inline HostArray indices_moved(const Special& s, const char* map_name, int dim,
                               const std::function<double(double)>& f) {
  const HostArray& indices = s.x[1];
  const Ints& map = s.attrs.ints(map_name);
  const auto component = std::find(map.begin(), map.end(), dim) - map.begin();
  const auto vector = static_cast<std::size_t>(s.attrs.i("index_vector_dim"));
  Shape strides = indices.shape.strides();
  return mapped(indices, [&](std::int64_t i, double v) {
    if (vector < indices.shape.size() && i / strides[vector] % indices.shape[vector] != component)
      return v;
    return f(v);
  });
}

/// Block `part` with `room` zeros on either side.
inline HostArray with_room(const HostArray& x, int dim, std::int64_t part, std::int64_t parts,
                           std::int64_t room) {
  const HostArray piece = block(x, dim, part, parts);
  const std::int64_t n = piece.shape[static_cast<std::size_t>(dim)];
  return stretch(piece, dim, -room, n + 2 * room);
}

/// Each shard contributes its part of the box and zeros; the sum is the box.
inline HostArray by_box(const Special& s) {
  const int d = s.in(0);
  const auto at = static_cast<std::size_t>(d);
  const std::int64_t extent = s.x[0].shape[at], n = extent / s.parts,
                     size = s.attrs.ints("sizes")[at];
  HostArray sum;
  for (std::int64_t part = 0; part < s.parts; ++part) {
    Arrays inputs = s.x;
    inputs[0] = with_room(s.x[0], d, part, s.parts, size);
    inputs[1 + at] = mapped(s.x[1 + at], [&](std::int64_t, double v) {
      v = std::clamp<double>(v, 0, static_cast<double>(extent - size));
      return std::clamp<double>(v - static_cast<double>(part * n - size), 0,
                                static_cast<double>(n + size));
    });
    HostArray mine = s.run_with(inputs, s.attrs)[0];
    sum = part == 0 ? mine
                    : mapped(mine, [&](std::int64_t i, double v) { return v + sum.number(i); });
  }
  return sum;
}

/// Each shard contributes its rows and zeros; the sum is the result of the whole if the indices are
/// inside.
inline HostArray by_index(const Special& s) {
  const int d = s.in(0);
  const std::int64_t extent = s.x[0].shape[static_cast<std::size_t>(d)], n = extent / s.parts;
  if (s.op.name == "dynamic_slice") return by_box(s);
  const std::int64_t size = s.attrs.ints("slice_sizes")[static_cast<std::size_t>(d)];
  const bool clip = s.attrs.str("mode") == "clip";
  if (clip && s.attrs.ints("start_index_map").size() > 1)
    return {};  // the other components must still be clamped
  Attrs attrs = s.attrs;
  attrs.set("mode", std::string("zero"));
  HostArray sum;
  for (std::int64_t part = 0; part < s.parts; ++part) {
    HostArray at = indices_moved(s, "start_index_map", d, [&](double v) {
      if (clip) v = std::clamp<double>(v, 0, static_cast<double>(extent - size));
      if (v < 0 || v > static_cast<double>(extent - size)) return -1.0;
      const double here = v - static_cast<double>(part * n);
      // Makes room for a slice on either side, filled with zeros.
      if (size > 1)
        return std::clamp<double>(here + static_cast<double>(size), 0,
                                  static_cast<double>(n + size));
      return here >= 0 && here < static_cast<double>(n) ? here : -1;
    });
    HostArray piece =
        size > 1 ? with_room(s.x[0], d, part, s.parts, size) : block(s.x[0], d, part, s.parts);
    HostArray mine = s.run_with({piece, at}, attrs)[0];
    sum = part == 0 ? mine
                    : mapped(mine, [&](std::int64_t i, double v) { return v + sum.number(i); });
  }
  if (s.attrs.str("mode") ==
      "fill") {  // elements outside all shards are filled in by all devices alike
    attrs.set("mode", std::string("fill"));
    HostArray filled = s.run_with(s.x, attrs)[0], zeros = s.whole[0];
    attrs.set("mode", std::string("zero"));
    zeros = s.run_with(s.x, attrs)[0];
    sum = mapped(sum, [&](std::int64_t i, double v) {
      const bool same = filled.number(i) == zeros.number(i);
      return same ? v : filled.number(i);
    });
  }
  return sum;
}

/// The extent of a scatter's windows along a dimension of the operand.
inline std::int64_t window_of(const Special& s, int dim) {
  std::int64_t k = 0;
  for (int d = 0; d < static_cast<int>(s.x[0].shape.size()); ++d) {
    const auto lacks = [&](const char* name) {
      const Ints& dims = s.attrs.ints(name);
      return std::find(dims.begin(), dims.end(), d) != dims.end();
    };
    if (lacks("inserted_window_dims") || lacks("operand_batching_dims")) {
      if (d == dim) return 1;
      continue;
    }
    if (d == dim)
      return s.x[2].shape[static_cast<std::size_t>(
          s.attrs.ints("update_window_dims")[static_cast<std::size_t>(k)])];
    ++k;
  }
  return 1;
}

/// A shard of the updated operand takes its own updates, with positions relative to its start.
inline HostArray by_offset(const Special& s) {
  HostArray result(s.whole[0].dtype, s.whole[0].shape);
  const int d = s.out();
  const auto at = static_cast<std::size_t>(d);
  const std::int64_t extent = result.shape[at], n = extent / s.parts;
  for (std::int64_t part = 0; part < s.parts; ++part) {
    const auto first = static_cast<double>(part * n);
    HostArray mine;
    if (s.op.name == "iota") {
      Attrs attrs = s.attrs;
      Ints shape = attrs.ints("shape");
      shape[at] = n;
      attrs.set("shape", shape);
      const bool counted = attrs.i("dimension") == d;
      mine = mapped(s.run_with({}, attrs)[0],
                    [&](std::int64_t, double v) { return counted ? v + first : v; });
    } else if (s.op.name == "dynamic_update_slice") {
      // The shard with room for the whole update on either side.
      const std::int64_t u = s.x[1].shape[at];
      Arrays inputs = s.x;
      inputs[0] = stretch(s.x[0], d, part * n - u, n + 2 * u);
      const double start =
          std::clamp<double>(s.x[2 + at].number(0), 0, static_cast<double>(extent - u));
      inputs[2 + at] = mapped(s.x[2 + at], [&](std::int64_t, double) {
        return std::clamp<double>(start - first + static_cast<double>(u), 0,
                                  static_cast<double>(n + u));
      });
      mine = stretch(s.run_with(inputs, s.attrs)[0], d, u, n);
    } else {
      Arrays inputs = s.x;
      const std::int64_t u = window_of(s, d);
      inputs[0] = u > 1 ? with_room(s.x[0], d, part, s.parts, u) : block(s.x[0], d, part, s.parts);
      const bool clip = s.attrs.str("mode") == "clip";
      const auto last = static_cast<double>(extent - u);
      inputs[1] = indices_moved(s, "scatter_dims_to_operand_dims", d, [&](double v) {
        if (clip) v = std::clamp<double>(v, 0, last);
        const double here = v - first;
        if (u > 1)
          return v < 0 || v > last ? -1
                                   : std::clamp<double>(here + static_cast<double>(u), 0,
                                                        static_cast<double>(n + u));
        return here >= 0 && here < static_cast<double>(n) ? here : -1;
      });
      Attrs attrs = s.attrs;
      if (!clip || attrs.ints("scatter_dims_to_operand_dims").size() == 1)
        attrs.set("mode", std::string("drop"));
      else
        return {};  // the other components must still be clamped
      mine = s.run_with(inputs, attrs)[0];
      if (u > 1) mine = stretch(mine, d, u, n);
    }
    put_block(result, mine, d, part);
  }
  return result;
}

/// Shards the updates: the first shard starts from the operand, the others from the identity.
inline HostArray by_shared_updates(const Special& s) {
  const std::string& how = s.rule.reductions.at(s.factor);
  const double nothing = how == "+" ? 0 : how == "*" ? 1 : how == "max" ? -INFINITY : INFINITY;
  HostArray result;
  for (std::int64_t part = 0; part < s.parts; ++part) {
    Arrays inputs = s.x;
    for (std::size_t i : {std::size_t{1}, std::size_t{2}})
      if (s.in(i) >= 0) inputs[i] = block(s.x[i], s.in(i), part, s.parts);
    const bool limits = is_integer(s.x[0].dtype) && std::isinf(nothing);
    if (part > 0)
      inputs[0] = mapped(s.x[0], [&](std::int64_t, double) {
        return limits ? (nothing > 0 ? 1e6 : -1e6) : nothing;
      });
    HostArray mine = s.run_with(inputs, s.attrs)[0];
    result = part == 0 ? mine : mapped(mine, [&](std::int64_t i, double v) {
      return combine(how, result.number(i), v);
    });
  }
  return result;
}

/// Whether the results from j on read an operand according to the rule: whether element `at` is in
/// the window of result i.
inline bool is_read(const FactorRule::Window& w, std::int64_t i, std::int64_t at) {
  if (w.mirrored) return at == w.extent - 1 - i;
  const std::int64_t begin = i * w.stride - w.low;
  return at * w.dilation >= begin && at * w.dilation < begin + w.span;
}

/// Checks a window or permutation factor: an entry of the result depends only on those entries of
/// an operand that the rule names. If the rule names none, the runs that entries depend on move in
/// one direction along the operand, and no entry depends on all of a long operand. Returns what is
/// wrong, or an empty text.
inline std::string not_a_window(const Special& s) {
  const int o = s.out();
  if (o < 0) return "the factor is in no result";
  const std::int64_t results = s.whole[0].shape[static_cast<std::size_t>(o)];
  std::vector<Type> in, out;
  for (const HostArray& a : s.x) in.emplace_back(a.dtype, a.shape);
  for (const HostArray& a : s.whole) out.emplace_back(a.dtype, a.shape);
  const FactorRule full = s.op.sharding({in, out, s.attrs});
  for (std::size_t k = 0; k < s.x.size(); ++k) {
    const int d = s.in(k);
    if (d < 0) continue;
    const std::int64_t entries = s.x[k].shape[static_cast<std::size_t>(d)];
    // needs[i]: the elements of the operand on which element i of the result depends.
    std::vector<std::vector<std::int64_t>> needs(static_cast<std::size_t>(results));
    for (std::int64_t j = 0; j < entries; ++j) {
      Arrays inputs = s.x;
      Shape strides = s.x[k].shape.strides();
      inputs[k] = mapped(s.x[k], [&](std::int64_t i, double v) {
        const bool here = i / strides[static_cast<std::size_t>(d)] % entries == j;
        return here ? (s.x[k].dtype == DType::boolean ? !v : v + 1000.5) : v;
      });
      HostArray moved = s.run_with(inputs, s.attrs)[0];
      for (std::int64_t i = 0; i < results; ++i) {
        HostArray a = stretch(moved, o, i, 1), b = stretch(s.whole[0], o, i, 1);
        bool same = true;
        for (std::int64_t e = 0; e < a.count(); ++e) same = same && a.number(e) == b.number(e);
        if (!same) needs[static_cast<std::size_t>(i)].push_back(j);
      }
    }
    const FactorRule::Window* window = nullptr;
    for (const FactorRule::Window& w : full.windows())
      if (w.input == k && full.all()[static_cast<std::size_t>(w.factor)].name == s.factor)
        window = &w;
    if (window) {
      if (window->extent != entries || window->results != results) return "other extents";
      std::int64_t every = 1;  // shards begin at an element of all operands
      for (const FactorRule::Window& w : full.windows())
        if (w.factor == window->factor) every = std::max(every, w.dilation);
      for (std::int64_t i = 0; i < results; i += every)
        for (std::int64_t at : needs[static_cast<std::size_t>(i)])
          if (!is_read(*window, i, at))
            return "entry " + std::to_string(i) + " reads " + std::to_string(at) + " of operand " +
                   std::to_string(k);
      continue;
    }
    int direction = 0;
    const std::vector<std::int64_t>* before = nullptr;
    for (const auto& n : needs) {
      if (n.empty()) continue;
      if (n.back() - n.front() + 1 == entries && entries > 4) return "an entry needs all";
      if (before)
        for (auto [a, b] : {std::pair{before->front(), n.front()}, {before->back(), n.back()}}) {
          const int step = a < b ? 1 : a > b ? -1 : 0;
          if (step && direction && step != direction) return "runs go back and forth";
          if (step) direction = step;
        }
      before = &n;
    }
  }
  return "";
}

}  // namespace walk
