// Attention: scaled dot products, masks, rotary positions, and the layer with several heads.
//
// Axes are (batch, time, heads, features of a head), as jax.nn.dot_product_attention has them. Keys
// and values may have fewer heads than queries, each for a group of them (Ainslie et al. 2023).
#pragma once

#include <tessera/nn/layers.h>

#include <optional>

namespace tessera::inline v0::nn {

/// `bias` is added to the logits; where the boolean `mask` is false nothing is attended to. Both
/// broadcast to (batch, query heads, query time, key time). A query that may attend to nothing
/// takes the mean of all values.
struct AttentionOptions {
  std::optional<Array> bias = {}, mask = {};
  std::optional<double> scale = {};  // of the logits; 1 / sqrt(features) where it is left out
  bool is_causal = false;            // query i attends to keys 0 ... i
  /// Integers (batch,): how many of the queries and keys count. Results of other queries are 0.
  std::optional<Array> query_seq_lengths = {}, key_value_seq_lengths = {};
  /// How many keys before and after its own place a query attends to.
  std::optional<std::pair<std::int64_t, std::int64_t>> local_window_size = {};
};
/// softmax(query key^T * scale + bias) value for each head, the softmax in float32 or wider. query
/// (batch, t, n, h), key and value (batch, s, k, h) where k divides n, or all without the batch.
/// Gives the shape of the query, and its dtype. ShapeError and DTypeError where they do not fit.
TESSERA_API Array dot_product_attention(Operand query, Operand key, Operand value,
                                        const AttentionOptions& options = {});
/// The same by its other name.
TESSERA_API Array scaled_dot_product_attention(Operand query, Operand key, Operand value,
                                               const AttentionOptions& options = {});

/// (batch..., 1, time, time) of zeros and ones, from x (batch..., time): 1 where the key is not
/// behind the query.
TESSERA_API Array make_causal_mask(Operand x, DType dtype = DType::float32);
/// (batch..., 1, queries, keys): the product of each query's entry with each key's, such as x > 0
/// of both for padding.
TESSERA_API Array make_attention_mask(Operand query, Operand key, DType dtype = DType::float32);
/// The masks multiplied, or combined by a logical and where the dtype is boolean.
TESSERA_API Array combine_masks(const std::vector<Array>& masks, DType dtype = DType::float32,
                                std::source_location loc = std::source_location::current());

/// Turns pairs of features (i, i + h/2) of x (..., time, heads, h) by position * base^(-2i/h) (Su
/// et al. 2021). `positions` are integers (..., time), 0, 1, ... where they are left out.
/// ShapeError unless h is even.
TESSERA_API Array rotary_embedding(Operand x, const std::optional<Array>& positions = {},
                                   double base = 10000.0);
/// The same as a layer.
struct RotaryPositionalEmbedding {
  double base = 10000.0;
  TESSERA_API Array operator()(Operand x, const std::optional<Array>& positions = {}) const;
};

/// Keys and values of the places before, for one token after the other: (batch, longest, heads, h)
/// each, and how many places are filled, an int32 scalar. A tree like any other.
struct KvCache {
  Array key, value, length;
};

struct AttentionCall {
  std::optional<Array> mask = {}, bias = {};
  bool is_causal = false;
  std::optional<Array> positions = {};  // of the queries, for rotary embedding
};
/// Attention with projections of queries, keys, values and results. weight (in, heads * h);
/// kv_heads are those of keys and values.
struct MultiHeadAttention {
  Linear query, key, value, out;
  std::int64_t heads = 1, kv_heads = 1;
  std::optional<double> rotary_base;  // turns queries and keys where it is set
  /// x attends to itself: (..., time, features).
  TESSERA_API Array operator()(Operand x, const AttentionCall& call = {}) const;
  /// x attends to `memory`.
  TESSERA_API Array operator()(Operand x, Operand memory, const AttentionCall& call = {}) const;
  /// Room for `longest` places; TraceError and ShapeError where the layer is not made.
  TESSERA_API KvCache cache(std::int64_t batch, std::int64_t longest, DType dtype = DType::float32,
                            std::source_location loc = std::source_location::current()) const;
  /// x (batch, time, features) are the next places, which attend to those before and to themselves
  /// causally. Gives (result, cache to go on with). Places beyond the longest overwrite the last.
  TESSERA_API std::pair<Array, KvCache> decode(Operand x, const KvCache& cache) const;
};
struct MultiHeadAttentionOptions {
  std::optional<std::int64_t> kv_heads = {};       // as many as heads
  std::optional<std::int64_t> head_features = {};  // features / heads
  std::optional<std::int64_t> out_features = {};   // features
  std::optional<double> rotary_base = {};
  bool bias = true;
  Initializer init = VarianceScaling{};
  std::optional<DType> dtype = {};
};
/// For inputs of `features`. ShapeError where heads do not divide them, or kv_heads not the heads.
TESSERA_API MultiHeadAttention
multi_head_attention(const Array& key, std::int64_t features, std::int64_t heads,
                     const MultiHeadAttentionOptions& options = {},
                     std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::nn
