// Random programs of emitted ops, compiled alone, fused, and with other task orders, agree with the
// evaluator. Integers make every comparison exact. A failing program is shrunk by dropping
// equations.
#include "codegen/fuse/fuse.h"
#include "codegen/run_parts.h"
#include "ops/build.h"

#include <algorithm>
#include <set>

namespace ts = tessera;
namespace cg = tessera::codegen;
namespace ops = tessera::ops;

namespace {

// One random choice per equation, kept so that a program can be rebuilt without some equations.
struct Recipe {
  std::vector<ts::Shape> inputs;
  std::vector<std::uint64_t> steps;
  bool floats = false;
};

ts::Value step(ts::Builder& b, std::vector<ts::Value>& pool, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  auto pick = [&](std::size_t n) { return static_cast<std::int64_t>(rng() % n); };
  ts::Value x = pool[static_cast<std::size_t>(pick(pool.size()))];
  int rank = x.rank();
  auto same_shape = [&] {
    std::vector<ts::Value> fits;
    for (ts::Value v : pool)
      if (v.shape() == x.shape()) fits.push_back(v);
    return fits[static_cast<std::size_t>(pick(fits.size()))];
  };
  ts::Ints shape = x.shape().to_vector();
  switch (pick(16)) {
    case 0: return ops::add(x, same_shape());
    case 1: return ops::sub(same_shape(), x);
    case 2: return ops::max(x, same_shape());
    case 3: return ops::select(ops::lt(x, same_shape()), x, same_shape());
    case 4: return ops::mul(x, same_shape());
    case 5: {
      if (!rank) return ops::neg(x);
      ts::Ints axes;
      for (int d = 0; d < rank; ++d)
        if (pick(2)) axes.push_back(d);
      return pick(2) ? ops::reduce_sum(x, axes) : ops::reduce_max(x, axes);
    }
    case 6: {
      if (rank > 3) return ops::abs(x);
      ts::Ints dims, out(static_cast<std::size_t>(rank) + 1);
      for (int d = 0; d <= rank; ++d) dims.push_back(d);
      std::shuffle(dims.begin(), dims.end(), rng);
      for (int d = 0; d <= rank; ++d)
        out[static_cast<std::size_t>(dims[static_cast<std::size_t>(d)])] =
            d < rank ? shape[static_cast<std::size_t>(d)] : 1 + pick(5);
      dims.pop_back();
      return ops::broadcast_in_dim(x, out, dims);
    }
    case 7: {
      ts::Ints permutation;
      for (int d = 0; d < rank; ++d) permutation.push_back(d);
      std::shuffle(permutation.begin(), permutation.end(), rng);
      return ops::transpose(x, permutation);
    }
    case 8: {
      ts::Ints dims;
      for (int d = 0; d < rank; ++d)
        if (pick(2)) dims.push_back(d);
      return ops::reverse(x, dims);
    }
    case 9: {
      ts::Ints start, limit, strides;
      for (std::int64_t n : shape) {
        start.push_back(pick(static_cast<std::size_t>(n)));
        limit.push_back(start.back() + 1 + pick(static_cast<std::size_t>(n - start.back())));
        strides.push_back(1 + pick(3));
      }
      return ops::slice(x, start, limit, strides);
    }
    case 10: {
      ts::Ints low, high, interior;
      for (std::int64_t n : shape) {
        low.push_back(pick(4) - (n > 2));
        high.push_back(pick(3));
        interior.push_back(n < 20 ? pick(2) : 0);
      }
      return ops::pad(x, ops::scalar(b, x.dtype(), 3), low, high, interior);
    }
    case 11: {
      if (!rank) return ops::neg(x);
      return ops::concatenate(ts::Values{x, same_shape()},
                              static_cast<int>(pick(static_cast<std::size_t>(rank))));
    }
    case 12: return ops::reshape(x, {x.shape().count()});
    case 13: {
      std::int64_t n = x.shape().count();
      std::int64_t a = 1 + pick(6);
      while (n % a) --a;
      return ops::reshape(x, {a, n / a});
    }
    case 14: {
      if (!rank) return ops::abs(x);
      return ops::add(x, ops::iota(b, x.dtype(), x.shape(),
                                   static_cast<int>(pick(static_cast<std::size_t>(rank)))));
    }
    default: {
      // A statistic of the rows, broadcast back over the rows.
      if (!rank) return ops::neg(x);
      ts::Ints kept;
      for (int d = 0; d + 1 < rank; ++d) kept.push_back(d);
      return ops::sub(x, ops::broadcast_in_dim(ops::reduce_max(x, {rank - 1}), shape, kept));
    }
  }
}

ts::ProgramPtr build(const Recipe& r) {
  ts::Builder b;
  std::vector<ts::Value> pool;
  for (const ts::Shape& s : r.inputs) pool.push_back(b.input({r.floats ? ts::f32 : ts::i32, s}));
  for (std::uint64_t seed : r.steps) {
    ts::Value v = step(b, pool, seed);
    if (v.shape().count() > 0 && v.shape().count() < 20000) pool.push_back(v);
  }
  ts::Values outputs{pool.back()};
  if (pool.size() > 5) outputs.push_back(pool[pool.size() - 3]);
  return b.finish_pruned(outputs);
}

run::Arrays execute(const ts::ProgramPtr& p, run::InArrays inputs, bool backwards) {
  return run::by_clusters(p, inputs, cg::fuse(*p, std::vector<int>(p->types.size(), 0)),
                          [backwards](const ts::ProgramPtr& kernel, run::InArrays in) {
                            return run::routine(*run::compiled(kernel), *kernel, in, 2, backwards);
                          });
}

run::Arrays one_by_one(const ts::ProgramPtr& p, run::InArrays inputs) {
  return run::one_by_one(p, inputs,
                         [](const ts::Equation&, const ts::ProgramPtr& single, run::InArrays in) {
                           return run::compiled(single, in);
                         });
}

// Describes an error of the program, or returns an empty text.
std::string problem(const Recipe& r) {
  ts::ProgramPtr p = build(r);
  std::vector<ts::HostArray> in = run::random_inputs(*p, 9);
  std::vector<ts::HostArray> fused = execute(p, in, true), whole = run::compiled(p, in);
  for (std::size_t i = 0; i < fused.size(); ++i)
    if (!run::same_bits(fused[i], whole[i])) return "fused and whole differ";
  for (bool at_end : {false, true}) {
    std::vector<ts::HostArray> fenced = run::fenced(*run::compiled(p), *p, in, at_end);
    for (std::size_t i = 0; i < fused.size(); ++i)
      if (!run::same_bits(fused[i], fenced[i])) return "results depend on where the memory lies";
  }
  std::vector<ts::HostArray> alone = one_by_one(p, in);
  for (std::size_t i = 0; i < fused.size(); ++i)
    if (!run::same_bits(fused[i], alone[i])) return "fused and one by one differ";
  if (r.floats) return "";
  std::vector<ts::HostArray> expected = ts::evaluate(*p, in);
  for (std::size_t i = 0; i < fused.size(); ++i)
    if (!run::same_bits(fused[i], expected[i])) return "compiled and evaluated differ";
  return "";
}

Recipe shrink(Recipe r) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = r.steps.size(); i-- > 0;) {
      Recipe smaller = r;
      smaller.steps.erase(smaller.steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (smaller.steps.empty() || problem(smaller).empty()) continue;
      r = std::move(smaller);
      again = true;
    }
  }
  return r;
}

std::string describe(const Recipe& r) {
  ts::ProgramPtr p = build(r);
  std::string text;
  for (const ts::Equation& e : p->equations) {
    for (ts::Var v : e.outputs)
      text += "\n  " + std::to_string(v) + ":" + ts::to_string(p->type(v));
    text += " = " + e.op->name;
    for (ts::Var v : e.inputs) text += " " + std::to_string(v) + ":" + ts::to_string(p->type(v));
  }
  return text;
}

void check_many(bool floats, int count) {
  for (int k = 0; k < count; ++k) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(k) * 7919 + floats);
    Recipe r;
    r.floats = floats;
    const std::int64_t sizes[] = {1, 2, 3, 7, 8, 16, 17, 33, 64, 100};
    auto size = [&] { return sizes[rng() % 10]; };
    ts::Shape s{size(), size()};
    r.inputs = {s, s, {size()}, {}};
    for (std::uint64_t n = 3 + rng() % 10, i = 0; i < n; ++i) r.steps.push_back(rng());
    std::string wrong = problem(r);
    if (wrong.empty()) continue;
    Recipe small = shrink(r);
    FAIL() << "program " << k << ": " << problem(small) << describe(small);
  }
}

}  // namespace

TEST(RandomPrograms, OfIntegersAreExact) { check_many(false, 40); }
TEST(RandomPrograms, OfFloatsDoNotDependOnFusion) { check_many(true, 40); }
