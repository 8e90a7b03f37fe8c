// Random nests of loops and branches that update arrays: compiled, with updates in place, against
// the evaluators, which copy. Unsigned integers make every comparison exact. A failing program is
// shrunk by dropping steps.
#include "programs.h"

#include <random>

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

// Large enough that an update of a few rows becomes a step of its own.
const ts::Type kBig(ts::u32, {48, 32});
const ts::Type kRow(ts::u32, {32});
const ts::Type kIndex(ts::i32, {});
constexpr std::int64_t kDevices = 3;

// The seed determines the operation of a node, so a program can be rebuilt without some nodes.
struct Node {
  std::uint64_t seed;
  std::vector<Node> inside;
};

// A value that operations may use. Values made by updating one another have the same `line`.
struct Item {
  ts::Value value;
  int line;
};
using Pool = std::vector<Item>;

enum class Place { alone, mapped, branch };  // `mapped`: all devices execute this

struct Maker {
  ts::Builder& b;
  Pool& pool;
  Place place;
  std::mt19937_64 rng;

  std::int64_t pick(std::size_t n) { return static_cast<std::int64_t>(rng() % n); }
  Item any(const ts::Type& type) {
    Pool fits;
    for (const Item& i : pool)
      if (i.value.shape() == type.shape && i.value.dtype() == type.dtype) fits.push_back(i);
    // Prefer the latest value.
    return pick(3) ? fits.back() : fits[static_cast<std::size_t>(pick(fits.size()))];
  }
  ts::Value number(int n) { return ops::scalar(b, ts::i32, n); }
  ts::Value index() {
    ts::Value i = any(kIndex).value;
    return pick(2) ? i : ops::and_(i, number(31));
  }
  void put(ts::Value v, int line = -1) { pool.push_back({v, line}); }

  ts::Values pick_some(std::size_t most, std::vector<int>* lines = nullptr) {
    ts::Values some;
    for (std::int64_t k = 0, n = 1 + pick(most); k < n; ++k) {
      const Item i = pick(3) ? any(kBig) : any(pick(2) ? kRow : kIndex);
      some.push_back(i.value);
      if (lines) lines->push_back(i.line);
    }
    return some;
  }
};

void grow(ts::Builder& b, Pool& pool, const std::vector<Node>& nodes, Place place);

// A body of `nodes` with inputs of these types. It returns updated values for `results` of them,
// from `first` on.
ts::ProgramPtr body_of(const std::vector<ts::Type>& types, std::size_t first, std::size_t results,
                       const std::vector<Node>& nodes, Place place, std::mt19937_64& rng,
                       bool count = false, bool row = false) {
  ts::Builder b("body");
  Pool pool;
  ts::Values in;
  for (std::size_t k = 0; k < types.size(); ++k) {
    in.push_back(b.input(types[k]));
    pool.push_back({in[k], k >= first && k < first + results ? static_cast<int>(k) : -1});
  }
  grow(b, pool, nodes, place);
  ts::Values out;
  for (std::size_t k = first; k < first + results; ++k) {
    const Item* last = nullptr;
    const bool own = rng() % 4 != 0;
    for (const Item& i : pool)
      if (i.value.type().shape == types[k].shape && i.value.dtype() == types[k].dtype &&
          (!own || i.line == static_cast<int>(k)))
        last = &i;
    out.push_back(last->value);
  }
  if (count) out[0] = ops::add(in[first], ops::scalar(b, ts::i32, 1));
  if (row)
    for (std::size_t k = pool.size(); k-- > 0;)
      if (pool[k].value.shape() == kRow.shape) {
        out.push_back(pool[k].value);
        break;
      }
  return b.finish(out);
}

std::vector<ts::Type> types_of(std::initializer_list<ts::Values> all) {
  std::vector<ts::Type> types;
  for (const ts::Values& values : all)
    for (ts::Value v : values) types.push_back(ts::Type(v.dtype(), v.shape()));
  return types;
}

void loop(Maker& m, const Node& n) {
  std::vector<int> lines;
  ts::Values carry = m.pick_some(3, &lines), consts = m.pick_some(2), xs;
  const std::int64_t length = m.pick(4);
  std::vector<ts::Type> types = types_of({consts, carry});
  types.push_back(kRow);
  xs.push_back(ops::broadcast_in_dim(m.any(kRow).value, {length, 32}, {1}));
  ts::ProgramPtr body =
      body_of(types, consts.size(), carry.size(), n.inside, m.place, m.rng, false, true);
  ts::Values out = ops::scan(body, consts, carry, xs, length, m.pick(2) != 0, m.b);
  for (std::size_t k = 0; k < carry.size(); ++k) m.put(out[k], lines[k]);
  m.put(ops::reduce_sum(out.back(), {0}));
}

void loop_while(Maker& m, const Node& n) {
  std::vector<int> lines{-1};
  ts::Values carry{m.number(0)}, consts = m.pick_some(2);
  for (ts::Value v : m.pick_some(2, &lines)) carry.push_back(v);
  ts::Values limit{ops::and_(m.index(), m.number(3))};
  ts::ProgramPtr cond = program(types_of({limit, carry}), [&](ts::Builder& b, ts::Values v) {
    ts::Value go = ops::lt(v[1], v[0]);
    if (v.back().shape() == kRow.shape)  // the condition reads a carry
      go = ops::and_(go, ops::ne(ops::reduce_sum(v.back(), {0}), ops::scalar(b, ts::u32, 7)));
    return ts::Values{go};
  });
  ts::ProgramPtr body = body_of(types_of({consts, carry}), consts.size(), carry.size(), n.inside,
                                Place::branch, m.rng, true);
  ts::Values out = ops::while_(cond, body, limit, consts, carry);
  for (std::size_t k = 0; k < carry.size(); ++k) m.put(out[k], lines[k]);
}

void branch(Maker& m, const Node& n) {
  std::vector<int> lines;
  ts::Values operands = m.pick_some(3, &lines);
  ts::Programs branches;
  const auto count = static_cast<std::size_t>(2 + m.pick(2));
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<Node> some;
    for (std::size_t i = k; i < n.inside.size(); i += count) some.push_back(n.inside[i]);
    branches.push_back(
        body_of(types_of({operands}), 0, operands.size(), some, Place::branch, m.rng));
  }
  ts::Values out = ops::cond(ops::and_(m.index(), m.number(3)), branches, operands);
  for (std::size_t k = 0; k < operands.size(); ++k) m.put(out[k], lines[k]);
}

void step(Maker& m, const Node& n) {
  ts::Builder& b = m.b;
  if (!n.inside.empty()) {
    const std::int64_t what = m.pick(8);
    if (what < 4) return loop(m, n);
    if (what < 5) return loop_while(m, n);
    if (what < 7) return branch(m, n);
    std::vector<int> lines;
    ts::Values operands = m.pick_some(2, &lines);
    ts::ProgramPtr body =
        body_of(types_of({operands}), 0, operands.size(), n.inside, m.place, m.rng);
    ts::Values out = ops::remat(b, body, operands);
    for (std::size_t k = 0; k < operands.size(); ++k) m.put(out[k], lines[k]);
    return;
  }
  const Item big = m.any(kBig);
  ts::Value zero = m.number(0);
  switch (m.pick(15)) {
    case 0:
    case 1:
    case 2:  // updates a row
      return m.put(ops::dynamic_update_slice(big.value, ops::reshape(m.any(kRow).value, {1, 32}),
                                             ts::Values{m.index(), zero}),
                   big.line);
    case 3: {  // updates columns with those of an array, possibly the same one
      ts::Value part = ops::slice(m.any(kBig).value, {0, 3}, {48, 5}, {1, 1});
      return m.put(ops::dynamic_update_slice(big.value, part, ts::Values{zero, m.index()}),
                   big.line);
    }
    case 4: {  // updates through a view
      ts::Value flat = ops::reshape(big.value, {48 * 32});
      flat = ops::dynamic_update_slice(flat, m.any(kRow).value, ts::Values{m.index()});
      return m.put(ops::reshape(flat, kBig.shape), big.line);
    }
    case 5:
    case 6: {
      ops::ScatterDims dims;
      dims.update_window_dims = {1};
      dims.inserted_window_dims = {0};
      dims.scatter_dims_to_operand_dims = {0};
      dims.index_vector_dim = 1;
      ts::Value i = ops::reshape(m.index(), {1, 1}),
                two = ops::concatenate(ts::Values{i, ops::reshape(m.index(), {1, 1})}, 0);
      ts::Value row = ops::broadcast_in_dim(m.any(kRow).value, {2, 32}, {1});
      return m.put(
          ops::scatter(m.pick(2) ? "scatter" : "scatter_add", big.value, two, row, dims, "drop"),
          big.line);
    }
    case 7:
      return m.put(ops::reshape(ops::dynamic_slice(big.value, ts::Values{m.index(), zero}, {1, 32}),
                                kRow.shape));
    case 8: return m.put(ops::reduce_sum(big.value, {0}));
    case 9: return m.put(ops::add(big.value, m.any(kBig).value), big.line);
    case 10: return m.put(ops::xor_(m.any(kRow).value, m.any(kRow).value));
    case 11:
      return m.put(ops::convert(
          ops::reduce_max(ops::and_(m.any(kRow).value, ops::full(b, ts::u32, kRow.shape, 63)), {0}),
          ts::i32));
    case 12: return m.put(ops::add(m.index(), m.number(1)));
    case 13: return m.put(ops::broadcast_in_dim(m.any(kRow).value, kBig.shape, {1}), big.line);
    default:
      if (m.place != Place::mapped) return m.put(ops::max(m.any(kRow).value, m.any(kRow).value));
      if (m.pick(2)) return m.put(ops::psum(big.value, {"i"}, kDevices), big.line);
      return m.put(ops::psum(m.any(kRow).value, {"i"}, kDevices));
  }
}

void grow(ts::Builder& b, Pool& pool, const std::vector<Node>& nodes, Place place) {
  // Provide at least one value of each type.
  pool.insert(pool.begin(), {ops::scalar(b, ts::i32, 5), -1});
  pool.insert(pool.begin(), {ops::full(b, ts::u32, kRow.shape, 3), -1});
  pool.insert(pool.begin(), {ops::iota(b, ts::u32, kBig.shape, 0), -1});
  for (const Node& n : nodes) {
    Maker m{b, pool, place, std::mt19937_64(n.seed)};
    step(m, n);
  }
}

const std::vector<ts::Type> kInputs = {kBig, kBig, kRow, kIndex};

ts::Values whole_body(ts::Builder& b, const ts::Values& in, const std::vector<Node>& nodes,
                      Place place) {
  Pool pool;
  for (std::size_t k = 0; k < in.size(); ++k)
    pool.push_back({ops::reshape(in[k], kInputs[k].shape), static_cast<int>(k)});
  grow(b, pool, nodes, place);
  ts::Values out;
  std::mt19937_64 rng(nodes.size());
  for (const ts::Type* type : {&kBig, &kRow})
    for (int k = 0; k < 2; ++k) {
      Maker m{b, pool, place, std::mt19937_64(rng())};
      out.push_back(m.any(*type).value);
    }
  return out;
}

std::string compare(const std::vector<ArrayDataPtr>& got,
                    const std::vector<ts::HostArray>& expected, const std::string& how) {
  for (std::size_t k = 0; k < expected.size(); ++k)
    if (!same_bits(host(*got[k]), expected[k])) return how + ": result " + std::to_string(k);
  return "";
}

std::string problem_alone(const std::vector<Node>& nodes) {
  ts::ProgramPtr p = program(kInputs, [&](ts::Builder& b, ts::Values in) {
    return whole_body(b, in, nodes, Place::alone);
  });
  std::vector<ts::HostArray> in;
  for (std::size_t k = 0; k < kInputs.size(); ++k)
    in.push_back(counted(kInputs[k], static_cast<int>(k)));
  const std::vector<ts::HostArray> expected = evaluate(*p, in);
  for (bool donated : {false, true}) {
    std::vector<ArrayDataPtr> arrays;
    for (const ts::HostArray& a : in) arrays.push_back(put(a));
    CompileOptions options;
    if (donated) options.donated = {true, true, false, false};
    std::string wrong = compare(compile(p, options)->run(arrays), expected,
                                donated ? "with donated arguments" : "alone");
    if (!wrong.empty()) return wrong;
    for (std::size_t k = 0; k < in.size() && !donated; ++k)
      if (!same_bits(host(*arrays[k]), in[k])) return "an argument has changed";
  }
  return "";
}

std::string problem_mapped(const std::vector<Node>& nodes) {
  Devices devices(kDevices);
  // The first and the last argument differ between devices.
  std::vector<ts::Type> wholes = {ts::Type(ts::u32, {kDevices * 48, 32}), kBig, kRow,
                                  ts::Type(ts::i32, {kDevices})};
  Sharded s({{"i"}, {kDevices}}, wholes, {"i", "", "", "i"}, {"i", "i", "i", "i"},
            [&](ts::Builder& b, ts::Values in) { return whole_body(b, in, nodes, Place::mapped); });
  std::vector<ts::HostArray> in;
  for (std::size_t k = 0; k < wholes.size(); ++k)
    in.push_back(counted(wholes[k], static_cast<int>(k)));
  const std::vector<ts::HostArray> expected = s.oracle(in);
  for (bool isolate : {false, true}) {
    Isolated isolated(isolate);
    std::string wrong =
        compare(rt::run(s.whole(), in), expected, isolate ? "mapped and isolated" : "mapped");
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::vector<Node> random_nodes(std::mt19937_64& rng, int depth, std::size_t most) {
  std::vector<Node> nodes;
  for (std::size_t n = 1 + rng() % most; n > 0; --n) {
    nodes.push_back({rng(), {}});
    if (depth && rng() % 3 == 0) nodes.back().inside = random_nodes(rng, depth - 1, 4);
  }
  return nodes;
}

using Problem = std::string (*)(const std::vector<Node>&);

// Drops a node, at any depth, if `whole` fails without it as well.
bool drop_one(std::vector<Node>& nodes, const std::vector<Node>& whole, Problem problem) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node gone = nodes[i];
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
    if (!problem(whole).empty()) return true;
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(i), std::move(gone));
    if (drop_one(nodes[i].inside, whole, problem)) return true;
  }
  return false;
}

void check_many(Problem problem, int count, std::uint64_t seed) {
  for (int k = 0; k < count; ++k) {
    std::mt19937_64 rng(seed + static_cast<std::uint64_t>(k) * 7919);
    std::vector<Node> nodes = random_nodes(rng, 3, 9);
    if (problem(nodes).empty()) continue;
    while (drop_one(nodes, nodes, problem)) {
    }
    ts::ProgramPtr p = program(kInputs, [&](ts::Builder& b, ts::Values in) {
      return whole_body(b, in, nodes, Place::alone);
    });
    FAIL() << "program " << k << ": " << problem(nodes) << "\n"
           << to_string(*p) << compile(p)->schedule();
  }
}

}  // namespace

TEST(RandomLoops, AreAsEvaluated) { check_many(problem_alone, 60, 1); }
TEST(RandomLoops, OnDevicesAreAsEvaluated) { check_many(problem_mapped, 40, 2); }
