#include "nn/checks.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/nn/attention.h>
#include <tessera/random.h>

namespace tessera::inline v0::nn {

namespace {

constexpr const char* kMaker = "multi_head_attention(key, features, heads)";

void check(const MultiHeadAttention& layer, const SourceLoc& loc) {
  need_parameter("MultiHeadAttention", "query.weight", layer.query.weight, kMaker, loc);
  need_parameter("MultiHeadAttention", "key.weight", layer.key.weight, kMaker, loc);
  const std::int64_t q = layer.query.weight.shape(-1), k = layer.key.weight.shape(-1);
  if (layer.heads >= 1 && layer.kv_heads >= 1 && layer.heads % layer.kv_heads == 0 &&
      q % layer.heads == 0 && k % layer.kv_heads == 0)
    return;
  Message("MultiHeadAttention")
      .problem("it has " + std::to_string(layer.heads) + " heads for " + std::to_string(q) +
               " features of queries and " + std::to_string(layer.kv_heads) + " for " +
               std::to_string(k) + " of keys")
      .rule("heads divide the features, and those of keys those of queries")
      .from(loc)
      .advice(std::string("make it with nn::") + kMaker)
      .raise<ShapeError>();
}

// Reshapes (..., time, heads * h) to (..., time, heads, h).
Array heads_of(const Array& x, std::int64_t heads) {
  Shape s(x.shape().begin(), x.shape().end() - 1);
  s.push_back(heads);
  s.push_back(x.shape(-1) / heads);
  return x.reshape(s);
}
Array joined(const Array& x) {
  Shape s(x.shape().begin(), x.shape().end() - 2);
  s.push_back(x.shape(-2) * x.shape(-1));
  return x.reshape(s);
}

struct Projected {
  Array query, key, value;
};
Projected project(const MultiHeadAttention& layer, const Operand& x, const Operand& memory,
                  const std::optional<Array>& positions) {
  check(layer, x.loc);
  Projected p{heads_of(layer.query(x), layer.heads), heads_of(layer.key(memory), layer.kv_heads),
              heads_of(layer.value(memory), layer.kv_heads)};
  if (layer.rotary_base) {
    p.query = rotary_embedding({p.query, x.loc}, positions, *layer.rotary_base);
    p.key = rotary_embedding({p.key, x.loc}, positions, *layer.rotary_base);
  }
  return p;
}

}  // namespace

MultiHeadAttention multi_head_attention(const Array& key, std::int64_t features, std::int64_t heads,
                                        const MultiHeadAttentionOptions& o,
                                        std::source_location loc) {
  const InFunction called("multi_head_attention", loc);
  need_key("multi_head_attention", key, loc);
  const std::int64_t kv_heads = o.kv_heads.value_or(heads);
  need_sizes("multi_head_attention", {features, heads, kv_heads}, loc);
  Message m("multi_head_attention");
  m.from(loc);
  if (!o.head_features && features % heads)
    m.problem(std::to_string(features) + " features for " + std::to_string(heads) + " heads")
        .rule("each head has features / heads of them: " + std::to_string(features) + " % " +
              std::to_string(heads) + " is " + std::to_string(features % heads))
        .advice("a number of heads that divides the features, or .head_features")
        .raise<ShapeError>();
  if (heads % kv_heads)
    m.problem(std::to_string(heads) + " heads of queries and " + std::to_string(kv_heads) +
              " of keys")
        .rule("the heads of keys divide those of queries: " + std::to_string(heads) + " % " +
              std::to_string(kv_heads) + " is " + std::to_string(heads % kv_heads))
        .advice("kv_heads = 1 for one that all share")
        .raise<ShapeError>();
  const std::int64_t h = o.head_features.value_or(features / heads);
  const std::int64_t out = o.out_features.value_or(features);
  need_sizes("multi_head_attention", {h, out}, loc);
  const LinearOptions linear_options{o.bias, o.init, o.dtype};
  const auto [q, k, v, y] = random::split<4>(Operand(key, loc));
  return {linear(q, features, heads * h, linear_options, loc),
          linear(k, features, kv_heads * h, linear_options, loc),
          linear(v, features, kv_heads * h, linear_options, loc),
          linear(y, heads * h, out, linear_options, loc),
          heads,
          kv_heads,
          o.rotary_base};
}

Array MultiHeadAttention::operator()(Operand x, const AttentionCall& call) const {
  return (*this)(x, x, call);
}

Array MultiHeadAttention::operator()(Operand x, Operand memory, const AttentionCall& call) const {
  const InFunction called("MultiHeadAttention", x.loc);
  const Projected p = project(*this, x, memory, call.positions);
  AttentionOptions o;
  o.mask = call.mask;
  o.bias = call.bias;
  o.is_causal = call.is_causal;
  const Array y = dot_product_attention({p.query, x.loc}, p.key, p.value, o);
  return out({joined(y), x.loc});
}

KvCache MultiHeadAttention::cache(std::int64_t batch, std::int64_t longest, DType dtype,
                                  std::source_location loc) const {
  const InFunction called("MultiHeadAttention::cache", loc);
  check(*this, loc);
  need_sizes("MultiHeadAttention::cache", {batch, longest}, loc);
  const Shape shape{batch, longest, kv_heads, key.weight.shape(-1) / kv_heads};
  return {zeros(shape, dtype), zeros(shape, dtype), zeros({}, DType::int32)};
}

std::pair<Array, KvCache> MultiHeadAttention::decode(Operand x, const KvCache& before) const {
  const InFunction called("MultiHeadAttention::decode", x.loc);
  need_array("MultiHeadAttention::decode", "x", x.array, x.loc);
  need_array("MultiHeadAttention::decode", "the cache", before.key, x.loc);
  if (x.array.ndim() != 3 || before.key.ndim() != 4 || before.key.shape(0) != x.array.shape(0) ||
      before.key.shape(1) < x.array.shape(1))
    Message("MultiHeadAttention::decode")
        .problem("x is " + describe(x.array) + ", the cache " + describe(before.key))
        .rule("x is (batch, time, features), the cache of the same batch and at least as long")
        .from(x.loc)
        .advice("cache(batch, longest) of the layer makes one")
        .raise<ShapeError>();
  const std::int64_t count = x.array.shape(1), longest = before.key.shape(1);
  const Array place = before.length + arange(count);
  const Projected p = project(*this, x, x, place);
  const Array none = zeros({}, DType::int32);
  const std::vector<Array> at{none, before.length, none, none};
  const KvCache next{dynamic_update_slice(before.key, p.key.astype(before.key.dtype()), at),
                     dynamic_update_slice(before.value, p.value.astype(before.value.dtype()), at),
                     minimum(before.length + count, longest).astype(DType::int32)};
  AttentionOptions o;
  o.mask = (arange(longest) <= expand_dims(place, -1)).reshape(Shape{1, 1, count, longest});
  const DType d = p.query.dtype();
  const Array y =
      dot_product_attention({p.query, x.loc}, next.key.astype(d), next.value.astype(d), o);
  return {out({joined(y), x.loc}), next};
}

}  // namespace tessera::inline v0::nn
