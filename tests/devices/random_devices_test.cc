// Random programs of maps, collectives, control flow and transformations in any nesting: run
// through the public functions, with what devices share stored once, isolated, and on evaluators,
// and by an oracle that runs device after device on numbers and shares nothing. A program that
// fails is shrunk before it is shown.
//
// TESSERA_RANDOM_PROGRAMS sets how many are run, TESSERA_RANDOM_SEED which comes first.
#include "build.h"
#include "draw.h"
#include "oracle.h"

#include "base/machine.h"
#include "runtime/executable.h"
#include "runtime/host/devices.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>

using namespace devices;

namespace {

struct Mode {
  const char* name;
  bool isolate, evaluate, jit;
};
constexpr Mode kEvaluated{"on evaluators", false, true, false};
constexpr Mode kIsolatedEvaluated{"isolated, on evaluators", true, true, false};
constexpr Mode kCompiled{"compiled", false, false, false};
constexpr Mode kIsolated{"isolated", true, false, false};
constexpr Mode kJitted{"in one jit", false, false, true};
constexpr Mode kIsolatedJitted{"in one jit, isolated", true, false, true};
constexpr Mode kEvaluatedJitted{"in one jit, on evaluators", false, true, true};
constexpr Mode kIsolatedEvaluatedJitted{"in one jit, isolated, on evaluators", true, true, true};

struct InMode {
  const bool before = ts::runtime::isolated();
  explicit InMode(const Mode& m) {
    ts::runtime::set_isolated(m.isolate);
    if (m.evaluate)
      setenv("TESSERA_EVALUATE", "1", 1);
    else
      unsetenv("TESSERA_EVALUATE");
  }
  ~InMode() {
    ts::runtime::set_isolated(before);
    unsetenv("TESSERA_EVALUATE");
  }
};

std::vector<double> draws(std::int64_t seed, std::int64_t number, const Extents& shape) {
  static std::map<std::tuple<std::int64_t, std::int64_t, Extents>, std::vector<double>> known;
  auto [at, fresh] = known.try_emplace({seed, number, shape});
  if (fresh) {
    const InMode plain(kCompiled);
    const Array key = ts::random::fold_in(ts::random::key(static_cast<std::uint64_t>(seed)),
                                          Array(number).astype(ts::i32));
    for (std::int32_t x :
         ts::random::randint(key, shape_of(shape), -3, 4).to_vector<std::int32_t>())
      at->second.push_back(x);
  }
  return at->second;
}

struct Case {
  Block program;
  std::vector<std::vector<double>> inputs;
  ts::DType dtype;
  // By input: the dimension that each axis of a 2 x 2 mesh shards, or -1 for none. Empty if all
  // inputs start on one device.
  std::vector<std::array<int, 2>> cuts;
};

Case drawn(std::uint64_t seed) {
  Draw draw(seed);
  Case c{draw.program(), {}, ts::f64};
  for (const Extents& shape : c.program.inputs) c.inputs.push_back(draw.numbers(count_of(shape)));
  if (draw.one_in(4)) c.dtype = ts::f32;
  // A function over one mesh does not take data on another.
  if (draw.one_in(2) || c.program.has(Kind::region)) return c;
  for (const Extents& shape : c.program.inputs) {
    std::vector<std::int64_t> left(shape.begin(), shape.end());
    std::array<int, 2>& cut = c.cuts.emplace_back(std::array{-1, -1});
    for (int& d : cut)
      if (d = draw.dimension(shape.size()); d >= 0) {
        std::int64_t& n = left[static_cast<std::size_t>(d)];
        if (n % 2 == 0)
          n /= 2;
        else
          d = -1;
      }
  }
  return c;
}

Array placed(const Array& x, const std::array<int, 2>& cuts) {
  std::vector<ts::PartitionSpec::Dim> dims;
  for (int d = 0; d < x.ndim(); ++d) {
    std::vector<std::string> axes;
    if (cuts[0] == d) axes.push_back("a");
    if (cuts[1] == d) axes.push_back("b");
    dims.push_back(axes.empty() ? ts::PartitionSpec::Dim(ts::none) : ts::PartitionSpec::Dim(axes));
  }
  return ts::device_put(x, ts::Mesh({{"a", 2}, {"b", 2}}), ts::PartitionSpec(dims));
}

Arrays run(const Case& c, const Mode& mode) {
  const InMode in_mode(mode);
  Arrays in;
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    in.push_back(Array(c.inputs[k]).astype(c.dtype).reshape(shape_of(c.program.inputs[k])));
  for (std::size_t k = 0; k < c.cuts.size(); ++k) in[k] = placed(in[k], c.cuts[k]);
  const Build build(c.dtype);
  Arrays out = mode.jit ? ts::jit([&](Arrays x) { return build.run(c.program, x); })(in)
                        : build.run(c.program, in);
  for (const Array& x : out) x.block_until_ready();
  return out;
}

std::vector<std::byte> bits(const Array& x) {
  std::vector<std::byte> all;
  auto take = [&](const auto& values) {
    all.resize(values.size() * sizeof(values[0]));
    std::memcpy(all.data(), values.data(), all.size());
  };
  if (x.dtype() == ts::f64)
    take(x.to_vector<double>());
  else
    take(x.to_vector<float>());
  return all;
}

struct Wanted {
  Values values;
  bool exact = false;
};
Wanted wanted(const Case& c) {
  Oracle oracle(draws);
  if (c.dtype == ts::f32) {
    oracle.whole = 11;
    oracle.fraction = 5;
  }
  Values in;
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    in.push_back({c.program.inputs[k], {{c.inputs[k].begin(), c.inputs[k].end()}}});
  Wanted w;
  w.values = oracle.run(c.program, in);
  w.exact = oracle.exact();
  return w;
}

struct Outcome {
  std::string problem;
  bool compared = false;  // with the oracle's results
};

// Describes the errors in the results of one mode, which must agree bit for bit with `others`.
std::string wrong(const Case& c, const Arrays& got, const Wanted& want, const Arrays* others) {
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (got[k].shape() != shape_of(c.program.shape(c.program.outputs[k])))
      return "result " + std::to_string(k) + " has another shape";
    // Partial sums add up in another order than the whole sum. A program that is traced as a whole
    // is also rounded differently from one that sums n times x, because it computes n * x. So the
    // two results compared have the same mode.
    if (others && (want.exact || c.cuts.empty()) && bits(got[k]) != bits((*others)[k])) {
      std::ostringstream text;
      text << "result " << k << " is " << got[k] << " where devices share, and " << (*others)[k];
      return text.str();
    }
    if (!want.exact) continue;
    const std::vector<double> values = got[k].astype(ts::f64).to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const double x = want.values[k].members[0][i].value(); !(values[i] == x))
        return "result " + std::to_string(k) + ", element " + std::to_string(i) + " is " +
               std::to_string(values[i]) + ", alone it is " + std::to_string(x);
  }
  return "";
}

Outcome check(const Case& c, const std::vector<std::pair<Mode, Mode>>& modes) {
  const Wanted want = wanted(c);
  for (const auto& [shared, isolated] : modes) {
    const Mode* now = &isolated;
    try {
      const Arrays apart = run(c, isolated);
      std::string problem = wrong(c, apart, want, nullptr);
      if (problem.empty()) {
        now = &shared;
        problem = wrong(c, run(c, shared), want, &apart);
      }
      if (!problem.empty()) return {std::string(now->name) + ": " + problem, true};
    } catch (const std::exception& e) {
      return {std::string(now->name) + ": " + e.what(), true};
    }
  }
  return {"", want.exact};
}

using Check = std::string(const Case&);

// Replaces one node after the other by a constant, at any depth, as long as the program still
// fails.
bool simplify_one(Block& block, const Case& whole, const std::function<Check>& problem) {
  for (Node& n : block.nodes) {
    if (n.kind == Kind::numbers) continue;
    Node before = n;
    n = Node{};
    n.results = before.results;
    if (!problem(whole).empty()) return true;
    n = std::move(before);
    for (Block& b : n.blocks)
      if (simplify_one(b, whole, problem)) return true;
  }
  return false;
}

std::string shrunk(Case c, const std::function<Check>& problem) {
  for (std::size_t k = 0; c.program.outputs.size() > 1 && k < c.program.outputs.size();) {
    const int output = c.program.outputs[k];
    c.program.outputs.erase(c.program.outputs.begin() + static_cast<std::ptrdiff_t>(k));
    if (!problem(c).empty()) continue;
    c.program.outputs.insert(c.program.outputs.begin() + static_cast<std::ptrdiff_t>(k), output);
    ++k;
  }
  while (simplify_one(c.program, c, problem)) {
  }
  std::string text = problem(c) + "\n" + to_string(c.program) +
                     (c.dtype == ts::f32 ? "in float32\n" : "") + "inputs " + list_of(c.inputs);
  for (const std::array<int, 2>& cut : c.cuts)
    text += " cut (" + std::to_string(cut[0]) + ", " + std::to_string(cut[1]) + ")";
  return text;
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(RandomDevices, SharedIsolatedAndAlone) {
  const int before = ts::device_count();
  ts::set_device_count(4);
  const std::uint64_t count = number_from("TESSERA_RANDOM_PROGRAMS", 150),
                      first = number_from("TESSERA_RANDOM_SEED", 1);
  std::uint64_t compared = 0, ran = 0;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
    const Case c = drawn(seed);
    // The schedule is that of large programs or that of small ones.
    const ts::runtime::PhaseBytes phases(seed / 4 % 2 ? 0 : ts::machine::kBytesWorthAPhase);
    if (++ran % 1000 == 0) std::cout << ran << " programs" << std::endl;
    // Evaluators take no time to compile; one program in four is compiled too.
    std::vector<std::pair<Mode, Mode>> modes = {{kEvaluated, kIsolatedEvaluated},
                                                {kEvaluatedJitted, kIsolatedEvaluatedJitted}};
    if (seed % 4 == 0) {
      modes.emplace_back(kCompiled, kIsolated);
      modes.emplace_back(kJitted, kIsolatedJitted);
    }
    const Outcome outcome = check(c, modes);
    compared += outcome.compared;
    if (outcome.problem.empty()) continue;
    ++failures;
    // Only an error of the same kind counts as the same failure.
    const std::string head = outcome.problem.substr(0, outcome.problem.find(':'));
    ADD_FAILURE() << "seed " << seed << ": " << outcome.problem
                  << "\nshrunk: " << shrunk(c, [&](const Case& smaller) {
                       const std::string p = check(smaller, modes).problem;
                       return p.starts_with(head) ? p : std::string();
                     });
  }
  ts::set_device_count(before);
  if (ran >= 100) {
    EXPECT_GE(10 * compared, 8 * ran) << "too few programs have exact numbers";
  }
  std::cout << compared << " of " << ran << " compared with the oracle\n";
}

}  // namespace
