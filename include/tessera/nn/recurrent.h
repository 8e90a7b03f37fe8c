// Recurrent cells and loops over them. A cell is called as cell(carry, x) and returns (carry,
// output); x is (batch..., features). Gates are stored in the order of their formulas.
#pragma once

#include <tessera/control_flow.h>
#include <tessera/manipulation.h>
#include <tessera/nn/layers.h>

namespace tessera::inline v0::nn {

/// h' = tanh(x W + h U + b).
struct SimpleCell {
  Linear input, hidden;
  /// The number of features of the carry.
  std::int64_t features = 0;
  /// The carry, h: (batch..., features).
  using Carry = Array;
  /// A carry of zeros for this batch shape.
  TESSERA_API Carry initial(const Shape& batch, DType dtype = DType::float32) const;
  TESSERA_API std::pair<Array, Array> operator()(const Array& carry, Operand x) const;
};
/// The options of the recurrent cells: the initialiser `init` of their weights, and the compute
/// `dtype`.
struct CellOptions {
  Initializer init = VarianceScaling{};
  std::optional<DType> dtype = {};
};
TESSERA_API SimpleCell simple_cell(const Array& key, std::int64_t in, std::int64_t features,
                                   const CellOptions& options = {},
                                   std::source_location loc = std::source_location::current());

/// r, z = sigmoid(...), n = tanh(x W + b + r * (h U + c)), h' = (1 - z) n + z h (Cho et al. 2014).
/// `input` computes the x terms of r, z and n concatenated, `hidden` those of h.
struct GRUCell {
  Linear input, hidden;
  Array candidate_bias;  // c, the bias of h U in n
  /// The number of features of the carry.
  std::int64_t features = 0;
  /// The carry, h: (batch..., features).
  using Carry = Array;
  /// A carry of zeros for this batch shape.
  TESSERA_API Carry initial(const Shape& batch, DType dtype = DType::float32) const;
  TESSERA_API std::pair<Array, Array> operator()(const Array& carry, Operand x) const;
};
TESSERA_API GRUCell gru_cell(const Array& key, std::int64_t in, std::int64_t features,
                             const CellOptions& options = {},
                             std::source_location loc = std::source_location::current());

/// The carry of an LSTM: c (`cell`) and h (`hidden`), each (batch..., features).
struct LSTMCarry {
  Array cell, hidden;
};
/// i, f, o = sigmoid(...), g = tanh(...), c' = f c + i g, h' = o tanh(c') (Hochreiter and
/// Schmidhuber 1997). `input` computes the x terms of i, f, g and o concatenated, `hidden` those of
/// h.
struct LSTMCell {
  Linear input, hidden;
  /// The number of features of the carry.
  std::int64_t features = 0;
  /// The carry, c and h.
  using Carry = LSTMCarry;
  /// A carry of zeros for this batch shape.
  TESSERA_API Carry initial(const Shape& batch, DType dtype = DType::float32) const;
  TESSERA_API std::pair<LSTMCarry, Array> operator()(const LSTMCarry& carry, Operand x) const;
};
TESSERA_API LSTMCell lstm_cell(const Array& key, std::int64_t in, std::int64_t features,
                               const CellOptions& options = {},
                               std::source_location loc = std::source_location::current());

namespace detail {
/// The batch shape of x (batch..., time, features). Throws ShapeError if x has no time axis.
TESSERA_API Shape batch_of(const char* layer, const Array& x, const SourceLoc& loc);
}  // namespace detail

/// Runs a cell along the second to last axis, from x (batch..., time, features) to outputs
/// (batch..., time, features of the cell). With `reverse` it starts at the end, and each output is
/// at the position of its input.
template <class Cell>
struct RNN {
  Cell cell;
  bool reverse = false;

  /// Returns (last carry, outputs).
  std::pair<typename Cell::Carry, Array> run(const Operand& x,
                                             const typename Cell::Carry& start) const {
    const InFunction called("RNN", x.loc);
    const Shape batch = detail::batch_of("RNN", x.array, x.loc);
    const std::int64_t time = batch.rank();
    auto [last, outputs] = scan(
        [this, &x](typename Cell::Carry carry, Array now) {
          return cell(carry, {now, x.loc});
        },
        start, moveaxis(x, time, 0), ScanOptions{.reverse = reverse}, x.loc);
    return {last, moveaxis(outputs, 0, time)};
  }
  Array operator()(const Operand& x) const {
    const Shape batch = detail::batch_of("RNN", x.array, x.loc);
    return run(x, cell.initial(batch, x.array.dtype())).second;
  }
};

/// A forward and a backward RNN, whose outputs are concatenated along the last axis.
template <class Cell>
struct Bidirectional {
  Cell forward, backward;
  Array operator()(const Operand& x) const {
    const Array there = RNN<Cell>{forward}(x), back = RNN<Cell>{backward, true}(x);
    return concatenate({there, back}, -1, x.loc);
  }
};

}  // namespace tessera::inline v0::nn
