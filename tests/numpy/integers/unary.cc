// Functions of one array.
#include "numpy/integers/cases.h"

namespace integers {

namespace {

using Unary = Array (*)(ts::Operand);
using OfValue = Wide (*)(Wide);

Wide same(Wide v) { return v; }

// How a function treats booleans.
enum class Booleans { taken, refused, others };  // `others`: not drawn

// The result has the operand's dtype; for a number, the number's.
Row kept(const std::string& name, std::function<Array(Array)> f, OfValue g,
         Booleans booleans = Booleans::taken) {
  return {name, [=](Dice& dice) {
            const bool is_number = dice.once_in(8);
            Case c;
            c.operands = {is_number ? draw_number(dice, ts::i64)
                                    : draw_array(dice, booleans != Booleans::others)};
            const Grid& x = c.operands[0];
            c.call = name + "(x)";
            c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
            if (x.dtype == ts::bool_ && booleans == Booleans::refused) {
              c.refused = Refusal::dtype;
              return c;
            }
            Grid r = x;
            r.number = false;
            for (Wide& v : r.at) v = wrapped(g(v), r.dtype);
            c.expected = {exactly(r)};
            return c;
          }};
}
Row tested(const std::string& name, std::function<Array(Array)> f, OfValue g) {
  return {name, [=](Dice& dice) {
            Case c;
            c.operands = {dice.once_in(8) ? draw_number(dice, ts::i64) : draw_array(dice)};
            Grid r = c.operands[0];
            c.call = name + "(x)";
            c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
            r.number = r.weak = false;
            r.dtype = ts::bool_;
            for (Wide& v : r.at) v = g(v);
            c.expected = {exactly(r)};
            return c;
          }};
}
// Functions in floats give the bits of their results for the values as float32, or as float64 if
// the integers have 64 bits. Numbers are doubles.
Row in_floats(const std::string& name, std::function<Array(Array)> f, DType widest = ts::f64) {
  return {
      name, [=](Dice& dice) {
        Case c;
        c.operands = {dice.once_in(8) ? draw_number(dice, ts::i64) : draw_array(dice)};
        const Grid& x = c.operands[0];
        c.call = name + "(x)";
        c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
        // Scalars that meet bare floats are doubles inside, like numbers.
        if (x.number || (widest == ts::f32 && x.shape.empty()))
          c.expected = {bits_of_array(f(Array(static_cast<double>(x.at[0]))))};
        else
          c.expected = {bits_of_array(f(array_of(x, bits_of(x.dtype) == 64 ? widest : ts::f32)))};
        return c;
      }};
}

}  // namespace

std::vector<Row> unary_rows() {
  std::vector<Row> rows{
      kept(
          "negative", [](Array x) { return ts::negative(x); }, [](Wide v) { return -v; },
          Booleans::refused),
      kept(
          "operator-", [](Array x) { return -x; }, [](Wide v) { return -v; }, Booleans::refused),
      kept(
          "operator+", [](Array x) { return +x; }, same),
      kept(
          "abs", [](Array x) { return ts::abs(x); }, [](Wide v) { return v < 0 ? -v : v; }),
      kept(
          "sign", [](Array x) { return ts::sign(x); },
          [](Wide v) { return Wide(v > 0) - Wide(v < 0); }, Booleans::refused),
      kept(
          "square", [](Array x) { return ts::square(x); }, [](Wide v) { return times(v, v); }),
      kept(
          "floor", [](Array x) { return ts::floor(x); }, same),
      kept(
          "ceil", [](Array x) { return ts::ceil(x); }, same),
      kept(
          "round", [](Array x) { return ts::round(x); }, same),
      kept(
          "Array::round", [](Array x) { return x.round(); }, same),
      kept(
          "trunc", [](Array x) { return ts::trunc(x); }, same),
      kept(
          "nan_to_num", [](Array x) { return ts::nan_to_num(x); }, same),
      kept(
          "stop_gradient", [](Array x) { return ts::stop_gradient(x); }, same),
      kept(
          "Array::copy", [](Array x) { return x.copy(); }, same),
      tested(
          "logical_not", [](Array x) { return ts::logical_not(x); },
          [](Wide v) { return Wide(v == 0); }),
      tested(
          "operator!", [](Array x) { return !x; }, [](Wide v) { return Wide(v == 0); }),
      tested(
          "isnan", [](Array x) { return ts::isnan(x); }, [](Wide) { return Wide(0); }),
      tested(
          "isinf", [](Array x) { return ts::isinf(x); }, [](Wide) { return Wide(0); }),
      tested(
          "isfinite", [](Array x) { return ts::isfinite(x); }, [](Wide) { return Wide(1); }),
  };
  // The complement of a boolean is its negation.
  for (const auto& [name, f] : std::vector<std::pair<std::string, Unary>>{
           {"bitwise_not", ts::bitwise_not}, {"operator~", [](ts::Operand x) { return ~x.array; }}})
    rows.push_back({name, [name = name, f = f](Dice& dice) {
                      Case c;
                      c.operands = {draw_array(dice)};
                      c.call = name + "(x)";
                      c.f = [f](const Arrays& in) { return Arrays{f(in[0])}; };
                      Grid r = c.operands[0];
                      for (Wide& v : r.at)
                        v = r.dtype == ts::bool_ ? Wide(v == 0) : wrapped(~v, r.dtype);
                      c.expected = {exactly(r)};
                      return c;
                    }});
  const std::vector<std::pair<std::string, Unary>> floats{
      {"exp", ts::exp},         {"exp2", ts::exp2},       {"expm1", ts::expm1},
      {"log", ts::log},         {"log2", ts::log2},       {"log10", ts::log10},
      {"log1p", ts::log1p},     {"sqrt", ts::sqrt},       {"rsqrt", ts::rsqrt},
      {"cbrt", ts::cbrt},       {"sin", ts::sin},         {"cos", ts::cos},
      {"tan", ts::tan},         {"arcsin", ts::arcsin},   {"arccos", ts::arccos},
      {"arctan", ts::arctan},   {"sinh", ts::sinh},       {"cosh", ts::cosh},
      {"tanh", ts::tanh},       {"arcsinh", ts::arcsinh}, {"arccosh", ts::arccosh},
      {"arctanh", ts::arctanh}, {"erf", ts::erf},         {"erfc", ts::erfc},
      {"erf_inv", ts::erf_inv}, {"sigmoid", ts::sigmoid}, {"reciprocal", ts::reciprocal}};
  for (const auto& [name, f] : floats)
    rows.push_back(in_floats(name, [f = f](Array x) { return f(x); }));
  for (const auto& [name, f] : std::vector<std::pair<std::string, std::function<Array(Array)>>>{
           {"nn::gelu", [](Array x) { return ts::nn::gelu(x); }},
           {"nn::silu", [](Array x) { return ts::nn::silu(x); }},
           {"nn::log_sigmoid", [](Array x) { return ts::nn::log_sigmoid(x); }},
           {"nn::softplus", [](Array x) { return ts::nn::softplus(x); }}})
    rows.push_back(in_floats(name, f, ts::f32));  // they meet bare floats
  rows.push_back(kept(
      "nn::relu", [](Array x) { return ts::nn::relu(x); }, [](Wide v) { return v > 0 ? v : 0; },
      Booleans::others));
  rows.push_back(in_floats("nn::elu", [](Array x) { return ts::nn::elu(x); }));
  return rows;
}

}  // namespace integers
