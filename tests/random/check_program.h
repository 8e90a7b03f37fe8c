// Runs one program in every way: equation by equation against the evaluators, then as a whole, with
// passes left out and with donated arguments, which must give the bits of the equations.
#pragma once

#include "base/settings.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/registry_values.h"
#include "parts.h"
#include "runtime/array_data.h"
#include "runtime/cpu/tape_executable.h"
#include "runtime/kept.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

namespace check {

using namespace tessera;
using walk::Arrays;

inline runtime::ArrayDataPtr put(const HostArray& a) {
  return runtime::from_host(Type(a.dtype, a.shape), a.bytes);
}
inline HostArray host(const runtime::ArrayData& a) {
  runtime::BufferPtr hold;
  const std::byte* p = runtime::dense_bytes(a, hold);
  HostArray h(a.type.dtype, a.type.shape);
  if (h.size_bytes()) std::memcpy(h.bytes, p, static_cast<std::size_t>(h.size_bytes()));
  return h;
}
inline Arrays compiled(const runtime::Executable& e, const Arrays& inputs) {
  std::vector<runtime::ArrayDataPtr> in;
  for (const HostArray& a : inputs) in.push_back(put(a));
  Arrays out;
  for (const auto& a : e.run(in)) out.push_back(host(*a));
  return out;
}

/// The first element in which the two differ, or -1. All NaNs count as equal.
inline std::int64_t difference(const HostArray& a, const HostArray& b) {
  const auto n = static_cast<std::size_t>(size_of(a.dtype));
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const auto at = static_cast<std::size_t>(i) * n;
    if (!std::memcmp(a.bytes + at, b.bytes + at, n)) continue;
    const HostArray x = parts::of(a), y = parts::of(b);
    const std::int64_t each = is_complex(a.dtype) ? 2 : 1;
    bool same = is_inexact(a.dtype);
    for (std::int64_t k = i * each; same && k < (i + 1) * each; ++k) {
      const double u = x.number(k), v = y.number(k);
      same = (std::isnan(u) && std::isnan(v)) || (u == v && std::signbit(u) == std::signbit(v));
    }
    if (same) continue;
    return i;
  }
  return -1;
}

// The error that the results of an op may have. A shift adds a function of its operands to one of
// them, which may cancel. A reflection subtracts f(1 - x) below 0 from a value of about the same
// size, at least 1. A mixture has a part of every operand in every result.
enum class Exactness { exact, function, shift, reflection, sum, product, mixture };
inline Exactness exactness(const Op& op, DType dtype) {
  if (!is_inexact(dtype)) return Exactness::exact;
  static const std::set<std::string> rounded = {"add",
                                                "sub",
                                                "mul",
                                                "div",
                                                "neg",
                                                "abs",
                                                "sign",
                                                "floor",
                                                "ceil",
                                                "max",
                                                "min",
                                                "select",
                                                "clamp",
                                                "sqrt",
                                                "convert",
                                                "round_nearest_even",
                                                "round_away",
                                                "bitcast_convert",
                                                "stop_gradient",
                                                "optimization_barrier",
                                                "checkpoint_name",
                                                "complex",
                                                "real",
                                                "imag",
                                                "conj"};
  static const std::set<std::string> sums = {
      "reduce_sum",  "cumsum",     "reduce_window_sum", "scatter_add", "select_and_scatter_add",
      "dot_general", "convolution"};
  static const std::set<std::string> products = {"reduce_prod", "cumprod", "scatter_mul"};
  static const std::set<std::string> shifts = {"logaddexp"}, mixtures = {"fft"},
                                     reflections = {"digamma", "lgamma"};
  if (mixtures.count(op.name)) return Exactness::mixture;
  if (sums.count(op.name)) return Exactness::sum;
  if (shifts.count(op.name)) return Exactness::shift;
  if (reflections.count(op.name)) return Exactness::reflection;
  if (products.count(op.name)) return Exactness::product;
  return op.elementwise && !rounded.count(op.name) ? Exactness::function : Exactness::exact;
}
inline double epsilon(DType d) {
  return d == f64 ? 0x1p-52 : d == f32 ? 0x1p-23 : d == f16 ? 0x1p-10 : 0x1p-7;
}
inline double least(DType d) { return d == f64 ? 0x1p-1022 : d == f16 ? 0x1p-14 : 0x1p-126; }
inline double most(DType d) {
  return d == f64 ? std::numeric_limits<double>::max() : d == f16 ? 65504.0 : 0x1.fp127;
}

// For complex numbers, the sum of the parts' magnitudes, which bounds products too.
inline HostArray absolute_complex(const HostArray& a) {
  const HostArray x = parts::of(a);
  HostArray b(x.dtype, x.shape);
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const double size = i % 2 ? 0 : std::fabs(x.number(i)) + std::fabs(x.number(i + 1));
    if (x.dtype == f64)
      b.data<double>()[i] = size;
    else
      b.data<float>()[i] = static_cast<float>(size);
  }
  return parts::joined(b, a.dtype);
}

// Applies f to each element of a real array.
template <class F>
HostArray each(const HostArray& a, F f) {
  HostArray b(a.dtype, a.shape);
  dispatch(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i)
      if constexpr (std::is_same_v<T, double>)
        b.data<T>()[i] = f(a.number(i));
      else
        b.data<T>()[i] = static_cast<T>(static_cast<float>(f(a.number(i))));
  });
  return b;
}
inline Arrays one_minus(const Arrays& all) {
  Arrays out;
  for (const HostArray& a : all) out.push_back(each(a, [](double x) { return 1 - x; }));
  return out;
}
inline Arrays absolute(const Arrays& all) {
  Arrays out;
  for (const HostArray& a : all) {
    if (is_complex(a.dtype))
      out.push_back(absolute_complex(a));
    else
      out.push_back(is_floating(a.dtype) ? each(a, [](double x) { return std::fabs(x); }) : a);
  }
  return out;
}

/// Whether every op in the programs inside gives the same bits as its evaluator.
inline bool exact_inside(const Program& p) {
  for (const Equation& e : p.equations) {
    for (Var v : e.outputs)
      if (exactness(*e.op, p.type(v).dtype) != Exactness::exact) return false;
    if (any_nested(e.attrs, [](const ProgramPtr& q) { return !exact_inside(*q); })) return false;
  }
  return true;
}

/// The largest number of terms that are added or multiplied into one result.
inline double terms_of(const Arrays& operands) {
  double n = 1;
  for (const HostArray& a : operands) n += static_cast<double>(a.count());
  return n;
}

/// The sum of all magnitudes.
inline double size_of_all(const Arrays& operands) {
  double size = 0;
  for (const HostArray& a : operands) {
    const HostArray x = parts::of(a);
    for (std::int64_t i = 0; i < x.count(); ++i) size += std::fabs(x.number(i));
  }
  return size;
}

/// Describes errors in the results of one equation, or returns an empty text.
inline std::string compare(const Program& alone, const Arrays& operands, const Arrays& got) {
  const Equation& e = alone.equations.back();
  Arrays expected = evaluate(alone, operands), bound;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const bool complex = is_complex(got[k].dtype);
    const DType d = real_dtype(got[k].dtype);
    const HostArray found = parts::of(got[k]), wanted = parts::of(expected[k]);
    Exactness how = exactness(*e.op, d);
    if (any_nested(e.attrs, [](const ProgramPtr&) { return true; }) && !exact_inside(alone))
      return "";  // its bodies are drawn separately too
    if (std::int64_t at = difference(got[k], expected[k]); at >= 0 && how == Exactness::exact)
      return "element " + std::to_string(at) + " of result " + std::to_string(k) + " is " +
             std::to_string(got[k].number(at)) + ", evaluated " +
             std::to_string(expected[k].number(at));
    if (how == Exactness::sum && bound.empty()) bound = evaluate(alone, absolute(operands));
    if (how == Exactness::reflection && bound.empty()) bound = evaluate(alone, one_minus(operands));
    const bool pointwise =
        how == Exactness::function || how == Exactness::shift || how == Exactness::reflection;
    const double n = pointwise ? 8 : 4 * terms_of(operands);
    for (std::int64_t i = 0; i < found.count(); ++i) {
      const double a = found.number(i), b = wanted.number(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      double size = std::fabs(b);
      if (how == Exactness::sum)
        size = parts::of(bound[k]).number(complex ? i / 2 * 2 : i);
      else if (complex)
        size = std::hypot(wanted.number(i / 2 * 2), wanted.number(i / 2 * 2 + 1));
      if (how == Exactness::reflection && operands[0].number(i) < 0)
        size = std::max({size, 1.0, std::fabs(bound[k].number(i))});
      if (how == Exactness::mixture) size = size_of_all(operands);
      if (how == Exactness::shift)
        for (const HostArray& x : operands) size = std::max(size, std::fabs(x.number(i)));
      // The order of terms decides where a sum or product leaves the range.
      if (!pointwise && (!std::isfinite(size) || !std::isfinite(a) || n * size > most(d))) continue;
      if (std::fabs(a - b) <= n * (epsilon(d) * size + least(d))) continue;
      if (pointwise && size * (1 + 8 * epsilon(d)) > most(d)) continue;
      return "element " + std::to_string(i) + " of result " + std::to_string(k) + " is " +
             std::to_string(a) + ", evaluated " + std::to_string(b);
    }
  }
  return "";
}

inline ProgramPtr alone(const Program& p, const Equation& e) {
  Builder b(e.op->name);
  Values in;
  for (Var v : e.inputs) {
    Type t = p.type(v);
    in.push_back(b.input(Type(t.dtype, t.shape, t.weak)));
  }
  return b.finish(b.emit(*e.op, in, e.attrs));
}

/// Sets an environment variable for a scope.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() { ::unsetenv(name_); }

 private:
  const char* name_;
};

inline std::string compare_bits(const Arrays& got, const Arrays& expected, const std::string& how) {
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (got[k].shape != expected[k].shape || got[k].dtype != expected[k].dtype)
      return how + ": result " + std::to_string(k) + " has another type";
    if (std::int64_t at = difference(got[k], expected[k]); at >= 0)
      return how + ": element " + std::to_string(at) + " of result " + std::to_string(k) + " is " +
             std::to_string(got[k].number(at)) + ", equation by equation " +
             std::to_string(expected[k].number(at));
  }
  return "";
}

/// Describes an error in how `p` runs, or returns an empty text. `choice` says which pass is left
/// out and which arguments are donated.
inline std::string problem(const ProgramPtr& p, const Arrays& inputs, std::uint64_t choice) {
  runtime::trim_kept();  // like each call of a public function
  verify(*p, "the test");
  Arrays env(p->types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[p->inputs[i]] = inputs[i];
  bool bits = false, nan = false;
  for (const Equation& e : p->equations) {
    Arrays operands;
    for (Var v : e.inputs) operands.push_back(env[v]);
    ProgramPtr one = alone(*p, e);
    Arrays results = compiled(*runtime::compile(one), operands);
    if (std::string wrong = compare(*one, operands, results); !wrong.empty())
      return e.op->name + " alone: " + wrong + "\n" + to_string(*one);
    bits = bits || e.op->name == "bitcast_convert";
    for (std::size_t k = 0; k < results.size(); ++k) {
      for (std::int64_t i = 0; bits && i < results[k].count(); ++i)
        nan = nan || (is_floating(results[k].dtype) && std::isnan(results[k].number(i)));
      env[e.outputs[k]] = results[k];
    }
  }
  Arrays expected;
  for (Var v : p->outputs) expected.push_back(env[v]);
  auto fresh = [&](runtime::CompileOptions options = {}) {
    return std::make_shared<const runtime::TapeExecutable>(p, std::move(options), tape::Apart{},
                                                           false);
  };
  auto whole = fresh();
  // A compiled program must not run on evaluators.
  if (std::string steps = whole->schedule(); steps.find("  evaluate ") != std::string::npos)
    return "evaluators in a compiled program:\n" + steps;
  std::string wrong = compare_bits(compiled(*whole, inputs), expected, "as a whole");
  if (wrong.empty()) {
    std::vector<std::string> names;
    for (const settings::Variable& v : settings::variables())
      if (std::string_view(v.name) == "TESSERA_DISABLE_PASSES")
        names.assign(v.choices.begin(), v.choices.end());
    std::string all;
    for (const std::string& name : names) all += name + ",";
    for (const std::string& off : {names[choice % names.size()], all}) {
      Setting setting("TESSERA_DISABLE_PASSES", off);
      if (wrong.empty())
        wrong = compare_bits(compiled(*fresh(), inputs), expected, "without " + off);
    }
  }
  if (wrong.empty()) {
    runtime::CompileOptions options;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      options.donated.push_back(choice >> (8 + i) & 1);
    wrong = compare_bits(compiled(*fresh(options), inputs), expected, "with donated arguments");
  }
  // The sign of a NaN is not defined, and reading its bits shows it.
  if (!wrong.empty() && bits && nan) return "";
  return wrong;
}

}  // namespace check
