// The promise of each factor rule: cut every tensor along a factor, run the op on the pieces, and
// the pieces of the results are those of the whole: side by side where the factor passes through,
// combined where it is reduced.
#include "ops/registry_values.h"
#include "ops/registry_walk.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tessera;
using namespace walk;

namespace {

struct Rule {
  using Dims = std::vector<std::vector<std::string>>;  // factors of each dimension, major first
  std::vector<Dims> inputs, outputs;
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, std::string> reductions;  // factor to combiner
  std::set<std::string> special;                  // of any other kind
};

std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> parts(1);
  for (char c : s) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return s.empty() ? std::vector<std::string>{} : parts;
}
// A factor is a letter and digits.
std::vector<std::string> factors(const std::string& dim) {
  std::vector<std::string> f;
  for (char c : dim) {
    if (std::isalpha(static_cast<unsigned char>(c)))
      f.emplace_back(1, c);
    else
      f.back() += c;
  }
  return f;
}
std::vector<Rule::Dims> tensors(const std::string& list) {
  std::vector<Rule::Dims> all;
  for (std::size_t at = 0; (at = list.find('[', at)) != std::string::npos;) {
    std::size_t end = list.find(']', at);
    all.emplace_back();
    for (const std::string& dim : split(list.substr(at + 1, end - at - 1)))
      all.back().push_back(factors(dim));
    at = end;
  }
  return all;
}
// "([a,bc],[])->([ab,c]) {a=2,b=2,c=6} reduction={b:+} need_repl={c}"
Rule parse(const std::string& text) {
  Rule r;
  std::size_t arrow = text.find("->"), end = text.find(')', arrow);
  r.inputs = tensors(text.substr(0, arrow));
  r.outputs = tensors(text.substr(arrow, end - arrow));
  for (std::size_t at = end; (at = text.find('{', at)) != std::string::npos; ++at) {
    std::string kind = text[at - 1] == '='
                           ? text.substr(text.rfind(' ', at) + 1, at - 2 - text.rfind(' ', at))
                           : "";
    for (const std::string& entry : split(text.substr(at + 1, text.find('}', at) - at - 1))) {
      if (kind.empty())
        r.sizes[entry.substr(0, entry.find('='))] = std::stoll(entry.substr(entry.find('=') + 1));
      else if (kind == "reduction")
        r.reductions[entry.substr(0, entry.find(':'))] = entry.substr(entry.find(':') + 1);
      else
        r.special.insert(entry.substr(0, entry.find(':')));
    }
  }
  return r;
}

bool contains(const std::vector<std::string>& dim, const std::string& factor) {
  return std::find(dim.begin(), dim.end(), factor) != dim.end();
}
/// The dimension that `factor` cuts, or -1.
int dim_of(const Rule::Dims& dims, const std::string& factor) {
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (contains(dims[d], factor)) return static_cast<int>(d);
  return -1;
}
// A contiguous block is what a device gets only where the factor is the major one of its dimension.
bool cuts_blocks(const Rule& r, const std::string& factor) {
  auto major = [&](const std::vector<Rule::Dims>& all) {
    for (const Rule::Dims& dims : all)
      for (const auto& dim : dims)
        if (contains(dim, factor) && dim[0] != factor) return false;
    return true;
  };
  return major(r.inputs) && major(r.outputs);
}

// Factors that pass through with work for the partitioner: a piece of an iota adds its offset; a
// piece of what is updated in places that data gives shifts those places by its offset; pieces of
// added updates start from zero but for one.
bool needs_offset(const std::string& op, const Rule& r, const std::string& factor) {
  if (op == "iota") return true;
  if (op == "dynamic_update_slice") return dim_of(r.inputs[1], factor) < 0;
  return op.starts_with("scatter") &&
         (dim_of(r.inputs[2], factor) < 0 || r.reductions.count(factor));
}

// Copies the block `part` of `parts` along `dim` between the whole and a piece.
HostArray block(const HostArray& whole, int dim, std::int64_t part, std::int64_t parts) {
  Shape shape = whole.shape, strides = shape.strides();
  auto d = static_cast<std::size_t>(dim);
  shape[d] /= parts;
  HostArray out(whole.dtype, shape);
  auto n = static_cast<std::size_t>(size_of(whole.dtype));
  std::byte* to = out.bytes;
  for_each_index(shape, [&](Shape index) {
    index[d] += part * shape[d];
    std::copy_n(whole.bytes + static_cast<std::size_t>(flat_index(index, strides)) * n, n, to);
    to += n;
  });
  return out;
}

// Attributes that hold extents, for one of `parts` pieces along `factor`: of the result, or of the
// first operand.
Attrs local(const Attrs& attrs, const Rule& r, const std::string& factor, std::int64_t parts) {
  Attrs out = attrs;
  auto cut = [&](const char* name, const Rule::Dims& dims) {
    if (!attrs.has(name)) return;
    Ints v = attrs.ints(name);
    if (int d = dim_of(dims, factor); d >= 0 && static_cast<std::size_t>(d) < v.size())
      v[static_cast<std::size_t>(d)] /= parts;
    out.set(name, v);
  };
  cut("shape", r.outputs[0]);
  if (!r.inputs.empty())
    for (const char* name : {"limit", "sizes", "slice_sizes"}) cut(name, r.inputs[0]);
  return out;
}

double combine(const std::string& how, double a, double b) {
  if (how == "+") return a + b;
  if (how == "*") return a * b;
  if (how == "max") return std::max(a, b);
  if (how == "min") return std::min(a, b);
  auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  return static_cast<double>(how == "and" ? x & y : x | y);
}

}  // namespace

class RegistrySharding : public testing::TestWithParam<std::string> {};

TEST_P(RegistrySharding, FactorsKeepTheirPromise) {
  const Op& op = Registry::get().at(GetParam());
  if (!op.sharding || !op.evaluate) GTEST_SKIP() << "no rule, or nothing to run";
  static const std::map<std::string, std::string> exempt = {
      {"bitcast_convert",
       "its result has the operand's width, so its examples have no double counterpart"},
      {"custom_vjp_tangent", "it is transposed, never run"}};
  if (auto it = exempt.find(op.name); it != exempt.end()) GTEST_SKIP() << it->second;

  Random random{11};
  for (const OpExample& e : op.examples()) {
    std::vector<Type> types;
    Arrays x;
    for (const Type& t : e.inputs) {
      types.push_back(widened(t));
      x.push_back(draw(types.back(), random, e.lo, e.hi, e.int_lo, e.int_hi));
    }
    Attrs attrs = widened(e.attrs);
    ProgramPtr p = program_of(op, {types, attrs});
    std::string text = op.sharding({types, p->output_types(), attrs});
    Rule rule = parse(text);
    Arrays whole = run(*p, x);

    for (const auto& [factor, size] : rule.sizes) {
      if (rule.special.count(factor) || size < 2 || !cuts_blocks(rule, factor) ||
          needs_offset(op.name, rule, factor))
        continue;
      std::int64_t parts = 2;
      while (size % parts) ++parts;
      SCOPED_TRACE(text + ", factor " + factor + " in " + std::to_string(parts) + "\n" +
                   to_string(*p));
      auto reduction = rule.reductions.find(factor);
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
            if (part == 0) combined[o] = HostArray(DType::float64, whole[o].shape);
            ASSERT_EQ(pieces[o].shape, whole[o].shape);
            for (std::int64_t i = 0; i < whole[o].count(); ++i) {
              double v = pieces[o].number(i);
              combined[o].data<double>()[i] =
                  part ? combine(reduction->second, combined[o].number(i), v) : v;
            }
            continue;
          }
          HostArray expected = block(whole[o], d, part, parts);
          ASSERT_EQ(pieces[o].shape, expected.shape);
          double tolerance = 1e-12 * (1 + largest({expected}));
          for (std::int64_t i = 0; i < expected.count(); ++i)
            ASSERT_TRUE(pieces[o].number(i) == expected.number(i) ||
                        std::fabs(pieces[o].number(i) - expected.number(i)) <= tolerance)
                << pieces[o].number(i) << " is not " << expected.number(i) << ": part " << part
                << ", element " << i;
        }
      }
      for (std::size_t o = 0; o < whole.size(); ++o) {
        if (!combined[o].bytes) continue;
        double tolerance = 1e-12 * (1 + largest({whole[o]}));
        // Integers wrap: compare what is left in the dtype.
        for (std::int64_t i = 0; i < whole[o].count(); ++i) {
          double difference = combined[o].number(i) - whole[o].number(i);
          if (is_integer(whole[o].dtype))
            difference = std::fmod(difference, std::ldexp(1.0, 8 * size_of(whole[o].dtype)));
          ASSERT_LE(std::fabs(difference), tolerance) << "combined, element " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RegistrySharding, testing::ValuesIn(walk::op_names()),
                         walk::test_name);
