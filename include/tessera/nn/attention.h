// Attention: scaled dot products, masks, rotary positions, and multi-head layers.
//
// Axes are (batch, time, heads, features of a head), as in jax.nn.dot_product_attention. Keys and
// values may have fewer heads than queries, each shared by a group of query heads (Ainslie et al.
// 2023).
#pragma once

#include <tessera/nn/layers.h>

#include <optional>

namespace tessera::inline v0::nn {

/// `bias` is added to the logits; positions where the boolean `mask` is false are not attended to.
/// Both broadcast to (batch, query heads, query time, key time). A query whose mask is false
/// everywhere gets the mean of all values.
struct AttentionOptions {
  std::optional<Array> bias = {}, mask = {};
  std::optional<double> scale = {};  // of the logits; default 1 / sqrt(features)
  bool is_causal = false;            // query i attends to keys 0 ... i
  /// Integers (batch,): how many of the queries and keys count. The results of other queries are 0.
  std::optional<Array> query_seq_lengths = {}, key_value_seq_lengths = {};
  /// How many keys before and after its own position a query attends to.
  std::optional<std::pair<std::int64_t, std::int64_t>> local_window_size = {};
};
/// softmax(query key^T * scale + bias) value for each head, with the softmax in float32 or wider.
/// The shapes are query (batch, t, n, h), key and value (batch, s, k, h) where k divides n, or all
/// without the batch. The result has the shape and dtype of the query. Throws ShapeError or
/// DTypeError if the operands do not match.
TESSERA_API Array dot_product_attention(Operand query, Operand key, Operand value,
                                        const AttentionOptions& options = {});
/// Another name for dot_product_attention.
TESSERA_API Array scaled_dot_product_attention(Operand query, Operand key, Operand value,
                                               const AttentionOptions& options = {});

/// A mask (batch..., 1, time, time) of zeros and ones for x (batch..., time): 1 where the key is
/// not after the query.
TESSERA_API Array make_causal_mask(Operand x, DType dtype = DType::float32);
/// A mask (batch..., 1, queries, keys): the product of each query's entry and each key's, for
/// example of x > 0 as a padding mask.
TESSERA_API Array make_attention_mask(Operand query, Operand key, DType dtype = DType::float32);
/// The product of the masks, or their logical and if the dtype is boolean.
TESSERA_API Array combine_masks(const std::vector<Array>& masks, DType dtype = DType::float32,
                                std::source_location loc = std::source_location::current());

/// Rotates pairs of features (i, i + h/2) of x (..., time, heads, h) by position * base^(-2i/h) (Su
/// et al. 2021). `positions` are integers (..., time), by default 0, 1, ... Throws ShapeError
/// unless h is even.
TESSERA_API Array rotary_embedding(Operand x, const std::optional<Array>& positions = {},
                                   double base = 10000.0);
/// rotary_embedding as a layer.
struct RotaryPositionalEmbedding {
  /// The base of the wavelengths.
  double base = 10000.0;
  TESSERA_API Array operator()(Operand x, const std::optional<Array>& positions = {}) const;
};

/// The key and value arrays of previous positions for token-by-token decoding, (batch, longest,
/// heads, h) each, and their length, the number of positions filled, an int32 scalar. A tree like
/// any other.
struct KvCache {
  Array key, value, length;
};

/// The optional arguments of a call of MultiHeadAttention: a boolean mask that is true where a
/// query may attend to a key, a bias that is added to the scores, and whether attention is causal.
struct AttentionCall {
  std::optional<Array> mask = {}, bias = {};
  bool is_causal = false;
  std::optional<Array> positions = {};  // of the queries, for rotary embedding
};
/// Attention with projections of queries, keys, values and results. Weights are (in, heads * h);
/// keys and values have kv_heads.
struct MultiHeadAttention {
  /// The projections.
  Linear query, key, value, out;
  std::int64_t heads = 1, kv_heads = 1;
  std::optional<double> rotary_base;  // if set, queries and keys are rotated
  /// Self-attention of x (..., time, features).
  TESSERA_API Array operator()(Operand x, const AttentionCall& call = {}) const;
  /// Attention of x to `memory`.
  TESSERA_API Array operator()(Operand x, Operand memory, const AttentionCall& call = {}) const;
  /// Returns a cache for `longest` positions. Throws TraceError or ShapeError if the layer is not
  /// initialised.
  TESSERA_API KvCache cache(std::int64_t batch, std::int64_t longest, DType dtype = DType::float32,
                            std::source_location loc = std::source_location::current()) const;
  /// Processes the next positions x (batch, time, features), which attend to the previous ones and
  /// causally to themselves. Returns (result, next cache). Positions beyond the longest overwrite
  /// the last one.
  TESSERA_API std::pair<Array, KvCache> decode(Operand x, const KvCache& cache) const;
};
/// The options of multi_head_attention. `rotary_base` adds rotary position embeddings, `bias`
/// biases in the projections; `init` initialises their weights, and `dtype` is the compute dtype.
struct MultiHeadAttentionOptions {
  std::optional<std::int64_t> kv_heads = {};       // default: heads
  std::optional<std::int64_t> head_features = {};  // default: features / heads
  std::optional<std::int64_t> out_features = {};   // default: features
  std::optional<double> rotary_base = {};
  bool bias = true;
  Initializer init = VarianceScaling{};
  std::optional<DType> dtype = {};
};
/// Makes a layer for inputs of `features`. Throws ShapeError if the heads do not divide them, or
/// kv_heads does not divide the heads.
TESSERA_API MultiHeadAttention
multi_head_attention(const Array& key, std::int64_t features, std::int64_t heads,
                     const MultiHeadAttentionOptions& options = {},
                     std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0::nn
