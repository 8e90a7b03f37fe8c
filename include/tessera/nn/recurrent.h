// Recurrent cells and the loops around them. A cell is called as cell(carry, x) and gives (carry,
// output); x is (batch..., features). Gates are ordered as in their formulas.
#pragma once

#include <tessera/control_flow.h>
#include <tessera/manipulation.h>
#include <tessera/nn/layers.h>

namespace tessera::inline v0::nn {

/// h' = tanh(x W + h U + b).
struct SimpleCell {
  Linear input, hidden;
  std::int64_t features = 0;
  using Carry = Array;
  TESSERA_API Carry initial(const Shape& batch, DType dtype = DType::float32) const;
  TESSERA_API std::pair<Array, Array> operator()(const Array& carry, Operand x) const;
};
struct CellOptions {
  Initializer init = VarianceScaling{};
  std::optional<DType> dtype = {};
};
TESSERA_API SimpleCell simple_cell(const Array& key, std::int64_t in, std::int64_t features,
                                   const CellOptions& options = {},
                                   std::source_location loc = std::source_location::current());

/// r, z = sigmoid(...), n = tanh(x W + b + r * (h U + c)), h' = (1 - z) n + z h (Cho et al. 2014).
/// `input` gives r, z and n of x in a row, `hidden` those of h.
struct GRUCell {
  Linear input, hidden;
  Array candidate_bias;  // c, of h in n
  std::int64_t features = 0;
  using Carry = Array;
  TESSERA_API Carry initial(const Shape& batch, DType dtype = DType::float32) const;
  TESSERA_API std::pair<Array, Array> operator()(const Array& carry, Operand x) const;
};
TESSERA_API GRUCell gru_cell(const Array& key, std::int64_t in, std::int64_t features,
                             const CellOptions& options = {},
                             std::source_location loc = std::source_location::current());

struct LSTMCarry {
  Array cell, hidden;
};
/// i, f, o = sigmoid(...), g = tanh(...), c' = f c + i g, h' = o tanh(c') (Hochreiter and
/// Schmidhuber 1997). `input` gives i, f, g and o of x in a row, `hidden` those of h.
struct LSTMCell {
  Linear input, hidden;
  std::int64_t features = 0;
  using Carry = LSTMCarry;
  TESSERA_API Carry initial(const Shape& batch, DType dtype = DType::float32) const;
  TESSERA_API std::pair<LSTMCarry, Array> operator()(const LSTMCarry& carry, Operand x) const;
};
TESSERA_API LSTMCell lstm_cell(const Array& key, std::int64_t in, std::int64_t features,
                               const CellOptions& options = {},
                               std::source_location loc = std::source_location::current());

namespace detail {
/// The batch of x (batch..., time, features); ShapeError where it has no time.
TESSERA_API Shape batch_of(const char* layer, const Array& x, const SourceLoc& loc);
}  // namespace detail

/// A cell along the axis before the last: x (batch..., time, features) to outputs (batch..., time,
/// features of the cell). `reverse` goes from the end, with outputs in the places of their inputs.
template <class Cell>
struct RNN {
  Cell cell;
  bool reverse = false;

  /// (last carry, outputs)
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

/// One RNN from the beginning and one from the end, their outputs side by side in the last axis.
template <class Cell>
struct Bidirectional {
  Cell forward, backward;
  Array operator()(const Operand& x) const {
    const Array there = RNN<Cell>{forward}(x), back = RNN<Cell>{backward, true}(x);
    return concatenate({there, back}, -1, x.loc);
  }
};

}  // namespace tessera::inline v0::nn
