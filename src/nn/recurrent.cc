#include <tessera/nn/recurrent.h>

#include "nn/checks.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/random.h>

namespace tessera::inline v0::nn {

namespace {

struct Maps {
  Linear input, hidden;
};
Maps maps(const char* maker, const Array& key, std::int64_t in, std::int64_t features,
          std::int64_t gates, bool input_bias, const CellOptions& o, std::source_location loc) {
  need_key(maker, key, loc);
  need_sizes(maker, {in, features}, loc);
  const auto [first, second] = random::split(Operand(key, loc));
  return {linear(first, in, gates * features, {input_bias, o.init, o.dtype}, loc),
          linear(second, features, gates * features, {!input_bias, o.init, o.dtype}, loc)};
}

// Checks that the carry of a cell is (batch..., features), where x is (batch..., in).
void need_carry(const char* cell, const Array& carry, std::int64_t features, const Operand& x) {
  need_array(cell, "x", x.array, x.loc);
  need_array(cell, "the carry", carry, x.loc);
  Shape expected(x.array.shape().begin(), x.array.shape().end() - (x.array.ndim() > 0));
  expected.push_back(features);
  if (carry.shape() == expected) return;
  Message(cell)
      .problem("the carry is " + describe(carry) + ", x " + describe(x.array))
      .rule("the carry has the batch of x and the features of the cell, here " +
            to_string(expected))
      .from(x.loc)
      .advice("cell.initial(batch) makes the first one")
      .raise<ShapeError>();
}

Array state(const Shape& batch, std::int64_t features, DType dtype) {
  Shape s = batch;
  s.push_back(features);
  return zeros(s, dtype);
}

}  // namespace

Shape detail::batch_of(const char* layer, const Array& x, const SourceLoc& loc) {
  need_array(layer, "x", x, loc);
  if (x.ndim() < 2)
    Message(layer)
        .problem("x is " + describe(x))
        .rule("it has time and features for its last two axes")
        .from(loc)
        .advice("x.reshape(time, features) for one sequence")
        .raise<ShapeError>();
  return Shape(x.shape().begin(), x.shape().end() - 2);
}

SimpleCell simple_cell(const Array& key, std::int64_t in, std::int64_t features,
                       const CellOptions& o, std::source_location loc) {
  const InFunction called("simple_cell", loc);
  const Maps m = maps("simple_cell", key, in, features, 1, true, o, loc);
  return {m.input, m.hidden, features};
}
Array SimpleCell::initial(const Shape& batch, DType dtype) const {
  return state(batch, features, dtype);
}
std::pair<Array, Array> SimpleCell::operator()(const Array& carry, Operand x) const {
  const InFunction called("SimpleCell", x.loc);
  need_carry("SimpleCell", carry, features, x);
  const Array h = tanh(input(x) + hidden({carry, x.loc})).astype(carry.dtype());
  return {h, h};
}

GRUCell gru_cell(const Array& key, std::int64_t in, std::int64_t features, const CellOptions& o,
                 std::source_location loc) {
  const InFunction called("gru_cell", loc);
  const Maps m = maps("gru_cell", key, in, features, 3, true, o, loc);
  Linear hidden = m.hidden;
  hidden.bias = Array();
  return {m.input, hidden, zeros({features}), features};
}
Array GRUCell::initial(const Shape& batch, DType dtype) const {
  return state(batch, features, dtype);
}
std::pair<Array, Array> GRUCell::operator()(const Array& carry, Operand x) const {
  const InFunction called("GRUCell", x.loc);
  need_carry("GRUCell", carry, features, x);
  need_parameter("GRUCell", "candidate_bias", candidate_bias, "gru_cell(key, in, features)", x.loc);
  const std::vector<Array> of_x = split(input(x), 3, -1),
                           of_h = split(hidden({carry, x.loc}), 3, -1);
  const Array r = sigmoid(of_x[0] + of_h[0]), z = sigmoid(of_x[1] + of_h[1]);
  const Array n = tanh(of_x[2] + r * (of_h[2] + candidate_bias));
  const Array h = ((1 - z) * n + z * carry).astype(carry.dtype());
  return {h, h};
}

LSTMCell lstm_cell(const Array& key, std::int64_t in, std::int64_t features, const CellOptions& o,
                   std::source_location loc) {
  const InFunction called("lstm_cell", loc);
  const Maps m = maps("lstm_cell", key, in, features, 4, false, o, loc);
  return {m.input, m.hidden, features};
}
LSTMCarry LSTMCell::initial(const Shape& batch, DType dtype) const {
  return {state(batch, features, dtype), state(batch, features, dtype)};
}
std::pair<LSTMCarry, Array> LSTMCell::operator()(const LSTMCarry& carry, Operand x) const {
  const InFunction called("LSTMCell", x.loc);
  need_carry("LSTMCell", carry.hidden, features, x);
  need_carry("LSTMCell", carry.cell, features, x);
  const std::vector<Array> gates = split(input(x) + hidden({carry.hidden, x.loc}), 4, -1);
  const Array c = sigmoid(gates[1]) * carry.cell + sigmoid(gates[0]) * tanh(gates[2]);
  const Array h = (sigmoid(gates[3]) * tanh(c)).astype(carry.hidden.dtype());
  return {{c.astype(carry.cell.dtype()), h}, h};
}

}  // namespace tessera::inline v0::nn
