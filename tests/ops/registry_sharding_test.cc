// The semantics of each factor rule: shard every tensor along a factor and run the op on the
// shards. The results are the shards of the whole results if the factor passes through, and partial
// results to combine if it is reduced.
#include "ops/factor_special.h"
#include "ops/registry_walk.h"

#include <complex>

using namespace tessera;
using namespace walk;

namespace {

// Factors that pass through but need work of the partitioner: a shard of an iota adds its offset,
// and a shard of an array that is updated at positions from data shifts these positions by its
// offset.
bool has_offset(const Op& op, const Rule& r, const std::string& factor) {
  if (op.name == "iota") return true;
  if (op.name == "dynamic_update_slice") return dim_of(r.inputs[1], factor) < 0;
  return op.name.starts_with("scatter") && dim_of(r.inputs[0], factor) >= 0 &&
         dim_of(r.inputs[2], factor) < 0;
}

void expect_close(const HostArray& got, const HostArray& expected, const std::string& how) {
  ASSERT_EQ(got.shape, expected.shape);
  const double tolerance = 1e-12 * (1 + largest({expected}));
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double a = got.number(i), b = expected.number(i);
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance)
        << how << ": element " << i << " is " << a << ", of the whole " << b;
  }
}

// Adds one more partial result, in double precision, with the parts of complex numbers separate.
void combine_into(HostArray& all, const HostArray& result, const std::string& how) {
  const HostArray piece = parts::of(result);
  const bool first = !all.bytes;
  if (first) all = HostArray(DType::float64, piece.shape);
  double* to = all.data<double>();
  for (std::int64_t i = 0; i < piece.count(); ++i) {
    if (!first && how == "*" && is_complex(result.dtype)) {
      const std::complex<double> product =
          std::complex(to[i], to[i + 1]) * std::complex(piece.number(i), piece.number(i + 1));
      to[i] = product.real();
      to[++i] = product.imag();
      continue;
    }
    to[i] = first ? piece.number(i) : combine(how, to[i], piece.number(i));
  }
}

// Checks a factor that is not a plain one; returns whether there was something to check.
bool check_special(const Special& s) {
  auto kind = s.rule.kinds.find(s.factor);
  const std::string name = kind == s.rule.kinds.end() ? "" : kind->second;
  if (name == "window" || name == "permutation") {
    EXPECT_EQ(not_a_window(s), "");
    return true;
  }
  if (name == "contest" && s.rule.combiners.count(s.factor)) {
    EXPECT_EQ(not_a_contest(s), "");
    return true;
  }
  HostArray got;
  if (name == "contest")
    got = by_offers(s);
  else if (name == "prefix")
    got = s.rule.combiners.count(s.factor) ? by_prefix(s) : by_order(s);
  else if (name == "indexed")
    got = by_index(s);
  else if (name.empty() && s.op.name.starts_with("scatter") && s.rule.reductions.count(s.factor))
    got = by_shared_updates(s);
  else if (name.empty() && has_offset(s.op, s.rule, s.factor))
    got = by_offset(s);
  else
    ADD_FAILURE() << "nothing checks factors of kind '" << name << "'";
  if (!got.bytes) return false;
  expect_close(got, s.whole[0], name.empty() ? "offset" : name);
  return true;
}

// Ops whose factors can all not be sharded, with the reason.
const std::map<std::string, std::string>& without_factors() {
  static const auto& all =
      *new std::map<std::string, std::string>{{"constant", "every device has all of it"}};
  return all;
}

}  // namespace

class RegistrySharding : public testing::TestWithParam<std::string> {};

TEST_P(RegistrySharding, FactorsKeepTheirPromise) {
  const Op& op = Registry::get().at(GetParam());
  if (!op.sharding || !op.evaluate) GTEST_SKIP() << "no rule, or nothing to run";
  static const std::map<std::string, std::string> exempt = {
      {"bitcast_convert",
       "its result has the operand's width, so its examples have no double counterpart"},
      {"custom_vjp_tangent", "it is transposed, never run"},
      {"debug_callback", "whoever sees a value sees all of it: nothing is cut"},
      {"host_call", "the host sees whole values: nothing is cut"},
      {"pure_host_call", "the host sees whole values: nothing is cut"}};
  if (auto it = exempt.find(op.name); it != exempt.end()) GTEST_SKIP() << it->second;

  Random random{11};
  int checked = 0;
  for (const OpExample& e : op.examples()) {
    std::vector<Type> types;
    Arrays x;
    for (std::size_t i = 0; i < e.inputs.size(); ++i) {
      types.push_back(widened(e.inputs[i]));
      x.push_back(draw_operand(e, i, types.back(), random));
    }
    Attrs attrs = widened(e.attrs);
    ProgramPtr p = program_of(op, {types, attrs});
    std::string text = to_string(op.sharding({types, p->output_types(), attrs}));
    Rule rule = parse(text);
    Arrays whole = run(*p, x);

    for (const auto& [factor, size] : rule.sizes) {
      auto kind = rule.kinds.find(factor);
      if (size < 2 || !cuts_blocks(rule, factor) ||
          (kind != rule.kinds.end() && kind->second == "need_repl"))
        continue;
      std::int64_t parts = 2;
      while (size % parts) ++parts;
      SCOPED_TRACE(text + ", factor " + factor + " in " + std::to_string(parts) + "\n" +
                   to_string(*p));
      auto reduction = rule.reductions.find(factor);
      const bool plain = kind == rule.kinds.end() && !has_offset(op, rule, factor) &&
                         !(op.name.starts_with("scatter") && reduction != rule.reductions.end());
      if (!plain) {
        checked += check_special({op, attrs, rule, factor, x, whole, parts});
        if (HasFatalFailure()) return;
        continue;
      }
      ++checked;
      Arrays combined(whole.size());
      for (std::int64_t part = 0; part < parts; ++part) {
        Arrays mine;
        std::vector<Type> my_types;
        for (std::size_t i = 0; i < x.size(); ++i) {
          int d = dim_of(rule.inputs[i], factor);
          mine.push_back(d < 0 ? x[i] : block(x[i], d, part, parts));
          my_types.emplace_back(mine.back().dtype, mine.back().shape);
        }
        Arrays pieces = run(*program_of(op, {my_types, local(attrs, rule, factor, parts)}), mine);
        for (std::size_t o = 0; o < whole.size(); ++o) {
          int d = dim_of(rule.outputs[o], factor);
          if (d < 0) {
            ASSERT_NE(reduction, rule.reductions.end())
                << "the factor passes through and is not in result " << o;
            ASSERT_EQ(pieces[o].shape, whole[o].shape);
            combine_into(combined[o], pieces[o], reduction->second);
            continue;
          }
          HostArray expected = parts::of(block(whole[o], d, part, parts));
          const HostArray piece = parts::of(pieces[o]);
          ASSERT_EQ(piece.shape, expected.shape);
          double tolerance = 1e-12 * (1 + largest({expected}));
          for (std::int64_t i = 0; i < expected.count(); ++i)
            ASSERT_TRUE(piece.number(i) == expected.number(i) ||
                        std::fabs(piece.number(i) - expected.number(i)) <= tolerance)
                << piece.number(i) << " is not " << expected.number(i) << ": part " << part
                << ", element " << i;
        }
      }
      for (std::size_t o = 0; o < whole.size(); ++o) {
        if (!combined[o].bytes) continue;
        double tolerance = 1e-12 * (1 + largest({whole[o]}));
        // Integers wrap, so the results are compared in the dtype.
        const HostArray expected = parts::of(whole[o]);
        for (std::int64_t i = 0; i < expected.count(); ++i) {
          double difference = combined[o].number(i) - expected.number(i);
          if (is_integer(whole[o].dtype))
            difference = std::fmod(difference, std::ldexp(1.0, 8 * size_of(whole[o].dtype)));
          ASSERT_LE(std::fabs(difference), tolerance) << "combined, element " << i;
        }
      }
    }
  }
  RecordProperty("factors", checked);
  if (!without_factors().count(op.name)) {
    EXPECT_GT(checked, 0) << "no factor of any example was checked";
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RegistrySharding, testing::ValuesIn(walk::op_names()),
                         walk::test_name);
