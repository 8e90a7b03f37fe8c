// The interface to oneDNN. Every call runs on the calling thread alone, whatever the process's
// OpenMP settings, and restores them, because oneDNN's results depend on its number of threads.
// Differences between oneDNN versions are confined to onednn.cc.
#pragma once

#include "ir/program.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::codegen::onednn {

/// Whether this processor multiplies bfloat16 natively (AVX512-BF16, AMX), at about twice the rate
/// of float32, and TESSERA_ISA allows it. Sums are float32; subnormal numbers count as zero.
bool multiplies_bfloat16();

using Dims = std::vector<std::int64_t>;

/// An array with strides, in elements.
struct Layout {
  Dims dims, strides;
};

enum class ConvKind { forward, backward_data, backward_weights };

/// Dims are (batch, channels, spatial...) of source and destination and (groups, output, input,
/// spatial...) of the weights. Padding is that of the forward convolution; `pad_high` may be
/// negative down to -(stride - 1).
struct ConvSpec {
  ConvKind kind;
  /// The dtype of source, destination and weights: float32 or bfloat16. Weight gradients are
  /// float32.
  DType dtype = DType::float32;
  Layout source, weights, destination;
  Dims strides, dilations, pad_low, pad_high;
};

/// A convolution or one of its gradients, ready to run. Source and destination are used in place if
/// their layout is channels-last and dense. Otherwise, and always for the weights, `pack` converts
/// to the library's layout and `unpack` back. Immutable and safe to run on several threads with
/// distinct buffers.
class Convolution {
 public:
  /// nullptr if oneDNN does not support the convolution.
  static std::shared_ptr<const Convolution> make(const ConvSpec& spec);
  virtual ~Convolution() = default;

  enum class Tensor { source, weights, destination };
  /// Whether the library reads and writes the tensor in the caller's layout.
  virtual bool in_place(Tensor t) const = 0;
  /// Bytes of the tensor in the library's layout.
  virtual std::size_t bytes(Tensor t) const = 0;
  /// Whether both convolutions use the same layout of packed weights.
  virtual bool same_weights(const Convolution& other) const = 0;
  virtual void pack(Tensor t, const void* plain, void* packed) const = 0;
  virtual void unpack(Tensor t, const void* packed, void* plain) const = 0;
  virtual std::size_t scratch_bytes() const = 0;
  virtual void run(void* source, void* weights, void* destination, void* scratch) const = 0;
  /// Whether the kernel is specialised, as opposed to the reference implementation and im2col.
  virtual bool fast() const = 0;
  /// The library's name of the implementation, for profiles and tests.
  virtual std::string implementation() const = 0;
};

}  // namespace tessera::inline v0::codegen::onednn
