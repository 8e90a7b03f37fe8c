#include <tessera/nn/attention.h>

#include "nn/checks.h"

#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>

#include <cmath>

namespace tessera::inline v0::nn {

namespace {

struct Sizes {
  std::int64_t batch, queries, keys, heads, kv_heads, features;
  std::int64_t group() const { return heads / kv_heads; }
};

Sizes sizes_of(const Operand& query, const Operand& key, const Operand& value) {
  const char* name = "dot_product_attention";
  need_array(name, "query", query.array, query.loc);
  need_array(name, "key", key.array, query.loc);
  need_array(name, "value", value.array, query.loc);
  const Shape &q = query.array.shape(), &k = key.array.shape();
  const int rank = q.rank();
  Message m(name);
  m.problem("query of shape " + to_string(q) + ", key of shape " + to_string(k) +
            ", value of shape " + to_string(value.array.shape()))
      .from(query.loc);
  if ((rank != 3 && rank != 4) || k.rank() != rank || value.array.shape() != k)
    m.rule("each has (batch, time, heads, features) or all but the batch, key and value alike")
        .advice("split the heads off: x.reshape(batch, time, heads, -1)")
        .raise<ShapeError>();
  const auto at = [&](const Shape& s, int i) { return i < 0 ? 1 : s[static_cast<std::size_t>(i)]; };
  const Sizes n{at(q, rank - 4), at(q, rank - 3), at(k, rank - 3),
                at(q, rank - 2), at(k, rank - 2), at(q, rank - 1)};
  if (at(k, rank - 4) != n.batch || at(k, rank - 1) != n.features)
    m.rule("query and key have one batch and one number of features a head")
        .advice("project both to the same features")
        .raise<ShapeError>();
  if (n.kv_heads < 1 || n.heads % n.kv_heads)
    m.rule("the heads of keys divide those of queries: " + std::to_string(n.heads) + " % " +
           std::to_string(n.kv_heads) + " is " +
           (n.kv_heads < 1 ? "none" : std::to_string(n.heads % n.kv_heads)))
        .advice("as many heads, or a part of them that goes into " + std::to_string(n.heads))
        .raise<ShapeError>();
  for (const Operand* x : {&query, &key, &value})
    if (!is_floating(x->array.dtype()))
      Message(name)
          .problem("query is " + describe(query.array) + ", key " + describe(key.array) +
                   ", value " + describe(value.array))
          .rule("they are floats")
          .from(query.loc)
          .advice("convert with astype(ts::f32)")
          .raise<DTypeError>();
  return n;
}

// A bias or mask of shape (batch, heads, queries, keys), where each extent may be 1, as (batch, kv
// heads, group, ...).
Array grouped(const char* what, const Array& x, const Sizes& n, const SourceLoc& loc) {
  need_array("dot_product_attention", what, x, loc);
  const std::int64_t full[] = {n.batch, n.heads, n.queries, n.keys};
  Shape four;
  bool fits = x.ndim() <= 4;
  for (int i = x.ndim(); fits && i < 4; ++i) four.push_back(1);
  for (int i = 0; fits && i < x.ndim(); ++i) four.push_back(x.shape(i));
  for (std::size_t i = 0; fits && i < 4; ++i) fits = four[i] == 1 || four[i] == full[i];
  if (!fits)
    Message("dot_product_attention")
        .problem(std::string("the ") + what + " is " + describe(x))
        .rule("it broadcasts to (batch, query heads, query time, key time), here " +
              to_string(Shape{full[0], full[1], full[2], full[3]}))
        .from(loc)
        .advice("give axes that it does not have an extent of 1")
        .raise<ShapeError>();
  const bool each_head = four[1] != 1;
  return x.reshape(
      Shape{four[0], each_head ? n.kv_heads : 1, each_head ? n.group() : 1, four[2], four[3]});
}

// Integers of shape (batch,) as (batch, 1, 1, 1, 1).
Array lengths(const char* what, const Array& x, const Sizes& n, const SourceLoc& loc) {
  need_array("dot_product_attention", what, x, loc);
  if (!is_integer(x.dtype()) || x.shape() != Shape{n.batch})
    Message("dot_product_attention")
        .problem(std::string(what) + " is " + describe(x))
        .rule("it has one integer for each of the " + std::to_string(n.batch) + " sequences")
        .from(loc)
        .advice("ts::array of as many lengths")
        .raise<ShapeError>();
  return x.reshape(Shape{n.batch, 1, 1, 1, 1});
}

// The keys that each query may attend to, over (batch, kv heads, group, queries, keys); empty if
// there is no restriction.
Array permitted(const AttentionOptions& o, const Sizes& n, const SourceLoc& loc) {
  Array all_of;
  const auto also = [&](const Array& x) { all_of = all_of.is_empty() ? x : all_of && x; };
  const Array i = expand_dims(arange(n.queries), 1), j = arange(n.keys);
  if (o.mask) {
    const Array mask = grouped("mask", *o.mask, n, loc);
    also(mask.dtype() == DType::boolean ? mask : mask != 0);
  }
  if (o.is_causal) also(i >= j);
  if (o.local_window_size)
    also(j >= i - o.local_window_size->first && j <= i + o.local_window_size->second);
  if (o.query_seq_lengths) also(i < lengths("query_seq_lengths", *o.query_seq_lengths, n, loc));
  if (o.key_value_seq_lengths)
    also(j < lengths("key_value_seq_lengths", *o.key_value_seq_lengths, n, loc));
  return all_of;
}

// Far below all logits, but finite.
double lowest(DType d) { return -0.7 * (d == DType::float64 ? 1.797e308 : 3.4028234e38); }

}  // namespace

Array dot_product_attention(Operand query, Operand key, Operand value, const AttentionOptions& o) {
  const InFunction called("dot_product_attention", query.loc);
  const Sizes n = sizes_of(query, key, value);
  const Shape shape = query.array.shape();
  const DType d = query.array.dtype();
  const DType wide = d == DType::float64 ? d : DType::float32;
  const Array q = query.array.reshape(Shape{n.batch, n.queries, n.kv_heads, n.group(), n.features});
  const Shape of_keys{n.batch, n.keys, n.kv_heads, n.features};
  const Array k = key.array.reshape(of_keys).astype(d), v = value.array.reshape(of_keys).astype(d);
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(n.features)));
  Array logits = einsum("btkgh,bskh->bkgts", q.astype(wide), k.astype(wide)) * scale;
  if (o.bias) logits = logits + grouped("bias", *o.bias, n, query.loc).astype(wide);
  const Array open = permitted(o, n, query.loc);
  if (!open.is_empty()) logits = where(open, logits, lowest(wide));
  const Array shares = softmax(logits, -1).astype(d);
  Array result = einsum("bkgts,bskh->btkgh", shares, v);
  if (o.query_seq_lengths)
    result = where(arange(n.queries).reshape(Shape{1, n.queries, 1, 1, 1}) <
                       lengths("query_seq_lengths", *o.query_seq_lengths, n, query.loc),
                   result, 0);
  return result.reshape(shape);
}
Array scaled_dot_product_attention(Operand query, Operand key, Operand value,
                                   const AttentionOptions& o) {
  return dot_product_attention(std::move(query), std::move(key), std::move(value), o);
}

Array make_causal_mask(Operand x, DType dtype) {
  const InFunction called("make_causal_mask", x.loc);
  need_array("make_causal_mask", "x", x.array, x.loc);
  if (x.array.ndim() < 1)
    Message("make_causal_mask")
        .problem("x is " + describe(x.array))
        .rule("time is its last axis")
        .from(x.loc)
        .advice("pass tokens of shape (batch, time)")
        .raise<ShapeError>();
  const Array place = broadcast_to(arange(x.array.shape(-1)), x.array.shape());
  return expand_dims(expand_dims(place, -1) >= expand_dims(place, -2), -3).astype(dtype);
}

Array make_attention_mask(Operand query, Operand key, DType dtype) {
  const InFunction called("make_attention_mask", query.loc);
  need_array("make_attention_mask", "query", query.array, query.loc);
  need_array("make_attention_mask", "key", key.array, query.loc);
  for (const Operand* x : {&query, &key})
    if (x->array.ndim() < 1)
      Message("make_attention_mask")
          .problem("query is " + describe(query.array) + ", key " + describe(key.array))
          .rule("time is their last axis")
          .from(query.loc)
          .advice("pass one number for each token, of shape (batch, time)")
          .raise<ShapeError>();
  const Array product = expand_dims(query, -1) * expand_dims(key, -2);
  return expand_dims(product, -3).astype(dtype);
}

Array combine_masks(const std::vector<Array>& masks, DType dtype, std::source_location loc) {
  const InFunction called("combine_masks", loc);
  if (masks.empty())
    Message("combine_masks")
        .problem("there is no mask")
        .rule("it combines at least one")
        .from(loc)
        .advice("leave the mask out where nothing is masked")
        .raise<ShapeError>();
  Array both;
  for (const Array& m : masks) {
    need_array("combine_masks", "a mask", m, loc);
    const Array open = m.dtype() == DType::boolean ? m : m != 0;
    both = both.is_empty() ? open : both && open;
  }
  return both.astype(dtype);
}

Array rotary_embedding(Operand x, const std::optional<Array>& positions, double base) {
  const InFunction called("rotary_embedding", x.loc);
  need_array("rotary_embedding", "x", x.array, x.loc);
  need_number("rotary_embedding", "base", base, 1, HUGE_VAL, "10000.0 is usual", x.loc);
  if (x.array.ndim() < 3 || x.array.shape(-1) % 2)
    Message("rotary_embedding")
        .problem("x is " + describe(x.array))
        .rule("it has (..., time, heads, features), an even number of features to turn in pairs")
        .from(x.loc)
        .advice("split the heads off first: x.reshape(batch, time, heads, -1)")
        .raise<ShapeError>();
  const std::int64_t half = x.array.shape(-1) / 2;
  const DType d = x.array.dtype(), wide = d == DType::float64 ? d : DType::float32;
  const Array place = positions ? *positions : arange(x.array.shape(-3));
  std::vector<double> rates;
  for (std::int64_t i = 0; i < half; ++i)
    rates.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(half)));
  // shape (..., time, 1, half)
  const Array angle =
      expand_dims(expand_dims(place.astype(wide), -1) * Array(rates).astype(wide), -2);
  const Array c = cos(angle), s = sin(angle);
  const std::vector<Array> halves = split(astype(x, wide), 2, -1);
  return concatenate({halves[0] * c - halves[1] * s, halves[1] * c + halves[0] * s}, -1).astype(d);
}
Array RotaryPositionalEmbedding::operator()(Operand x,
                                            const std::optional<Array>& positions) const {
  return rotary_embedding(std::move(x), positions, base);
}

}  // namespace tessera::inline v0::nn
