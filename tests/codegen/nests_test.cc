// Loops that are compiled as a whole: against the evaluators, and against the same loop whose steps
// run one after the other.
#include "codegen/kernel/kernel.h"
#include "ops/build.h"
#include "ops/registry_values.h"
#include "random/check_program.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

using namespace tessera;

namespace {

constexpr const char* kWhole = "as one function";

// Fractions of both signs, which differ from element to element.
HostArray filled(const Type& type, int seed) {
  HostArray a(type.dtype, type.shape);
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const auto value = static_cast<float>((i * 7 + seed * 13) % 23 - 5);
    dispatch(type.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_same_v<T, bool>)
        a.data<T>()[i] = value > 3;
      else if constexpr (std::is_integral_v<T>)
        a.data<T>()[i] = static_cast<T>(static_cast<std::int64_t>(value));
      else if constexpr (is_complex_v<T>)
        a.data<T>()[i] = T(static_cast<typename T::value_type>(value * 0.137f), 1);
      else
        a.data<T>()[i] = static_cast<T>(value * 0.137f);
    });
  }
  return a;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::shared_ptr<const runtime::TapeExecutable> planned(const ProgramPtr& p) {
  return std::make_shared<const runtime::TapeExecutable>(p, runtime::CompileOptions{},
                                                         tape::Apart{}, false);
}

// Expects that the program has this many loops that are one function, and the results of the
// evaluators to the bit.
void check_nests(const std::string& text, std::size_t nests = 1, walk::Arrays inputs = {}) {
  const ProgramPtr p = parse_program(text);
  for (std::size_t i = inputs.size(); i < p->inputs.size(); ++i)
    inputs.push_back(filled(p->type(p->inputs[i]), static_cast<int>(i)));
  const auto whole = planned(p);
  EXPECT_EQ(count(whole->schedule(), kWhole), nests) << whole->schedule();
  const walk::Arrays expected = evaluate(*p, inputs), got = check::compiled(*whole, inputs);
  EXPECT_EQ(check::compare_bits(got, expected, "as one function"), "") << text;
  const check::Setting off("TESSERA_DISABLE_PASSES", "nests");
  const auto steps = planned(p);
  EXPECT_EQ(count(steps->schedule(), kWhole), 0u);
  EXPECT_EQ(check::compare_bits(check::compiled(*steps, inputs), expected, "step by step"), "")
      << text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string scan_attrs(int consts, int carry, std::int64_t length, bool reverse = false) {
  return "consts=" + std::to_string(consts) + ", carry=" + std::to_string(carry) +
         ", length=" + std::to_string(length) + ", reverse=" + (reverse ? "true" : "false") + "]";
}

}  // namespace

class NestedScans : public testing::TestWithParam<std::tuple<std::int64_t, bool, int>> {};
// The carries (a, b, c) become (b + x, a * k, c): two of them swap places, and one is passed on.
TEST_P(NestedScans, CarriesSwapAndStack) {
  const auto [length, reverse, extent] = GetParam();
  const std::string n = std::to_string(extent), rows = std::to_string(length);
  check_nests("main { (k: f32[" + n + "], a: f32[" + n + "], b: f32[" + n + "], c: f32[" + n +
              "], x: f32[" + rows + "," + n + "]) -> (d, e, f, g)\n  d: f32[" + n + "], e: f32[" +
              n + "], f: f32[" + n + "], g: f32[" + rows + "," + n +
              "] = scan k a b c x [body={ (k: f32[" + n + "], a: f32[" + n + "], b: f32[" + n +
              "], c: f32[" + n + "], x: f32[" + n + "]) -> (p, q, c, r)\n    p: f32[" + n +
              "] = add b x\n    q: f32[" + n + "] = mul a k\n    r: f32[" + n +
              "] = sub q c\n  }, " + scan_attrs(1, 3, length, reverse) + "\n}\n");
}
// Carries of one element, of part of a vector, and such that take turns in two places.
INSTANTIATE_TEST_SUITE_P(Lengths, NestedScans,
                         testing::Combine(testing::Values(1, 2, 7), testing::Bool(),
                                          testing::Values(1, 3, 17, 300)));

class NestTypes : public testing::TestWithParam<const char*> {};
TEST_P(NestTypes, RunningSums) {
  const std::string text = R"(main { (a: T[3], x: T[9,3]) -> (b, c)
  b: T[3], c: T[9,3] = scan a x [body={ (a: T[3], x: T[3]) -> (p, a)
    p: T[3] = OP a x
  }, )" + scan_attrs(0, 1, 9) +
                           "\n}\n";
  const std::string type = GetParam();
  check_nests(replaced(replaced(text, "T[", type + "["), "OP", type == "bool" ? "xor" : "add"));
}
INSTANTIATE_TEST_SUITE_P(All, NestTypes,
                         testing::Values("bool", "i8", "u8", "i32", "u64", "f16", "bf16", "f32",
                                         "f64", "c64", "c128"));

namespace {

// Halves x while it is above the limit, and counts.
const std::string kHalving = R"(main { (k: f32[], x: f32[], y: f32[2]) -> (a, b, c)
  n: i32[] = constant [value=i32[] 0]
  a: f32[], b: i32[], c: f32[2] = while k x n y [cond={ (k: f32[], x: f32[], n: i32[], y: f32[2]) -> (t)
    t: bool[] = gt x k
  }, body={ (x: f32[], n: i32[], y: f32[2]) -> (p, q, r)
    h: f32[] = constant [value=f32[] 0.5]
    one: i32[] = constant [value=i32[] 1]
    p: f32[] = mul x h
    q: i32[] = add n one
    w: f32[2] = broadcast_in_dim x [shape=(2), dims=()]
    r: f32[2] = add y w
  }, cond_consts=1, body_consts=0]
}
)";

HostArray scalar_of(float x) {
  HostArray a(DType::float32, Shape{});
  *a.data<float>() = x;
  return a;
}

}  // namespace

TEST(Nests, LoopsRunWhileTheirConditionHolds) {
  for (const float x : {0.5f, 1.5f, 3.0f, 1000.0f})
    check_nests(kHalving, 1, {scalar_of(1), scalar_of(x)});
}

// The carry of the scan is updated where it is; starts beyond the ends are moved inside, or drop
// the update.
TEST(Nests, UpdatesInPlaceAtAnyStart) {
  const std::string body = R"(main { (x: f32[3000], at: i32[8], u: f32[8,2]) -> (y, z)
  i: i32[] = constant [value=i32[] 2990]
  y: f32[3000], j: i32[], z: f32[8,2] = scan x i at u [body={ (x: f32[3000], i: i32[], at: i32[], u: f32[2]) -> (w, j, o)
    step: i32[] = constant [value=i32[] 5]
    j: i32[] = add i step
    o: f32[2] = dynamic_slice x j [sizes=(2)]
    v: f32[2] = add o u
    k: i32[] = add at i
UPDATE
  }, )" + scan_attrs(0, 2, 8) +
                           "\n}\n";
  check_nests(replaced(body, "UPDATE", "    w: f32[3000] = dynamic_update_slice x v k"));
  for (const char* op : {"scatter", "scatter_add", "scatter_mul"})
    for (const char* mode : {"drop", "clip"})
      check_nests(replaced(
          body, "UPDATE",
          "    l: i32[1] = broadcast_in_dim k [shape=(1), dims=()]\n    w: f32[3000] = " +
              std::string(op) +
              " x l v [update_window_dims=(0), inserted_window_dims=(), operand_batching_dims=(), "
              "scatter_indices_batching_dims=(), scatter_dims_to_operand_dims=(0), "
              "index_vector_dim=0, mode=\"" +
              mode + "\", unique=true]"));
}

TEST(Nests, UpdatesOfNoElementsChangeNothing) {
  check_nests(R"(main { (x: f32[2,2], u: f32[2,0], at: u8[2]) -> (y)
  y: f32[2,2] = scan u at x [body={ (u: f32[2,0], at: u8[2], x: f32[2,2]) -> (w)
    i: u8[2,1] = reshape at [shape=(2, 1)]
    w: f32[2,2] = scatter x i u [update_window_dims=(1), inserted_window_dims=(), operand_batching_dims=(0), scatter_indices_batching_dims=(0), scatter_dims_to_operand_dims=(1), index_vector_dim=1, mode="clip", unique=true]
  }, )" + scan_attrs(2, 1, 3) +
              "\n}\n");
}

// Several updates of one scatter, of which some meet: they are applied in their order.
TEST(Nests, UpdatesOfOneScatterKeepTheirOrder) {
  check_nests(R"(main { (x: f32[1500], u: f32[6,4]) -> (y)
  at: i32[4,1] = constant [value=i32[4,1] [[3], [7], [3], [-1]]]
  y: f32[1500] = scan at x u [body={ (at: i32[4,1], x: f32[1500], u: f32[4]) -> (w)
    w: f32[1500] = scatter_add x at u [update_window_dims=(), inserted_window_dims=(0), operand_batching_dims=(), scatter_indices_batching_dims=(), scatter_dims_to_operand_dims=(0), index_vector_dim=1, mode="drop", unique=false]
  }, )" + scan_attrs(1, 1, 6) +
              "\n}\n");
}

// Every op that says where its updates go, on its own examples, with indices beyond the ends, too.
TEST(Nests, UpdatesOfAllRows) {
  int whole = 0;
  walk::Random random(7);
  for (const auto& op : Registry::get().all()) {
    if (!op->write) continue;
    for (const OpExample& e : op->examples()) {
      const auto updated = [&](std::span<const Value> in) {
        return in[0].builder->emit(*op, in, e.attrs);
      };
      Builder inside("body");
      Values others, in(1);
      for (std::size_t i = 1; i < e.inputs.size(); ++i) others.push_back(inside.input(e.inputs[i]));
      in[0] = inside.input(e.inputs[0]);
      in.insert(in.end(), others.begin(), others.end());
      const ProgramPtr body = inside.finish(updated(in));
      Builder b("main");
      Values consts, carry;
      walk::Arrays inputs;
      for (std::size_t i = 0; i < e.inputs.size(); ++i) {
        (i ? consts : carry).push_back(b.input(e.inputs[i]));
        inputs.push_back(walk::draw(e.inputs[i], random, e.lo, e.hi, e.int_lo - 2, e.int_hi + 2));
      }
      const ProgramPtr p = b.finish(ops::scan(body, consts, carry, {}, 2, false, b));
      const auto made = planned(p);
      whole += static_cast<int>(count(made->schedule(), kWhole));
      EXPECT_EQ(check::compare_bits(check::compiled(*made, inputs), evaluate(*p, inputs), op->name),
                "")
          << to_string(*p) << made->schedule();
    }
  }
  EXPECT_GT(whole, 20);
}

// One carry is updated in place, and another one takes its old value.
TEST(Nests, OldValuesAreReadBeforeTheyAreOverwritten) {
  check_nests(R"(main { (x: f32[1500], y: f32[1500], u: f32[6,2]) -> (a, b)
  k: i32[] = constant [value=i32[] 3]
  a: f32[1500], b: f32[1500] = scan k x y u [body={ (k: i32[], x: f32[1500], y: f32[1500], u: f32[2]) -> (w, x)
    w: f32[1500] = dynamic_update_slice x u k
  }, )" + scan_attrs(1, 2, 6) +
              "\n}\n");
}

// A while loop and a scan inside a scan are one function together.
TEST(Nests, LoopsInsideLoops) {
  const std::string inner = kHalving.substr(kHalving.find("while k x n y"));
  check_nests(R"(main { (k: f32[], xs: f32[5], y: f32[2]) -> (c, s)
  c: f32[2], s: i32[5] = scan k y xs [body={ (k: f32[], y: f32[2], x: f32[]) -> (d, b)
    n: i32[] = constant [value=i32[] 0]
    a: f32[], b: i32[], c: f32[2] = )" +
                  inner.substr(0, inner.rfind('}')) + R"(
    d: f32[2] = scan c [body={ (c: f32[2]) -> (e)
      e: f32[2] = mul c c
    }, )" + scan_attrs(0, 1, 3) +
                  "\n  }, " + scan_attrs(1, 1, 5) + "\n}\n",
              1, {scalar_of(0.25f)});
}

// The same loop compiles once, and its body's kernels not at all.
TEST(Nests, AreCompiledOnceByContent) {
  const check::Setting off("TESSERA_CACHE", "off");
  const std::string text = replaced(kHalving, "0.5", "0.4375");
  const ProgramPtr p = parse_program(text);
  const std::int64_t before = codegen::kernel_stats().compiled;
  const auto first = planned(p), second = planned(parse_program(text));
  check::compiled(*first, {scalar_of(1), scalar_of(9), filled(Type(DType::float32, {2}), 1)});
  EXPECT_EQ(codegen::kernel_stats().compiled, before + 1);
}
