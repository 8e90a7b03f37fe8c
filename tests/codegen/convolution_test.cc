// Convolutions by loops of our own, as products (codegen/matrix/convolution.h) and with channels as
// lanes (codegen/calls/conv_channels.h), against the order of additions that they promise, bit by
// bit. The model knows nothing of tasks, batches, layouts or vectors, so results are equal for all of
// them; and the model itself is close to the evaluator. Operands lie between pages that must not be
// touched. The layouts of a Geometry are 0: channels last, 1: channels first, 2: others, 3: as 0,
// with weights as 1.
#include "codegen/calls/conv_channels.h"
#include "codegen/calls/conv_product.h"
#include "codegen/convolution_cases.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix/product.h"
#include "codegen/run.h"
#include "ops/contraction/conv_dims.h"

#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <type_traits>

namespace tessera::testing {
namespace {

using ops::ConvDims;

struct Case {
  ConvDims dims;
  Attrs attrs;
  Shape lhs, rhs, out;
};

Case case_of(const Geometry& g) {
  Case c;
  const auto space = static_cast<std::int64_t>(g.dims.size());
  Ints last{0, space + 1}, first{0, 1}, kernel_last{space + 1, space}, kernel_first{0, 1},
      mixed{space + 1, 0}, kernel_mixed{space, space + 1};
  Ints lhs{g.batch, g.inputs * g.groups}, rhs{g.outputs * g.groups, g.inputs},
      out{g.batch, g.outputs * g.groups};
  for (std::int64_t i = 0; i < space; ++i) {
    const Dimension& d = g.dims[static_cast<std::size_t>(i)];
    c.dims.strides.push_back(d.stride);
    c.dims.pad_low.push_back(d.low);
    c.dims.pad_high.push_back(d.high);
    c.dims.lhs_dilation.push_back(d.holes);
    c.dims.rhs_dilation.push_back(d.dilation);
    last.push_back(i + 1), mixed.push_back(i + 1), first.push_back(i + 2);
    kernel_last.push_back(i), kernel_mixed.push_back(i), kernel_first.push_back(i + 2);
    lhs.push_back(d.in), rhs.push_back(d.window), out.push_back(outputs_of(d));
  }
  const bool channels_last = g.layout == 0 || g.layout == 3;
  c.dims.lhs_spec = channels_last ? last : g.layout == 1 ? first : mixed;
  c.dims.rhs_spec = g.layout == 0 ? kernel_last : g.layout == 2 ? kernel_mixed : kernel_first;
  c.dims.out_spec = channels_last ? last : first;
  c.dims.feature_groups = g.groups;
  c.lhs = arranged(c.dims.lhs_spec, lhs);
  c.rhs = arranged(c.dims.rhs_spec, rhs);
  c.out = arranged(c.dims.out_spec, out);
  c.attrs = ops::conv_attrs(c.dims);
  return c;
}

// An element of an array by batch (or output), channel (or input) and position.
template <class T>
T& element(const HostArray& a, const Ints& spec, std::int64_t first, std::int64_t second,
           const Shape& at) {
  Shape index(Ints(spec.size()));
  index[spec[0]] = first, index[spec[1]] = second;
  for (std::size_t i = 0; i + 2 < spec.size(); ++i)
    index[spec[i + 2]] = at[static_cast<std::int64_t>(i)];
  return reinterpret_cast<T*>(a.bytes)[flat_index(index, a.shape.strides())];
}

// The promised sum: window positions in order, and in each the input channels. Positions between
// the elements of a dilated operand are not terms. Padding is a term that adds nothing.
template <class T>
T promised_sum(const Case& c, const Geometry& g, const HostArray& lhs, const HostArray& rhs,
               std::int64_t image, std::int64_t channel, const Shape& at, double* magnitude) {
  struct Term {
    bool exists;
    T x, w;
  };
  std::vector<Term> terms;
  Ints window;
  for (const Dimension& d : g.dims) window.push_back(d.window);
  for_each_index(Shape(window), [&](const Shape& k) {
    Ints from(g.dims.size());
    bool counts = true, inside = true;
    for (std::size_t i = 0; i < g.dims.size(); ++i) {
      const Dimension& d = g.dims[i];
      const auto dim = static_cast<std::int64_t>(i);
      const std::int64_t position = at[dim] * d.stride + k[dim] * d.dilation - d.low;
      counts &= position % d.holes == 0;
      from[i] = position / d.holes;
      inside &= position >= 0 && from[i] < d.in;
    }
    if (!counts) return;
    for (std::int64_t i = 0; i < g.inputs; ++i) {
      if (!inside) {
        terms.push_back({false, T(0), T(0)});
        continue;
      }
      terms.push_back(
          {true,
           element<T>(lhs, c.dims.lhs_spec, image, channel / g.outputs * g.inputs + i, Shape(from)),
           element<T>(rhs, c.dims.rhs_spec, channel, i, k)});
    }
  });
  const auto count = static_cast<std::int64_t>(terms.size()),
             chunk = codegen::matrix::chunk_of(count);
  T total = 0;
  *magnitude = 0;
  for (std::int64_t first = 0; first < count; first += chunk) {
    T sum = 0;
    for (std::int64_t t = first; t < std::min(count, first + chunk); ++t) {
      const Term& term = terms[static_cast<std::size_t>(t)];
      if (!term.exists) continue;
      if (codegen::host_isa().fused) {
        sum = std::fma(term.x, term.w, sum);
      } else {
        const T product = term.x * term.w;
        sum = sum + product;
      }
      *magnitude += std::abs(static_cast<double>(term.x) * static_cast<double>(term.w));
    }
    total = first ? total + sum : sum;
  }
  return total;
}

std::shared_ptr<const Routine> routine_of(const Geometry& g, const codegen::ConvProblem& problem,
                                          DType dtype) {
  return g.depthwise ? codegen::channels_routine(problem, dtype, g.work)
                     : codegen::product_routine(problem, dtype, g.work, true);
}

// The result that a routine makes in panels, which cover it once.
std::vector<HostArray> in_panels(const Routine& routine, const std::vector<HostArray>& inputs,
                                 const Type& type) {
  const std::shared_ptr<const PanelMaker> maker = routine.in_panels();
  HostArray result(type.dtype, type.shape);
  std::vector<int> times(static_cast<std::size_t>(type.shape.count()));
  run::Scratch scratch(maker->scratch_bytes);
  const void* in[] = {inputs[0].bytes, inputs[1].bytes};
  const RoutineArgs args{in, nullptr, scratch.get()};
  for (const Stage& s : maker->before)
    for (std::int64_t t = 0; t < s.tasks; ++t) s.run(args, t, t + 1);
  EXPECT_EQ(maker->rows * maker->columns, type.shape.count());
  for (std::int64_t task = maker->tasks; task-- > 0;)
    maker->run(
        args, task,
        [&](const Panel& p) {
          EXPECT_LE(p.m, maker->panel_rows);
          EXPECT_LE(p.n, maker->column_block);
          EXPECT_EQ(p.column % maker->column_block, 0);
          return result.bytes +
                 static_cast<std::size_t>(p.row * maker->columns + p.column) * size_of(type.dtype);
        },
        [&](const Panel& p) {
          for (std::int64_t i = 0; i < p.m; ++i)
            for (std::int64_t j = 0; j < p.n; ++j)
              ++times[static_cast<std::size_t>((p.row + i) * maker->columns + p.column + j)];
        });
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
  return {result};
}

// Returns what is wrong with a convolution, or nothing.
template <class T>
std::string fault(const Geometry& g) {
  for (const Dimension& d : g.dims)
    if (outputs_of(d) <= 0) return {};
  const Case c = case_of(g);
  const DType dtype = std::is_same_v<T, double> ? f64 : f32;
  const Op& op = Registry::get().at("convolution");
  const std::vector<Type> in{Type(dtype, c.lhs), Type(dtype, c.rhs)}, out{Type(dtype, c.out)};
  const auto problem = codegen::recognise({op, c.attrs, in, out}, c.dims);
  if (!problem || problem->spec.kind == codegen::onednn::ConvKind::backward_weights) return {};
  const auto routine = routine_of(g, *problem, dtype);
  if (!routine) return "no routine";

  std::mt19937 random(g.seed);
  std::normal_distribution<T> normal;
  std::vector<HostArray> arrays{HostArray(dtype, c.lhs), HostArray(dtype, c.rhs)};
  for (const HostArray& a : arrays)
    for (std::int64_t i = 0; i < a.shape.count(); ++i)
      reinterpret_cast<T*>(a.bytes)[i] = normal(random);
  for (int i = 0; i < g.special; ++i)
    reinterpret_cast<T*>(arrays[1].bytes)[random() % static_cast<unsigned>(c.rhs.count())] =
        i % 2 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();

  Builder b;
  ops::convolution(b.input(in[0]), b.input(in[1]), c.dims);
  Program program = b.so_far();
  program.outputs = program.equations.back().outputs;
  std::vector<std::vector<HostArray>> results;
  for (bool at_end : {true, false})
    results.push_back(run::fenced(*routine, program, arrays, at_end));
  results.push_back(run::routine(*routine, program, arrays, 1, true));
  results.push_back(run::routine(*routine, program, arrays, 3));
  if (routine->in_panels) results.push_back(in_panels(*routine, arrays, out[0]));

  HostArray oracle(dtype, c.out);
  op.evaluate({c.attrs, arrays, {&oracle, 1}});
  double terms = static_cast<double>(g.inputs);
  Ints positions;
  for (const Dimension& d : g.dims) {
    terms *= static_cast<double>(d.window);
    positions.push_back(outputs_of(d));
  }
  std::ostringstream wrong;
  for (std::int64_t image = 0; image < g.batch; ++image)
    for (std::int64_t channel = 0; channel < g.outputs * g.groups; ++channel)
      for_each_index(Shape(positions), [&](const Shape& at) {
        double magnitude = 0;
        const T expected =
            promised_sum<T>(c, g, arrays[0], arrays[1], image, channel, at, &magnitude);
        auto same = [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); };
        if (!wrong.str().empty()) return;
        for (std::size_t r = 0; r < results.size(); ++r) {
          const T got = element<T>(results[r][0], c.dims.out_spec, image, channel, at);
          if (!same(got, expected))
            wrong << "run " << r << ": image " << image << " channel " << channel << ": " << got
                  << " and not " << expected;
        }
        // Each of the terms and sums is rounded by at most half a unit, in both.
        const T plain = element<T>(oracle, c.dims.out_spec, image, channel, at);
        const double bound =
            (terms + 2) * static_cast<double>(std::numeric_limits<T>::epsilon()) * magnitude;
        const double apart = std::abs(static_cast<double>(plain) - static_cast<double>(expected));
        if (!same(plain, expected) && !(apart <= bound))
          wrong << "the evaluator has " << plain << " and the model " << expected;
      });
  return wrong.str();
}

template <class T>
void check(const Geometry& g) {
  if (fault<T>(g).empty()) return;
  const Geometry small = shrunk(g, [](const Geometry& x) { return !fault<T>(x).empty(); });
  FAIL() << fault<T>(small) << "\n" << small << "\ndrawn: " << g;
}

Geometry drawn(std::mt19937& random) {
  auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  Geometry g;
  g.seed = static_cast<unsigned>(random());
  g.batch = between(1, 3);
  g.groups = between(0, 4) ? 1 : between(2, 3);
  g.inputs = between(0, 2) ? between(1, 9) : between(10, 70);
  g.outputs = between(0, 2) ? between(1, 20) : between(20, 70);
  g.layout = static_cast<int>(between(0, 2));
  g.work = between(0, 1) ? 1 : static_cast<double>(between(1, 40)) * 1e7;
  g.special = between(0, 3) ? 0 : 2;
  const bool dilated = between(0, 2) == 0;
  const std::int64_t space = between(0, 6) ? 2 : between(1, 3), most = space == 2 ? 14 : 7;
  for (std::int64_t i = 0; i < space; ++i) {
    Dimension d;
    d.in = between(1, most);
    d.window = between(1, between(0, 4) ? 3 : 7);
    d.dilation = between(0, 2) ? 1 : 2;
    const std::int64_t reach = ops::dilated(d.window, d.dilation);
    if (dilated) {
      d.holes = between(1, 3);
      d.low = between(0, reach - 1);
      d.high = between(0, reach + 1);
    } else {
      d.stride = between(1, 3);
      d.low = between(-2, reach);
      d.high = between(-2, reach);
    }
    g.dims.push_back(d);
  }
  return g;
}

TEST(ConvolutionProduct, AddsInTheOrderThatItPromises) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 250; ++trial) {
    const Geometry g = drawn(random);
    trial % 4 ? check<float>(g) : check<double>(g);
    if (HasFatalFailure()) return;
  }
}

Geometry depthwise(std::mt19937& random) {
  Geometry g = drawn(random);
  g.depthwise = true;
  g.inputs = g.outputs = 1;
  g.groups = 2 + static_cast<std::int64_t>(random() % (random() % 2 ? 7 : 90));
  g.layout = random() % 2 ? 0 : 3;
  if (random() % 3 == 0)
    for (Dimension& d : g.dims) d.window = random() % 2 ? 3 : 5;
  return g;
}

TEST(DepthwiseConvolution, AddsInTheOrderThatItPromises) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 250; ++trial) {
    const Geometry g = depthwise(random);
    trial % 4 ? check<float>(g) : check<double>(g);
    if (HasFatalFailure()) return;
  }
}

// Rows of many pixels and channels, which are cut into several panels and tasks.
TEST(DepthwiseConvolution, LayersOfNetworks) {
  const Dimension same{30, 3, 1, 1, 1, 1, 1}, strided{31, 3, 2, 1, 1, 1, 1},
      wide{28, 5, 1, 1, 1, 2, 2}, wide_strided{29, 5, 2, 1, 1, 2, 2}, dilated{20, 3, 1, 2, 1, 2, 2},
      gradient{14, 3, 1, 1, 2, 1, 2};
  for (const Dimension& d : {same, strided, wide, wide_strided, dilated, gradient}) {
    check<float>({1, 1, 1, 86, {d, d}, 0, 1e8, 0, 3, true});
    if (HasFatalFailure()) return;
  }
}

// Two taps at a stride that is far longer than a window.
TEST(DepthwiseConvolution, LongStrides) {
  const Dimension far{80, 2, 17, 1, 1, 0, 1};
  check<float>({2, 1, 1, 40, {far, far}, 0, 1, 0, 3, true});
}

// bfloat16 has the sums of float32, which are rounded once.
TEST(DepthwiseConvolution, RoundsSumsOfFloat32ToBfloat16) {
  std::mt19937 random(11);
  int compared = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Geometry g = depthwise(random);
    if (std::any_of(g.dims.begin(), g.dims.end(),
                    [](const Dimension& d) { return outputs_of(d) <= 0; }))
      continue;
    const Case c = case_of(g);
    const Op& op = Registry::get().at("convolution");
    std::vector<HostArray> results;
    for (const DType dtype : {f32, bf16}) {
      const std::vector<Type> in{Type(dtype, c.lhs), Type(dtype, c.rhs)}, out{Type(dtype, c.out)};
      const auto problem = codegen::recognise({op, c.attrs, in, out}, c.dims);
      if (!problem || problem->spec.kind == codegen::onednn::ConvKind::backward_weights) break;
      const auto routine = routine_of(g, *problem, dtype);
      ASSERT_TRUE(routine) << g;
      std::mt19937 values(g.seed);
      std::normal_distribution<float> normal;
      std::vector<HostArray> arrays{HostArray(dtype, c.lhs), HostArray(dtype, c.rhs)};
      for (const HostArray& a : arrays)
        for (std::int64_t i = 0; i < a.shape.count(); ++i) {
          const bfloat16_t x(normal(values));
          if (dtype == bf16)
            reinterpret_cast<bfloat16_t*>(a.bytes)[i] = x;
          else
            reinterpret_cast<float*>(a.bytes)[i] = static_cast<float>(x);
        }
      Builder b;
      ops::convolution(b.input(in[0]), b.input(in[1]), c.dims);
      Program program = b.so_far();
      program.outputs = program.equations.back().outputs;
      results.push_back(run::routine(*routine, program, arrays)[0]);
    }
    if (results.size() < 2) continue;
    ++compared;
    for (std::int64_t i = 0; i < c.out.count(); ++i) {
      const bfloat16_t expected(reinterpret_cast<const float*>(results[0].bytes)[i]);
      ASSERT_EQ(static_cast<float>(expected),
                static_cast<float>(reinterpret_cast<const bfloat16_t*>(results[1].bytes)[i]))
          << g;
    }
  }
  EXPECT_GE(compared, 15);
}

// Sums of several chunks, tiles that run on over short rows, and images cut into tasks.
TEST(ConvolutionProduct, LayersOfNetworks) {
  const Dimension same{14, 3, 1, 1, 1, 1, 1}, strided{15, 3, 2, 1, 1, 1, 1}, point{14},
      skipped{13, 1, 2}, small{7, 3, 1, 1, 1, 1, 1}, gradient{7, 3, 1, 1, 2, 1, 2};
  for (const Dimension& d : {same, strided, point, skipped, small, gradient})
    for (int layout : {0, 1})
      for (double work : {1.0, 1e8}) {
        if (layout == 1 && work == 1) continue;
        Geometry g{2, 58, 34, 1, {d, d}, layout, work, 0, 3};
        check<float>(g);
        g.batch = 1, g.inputs = 520, g.outputs = 33;
        if (d.window == 1) check<float>(g);
        if (HasFatalFailure()) return;
      }
}

}  // namespace
}  // namespace tessera::testing
