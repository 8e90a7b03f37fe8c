// Gradients of convolutions with respect to weights by loops of our own
// (codegen/matrix/weights_gradient.h), against the order of additions that they promise, bit by bit.
// The model knows nothing of tasks, layouts or vectors, and is itself close to the evaluator.
// Operands lie between pages that must not be touched. A Geometry is the convolution whose gradient
// is computed; its layouts are 0: channels last, 1: channels first, 2: channels last, and weights as
// in 1.
#include "codegen/matrix/weights_gradient.h"
#include "codegen/calls/conv_gradient.h"
#include "codegen/convolution_cases.h"
#include "codegen/kernel/isa.h"
#include "codegen/run.h"
#include "ops/contraction/conv_dims.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <type_traits>

namespace tessera::testing {
namespace {

using ops::ConvDims;

struct Case {
  ConvDims dims;  // of the convolution
  Shape source, weights, cotangent;
};

Case case_of(const Geometry& g) {
  Case c;
  const auto space = static_cast<std::int64_t>(g.dims.size());
  Ints last{0, space + 1}, first{0, 1}, kernel_last{space + 1, space};
  Ints source{g.batch, g.inputs * g.groups}, weights{g.outputs * g.groups, g.inputs},
      cotangent{g.batch, g.outputs * g.groups};
  for (std::int64_t i = 0; i < space; ++i) {
    const Dimension& d = g.dims[static_cast<std::size_t>(i)];
    c.dims.strides.push_back(d.stride);
    c.dims.pad_low.push_back(d.low);
    c.dims.pad_high.push_back(d.high);
    c.dims.lhs_dilation.push_back(1);
    c.dims.rhs_dilation.push_back(d.dilation);
    last.push_back(i + 1), first.push_back(i + 2), kernel_last.push_back(i);
    source.push_back(d.in), weights.push_back(d.window), cotangent.push_back(outputs_of(d));
  }
  c.dims.lhs_spec = c.dims.out_spec = g.layout == 1 ? first : last;
  c.dims.rhs_spec = g.layout == 0 ? kernel_last : first;
  c.dims.feature_groups = g.groups;
  c.source = arranged(c.dims.lhs_spec, source);
  c.weights = arranged(c.dims.rhs_spec, weights);
  c.cotangent = arranged(c.dims.out_spec, cotangent);
  return c;
}

using Position = std::array<std::int64_t, 3>;

// An element of an array by batch (or output), channel (or input) and position.
template <class T>
T& element(const HostArray& a, const Ints& spec, std::int64_t first, std::int64_t second,
           const Position& at) {
  Shape index(Ints(spec.size()));
  index[spec[0]] = first, index[spec[1]] = second;
  const std::size_t space = spec.size() - 2;
  for (std::size_t i = 0; i < space; ++i) index[spec[i + 2]] = at[3 - space + i];
  return reinterpret_cast<T*>(a.bytes)[flat_index(index, a.shape.strides())];
}

// The promised sum of one element of the weights.
template <class T>
struct Model {
  const Case& c;
  const HostArray &source, &cotangent;
  std::array<Dimension, 3> dims;
  codegen::GradientTree tree;
  std::int64_t output, channel;  // of all groups
  Position window;
  double magnitude = 0;

  std::int64_t out(std::size_t axis) const { return outputs_of(dims[axis]); }

  // Pixels in order, in the chunks of pixel_chunks.
  T leaf(std::int64_t first, std::int64_t images) {
    const std::int64_t rows = images * out(0) * out(1);
    const codegen::matrix::PixelChunks chunks = codegen::matrix::pixel_chunks(rows, out(2));
    T total = 0;
    bool any = false;
    for (std::int64_t row = 0; row < rows; row += chunks.rows)
      for (std::int64_t x = 0; x < out(2); x += chunks.columns) {
        T sum = 0;
        for (std::int64_t r = row; r < std::min(rows, row + chunks.rows); ++r)
          for (std::int64_t p = x; p < std::min(out(2), x + chunks.columns); ++p)
            add(r / out(1) / out(0) + first, {r / out(1) % out(0), r % out(1), p}, sum);
        total = any ? total + sum : sum;
        any = true;
      }
    return total;
  }
  void add(std::int64_t image, const Position& pixel, T& sum) {
    Position from;
    for (std::size_t i = 0; i < 3; ++i) {
      const Dimension& d = dims[i];
      from[i] = pixel[i] * d.stride + window[i] * d.dilation - d.low;
      if (from[i] < 0 || from[i] >= d.in) return;
    }
    const T a = element<T>(source, c.dims.lhs_spec, image, channel, from),
            b = element<T>(cotangent, c.dims.out_spec, image, output, pixel);
    if (codegen::host_isa().fused) {
      sum = std::fma(a, b, sum);
    } else {
      const T product = a * b;
      sum = sum + product;
    }
    magnitude += std::abs(static_cast<double>(a) * static_cast<double>(b));
  }
  T chunk(std::int64_t first, std::int64_t leaves) {
    if (leaves == 1) return leaf(first, tree.chunk / tree.leaves);
    const std::int64_t half = leaves / 2 * (tree.chunk / tree.leaves);
    const T low = chunk(first, leaves / 2);
    return low + chunk(first + half, leaves / 2);
  }
  T chunks(std::int64_t first, std::int64_t count) {
    auto at = [&](std::int64_t i) { return chunk(i * tree.chunk, tree.leaves); };
    if (count % 2 == 0) {
      const T low = chunks(first, count / 2);
      return low + chunks(first + count / 2, count / 2);
    }
    T sum = at(first);
    for (std::int64_t i = 1; i < count; ++i) sum = sum + at(first + i);
    return sum;
  }
};

int checked = 0;
constexpr std::int64_t kModelled = 200;

// Returns what is wrong with a gradient, or nothing.
template <class T>
std::string fault(const Geometry& g) {
  for (const Dimension& d : g.dims)
    if (outputs_of(d) <= 0) return {};
  const Case c = case_of(g);
  const DType dtype = std::is_same_v<T, double> ? f64 : f32;
  Builder b;
  const Value x = b.input(Type(dtype, c.source)), ct = b.input(Type(dtype, c.cotangent));
  ops::convolution_transpose_rhs(ct, x, c.dims, Type(dtype, c.weights));
  Program program = b.so_far();
  const Equation& eqn = program.equations.back();
  if (program.equations.size() != 1 || eqn.op->name != "convolution") return "another program";
  program.outputs = eqn.outputs;
  const std::vector<Type> in{x.type(), ct.type()}, out{program.type(eqn.outputs[0])};
  const auto problem = codegen::recognise({*eqn.op, eqn.attrs, in, out}, ops::conv_dims(eqn.attrs));
  if (!problem || problem->spec.kind != codegen::onednn::ConvKind::backward_weights) return {};
  const auto routine = codegen::gradient_routine(*problem, dtype, g.work, true);
  if (!routine) return "no routine";
  ++checked;

  std::mt19937 random(g.seed);
  std::normal_distribution<T> normal;
  std::vector<HostArray> arrays{HostArray(dtype, c.source), HostArray(dtype, c.cotangent)};
  for (const HostArray& a : arrays)
    for (std::int64_t i = 0; i < a.shape.count(); ++i)
      reinterpret_cast<T*>(a.bytes)[i] = normal(random);
  for (int i = 0; i < g.special; ++i)
    reinterpret_cast<T*>(arrays[1].bytes)[random() % static_cast<unsigned>(c.cotangent.count())] =
        i % 2 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();

  std::vector<std::vector<HostArray>> results;
  for (bool at_end : {true, false})
    results.push_back(run::fenced(*routine, program, arrays, at_end));
  results.push_back(run::routine(*routine, program, arrays, 1, true));
  results.push_back(run::routine(*routine, program, arrays, 3));

  HostArray oracle(dtype, out[0].shape);
  eqn.op->evaluate({eqn.attrs, arrays, {&oracle, 1}});
  std::array<Dimension, 3> dims{};
  std::copy(g.dims.begin(), g.dims.end(), dims.end() - static_cast<int>(g.dims.size()));
  double terms = static_cast<double>(g.batch);
  for (const Dimension& d : dims) terms *= static_cast<double>(outputs_of(d));
  std::ostringstream wrong;
  // The model is slow, so it computes some elements of large weights.
  const std::int64_t each = std::max<std::int64_t>(1, c.weights.count() / kModelled);
  std::int64_t next = 0;
  for (std::int64_t output = 0; output < g.outputs * g.groups; ++output)
    for (std::int64_t input = 0; input < g.inputs; ++input)
      for_each_index(Shape({dims[0].window, dims[1].window, dims[2].window}), [&](const Shape& k) {
        if (next++ % each || !wrong.str().empty()) return;
        const Position at{k[0], k[1], k[2]};
        Model<T> model{c,
                       arrays[0],
                       arrays[1],
                       dims,
                       codegen::gradient_tree(problem->spec, g.work),
                       output,
                       output / g.outputs * g.inputs + input,
                       at};
        const T expected = model.chunks(0, model.tree.chunks);
        auto same = [](T u, T v) { return u == v || (std::isnan(u) && std::isnan(v)); };
        for (std::size_t r = 0; r < results.size(); ++r) {
          const T got = element<T>(results[r][0], c.dims.rhs_spec, output, input, at);
          if (!same(got, expected))
            wrong << "run " << r << ": output " << output << " input " << input << ": " << got
                  << " and not " << expected << "; ";
        }
        // Each of the terms and sums is rounded by at most half a unit, in both.
        const T plain = element<T>(oracle, c.dims.rhs_spec, output, input, at);
        const double bound =
            (terms + 2) * static_cast<double>(std::numeric_limits<T>::epsilon()) * model.magnitude;
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
  g.batch = between(0, 2) ? between(1, 4) : 8 * between(1, 3);
  g.groups = between(0, 4) ? 1 : between(2, 3);
  g.inputs = between(0, 2) ? between(1, 9) : between(10, 70);
  g.outputs = between(0, 2) ? between(1, 20) : between(20, 70);
  g.layout = static_cast<int>(between(0, 2));
  g.work = between(0, 1) ? 1 : static_cast<double>(between(1, 40)) * 1e7;
  g.special = between(0, 3) ? 0 : 2;
  const std::int64_t space = between(0, 6) ? 2 : between(1, 3), most = space == 2 ? 14 : 7;
  for (std::int64_t i = 0; i < space; ++i) {
    Dimension d;
    d.in = between(1, most);
    d.window = between(1, between(0, 4) ? 3 : 7);
    d.dilation = between(0, 2) ? 1 : 2;
    d.stride = between(0, 1) ? 1 : between(2, 3);
    const std::int64_t reach = ops::dilated(d.window, d.dilation);
    d.low = between(-2, reach);
    d.high = between(-2, reach);
    g.dims.push_back(d);
  }
  return g;
}

TEST(WeightsGradient, AddsInTheOrderThatItPromises) {
  std::mt19937 random(5);
  checked = 0;
  for (int trial = 0; trial < 250; ++trial) {
    const Geometry g = drawn(random);
    trial % 4 ? check<float>(g) : check<double>(g);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(checked, 100);
}

// Sums of several chunks and leaves, panels of several tiles, rows longer than a chunk, and pixels a
// page apart.
TEST(WeightsGradient, LayersOfNetworks) {
  const Dimension same{14, 3, 1, 1, 1, 1, 1}, strided{15, 3, 2, 1, 1, 1, 1}, point{14},
      skipped{13, 1, 2}, wide{23, 5, 2, 1, 1, 2, 2}, narrow{3, 3, 1, 1, 1, 1, 1},
      line{1100, 3, 1, 1, 1, 1, 1};
  for (int layout : {0, 1, 2})
    for (double work : {1.0, 3e8}) {
      for (const Dimension& d : {same, strided, point, skipped, wide}) {
        check<float>({8, 34, 40, 1, {d, d}, layout, work, 0, 3});
        check<float>({2, 3, 32, 1, {d, d}, layout, work, 1, 4});
        if (HasFatalFailure()) return;
      }
      check<float>({2, 3, 5, 1, {narrow, line}, layout, work, 0, 3});
      check<float>({3, 17, 3, 1, {line}, layout, work, 0, 3});
      check<float>({2, 3, 1024, 1, {narrow, narrow}, layout, work, 0, 3});
      check<float>({2, 1024, 3, 1, {narrow, narrow}, layout, work, 0, 3});
      if (HasFatalFailure()) return;
    }
}

// bfloat16 and float16 have the sums of float32, which are rounded once.
TEST(WeightsGradient, RoundsSumsOfFloat32To16Bits) {
  std::mt19937 random(11);
  int compared = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Geometry g = drawn(random);
    if (std::any_of(g.dims.begin(), g.dims.end(),
                    [](const Dimension& d) { return outputs_of(d) <= 0; }))
      continue;
    const Case c = case_of(g);
    std::vector<HostArray> results;
    for (const DType dtype : {f32, bf16}) {
      Builder b;
      const Value x = b.input(Type(dtype, c.source)), ct = b.input(Type(dtype, c.cotangent));
      ops::convolution_transpose_rhs(ct, x, c.dims, Type(dtype, c.weights));
      Program program = b.so_far();
      const Equation& eqn = program.equations.back();
      program.outputs = eqn.outputs;
      const std::vector<Type> in{x.type(), ct.type()}, out{program.type(eqn.outputs[0])};
      const auto problem =
          codegen::recognise({*eqn.op, eqn.attrs, in, out}, ops::conv_dims(eqn.attrs));
      if (!problem || problem->spec.kind != codegen::onednn::ConvKind::backward_weights) break;
      const auto routine = codegen::gradient_routine(*problem, dtype, g.work, true);
      ASSERT_TRUE(routine) << g;
      std::mt19937 values(g.seed);
      std::normal_distribution<float> normal;
      std::vector<HostArray> arrays{HostArray(dtype, c.source), HostArray(dtype, c.cotangent)};
      for (const HostArray& a : arrays)
        for (std::int64_t i = 0; i < a.shape.count(); ++i) {
          const bfloat16_t value(normal(values));
          if (dtype == bf16)
            reinterpret_cast<bfloat16_t*>(a.bytes)[i] = value;
          else
            reinterpret_cast<float*>(a.bytes)[i] = static_cast<float>(value);
        }
      results.push_back(run::fenced(*routine, program, arrays, trial % 2 != 0)[0]);
    }
    if (results.size() < 2) continue;
    ++compared;
    for (std::int64_t i = 0; i < results[0].shape.count(); ++i) {
      const bfloat16_t expected(reinterpret_cast<const float*>(results[0].bytes)[i]);
      ASSERT_EQ(static_cast<float>(expected),
                static_cast<float>(reinterpret_cast<const bfloat16_t*>(results[1].bytes)[i]))
          << g;
    }
  }
  EXPECT_GE(compared, 10);
}

}  // namespace
}  // namespace tessera::testing
