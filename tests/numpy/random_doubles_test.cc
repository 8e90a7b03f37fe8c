// Checks every public function that takes numbers or has constants inside in float64 against long
// double, with numbers that are not float32 numbers. Functions run eagerly, jitted, differentiated,
// mapped over examples and over devices, in a scan and in a checkpoint, and in random programs.
//
// TESSERA_RANDOM_PROGRAMS is the number of cases of each function, and a twentieth of the number of
// programs; TESSERA_RANDOM_SEED is the seed. Without the former, a run draws half of the kCases
// cases, and the next commit the other half.
#include "numpy/doubles/cases.h"
#include "numpy/doubles/declared.h"
#include "numpy/drawn_table.h"

namespace doubles {

namespace {

constexpr std::uint64_t kCases = 2;
constexpr std::size_t kTape = 80;

const std::vector<Row>& rows() {
  static const auto& all = *[] {
    auto* v = new std::vector<Row>;
    for (auto part :
         {elementwise_rows, special_rows, maker_rows, position_rows, reduction_rows, series_rows,
          activation_rows, loss_rows, network_rows, training_rows, program_rows})
      for (Row& row : part()) v->push_back(std::move(row));
    return v;
  }();
  return all;
}

class RandomDoubles : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomDoubles, KeepAllOfTheirBits) {
  const Row& row = rows()[GetParam()];
  const std::uint64_t cases = check::setting("TESSERA_RANDOM_PROGRAMS", kCases);
  // Some functions are large programs, which a long search would compile too often.
  constexpr int kTries = 400;
  drawn::check_row(
      row.name, GetParam(), cases * (row.name == "Programs" ? 20 : 1), kTape,
      [&](const walk::Tape& tape) {
        Dice dice(tape);
        const Case c = row.draw(dice);
        return problem(c, dice);
      },
      kTries);
}

INSTANTIATE_TEST_SUITE_P(Functions, RandomDoubles, testing::Range<std::size_t>(0, rows().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return drawn::test_name(info.param, rows()[info.param].name);
                         });

// The derivative of a gamma draw by its shape, -dP/da / p for its distribution P and density p,
// with P by its series. (JAX's own is good to 1e-10, as tests/golden compares it.)
TEST(RandomDoublesOfGamma, HaveTheDerivativesOfTheirDistribution) {
  const auto lower = [](Long a, Long x) {
    Long term = 1 / a, sum = term;
    for (int n = 1; n < 600; ++n) sum += term *= x / (a + static_cast<Long>(n));
    return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
  };
  std::vector<double> shapes;
  for (int i = 0; i < 60; ++i) shapes.push_back(0.15 + i * 0.13);
  const Array a(shapes);
  for (std::uint64_t seed : {0, 1, 2}) {
    const Array key = ts::random::key(seed);
    const auto draws = ts::random::gamma(key, a, {}, ts::f64).to_vector<double>();
    const auto slopes =
        ts::grad([&](Array v) { return ts::sum(ts::random::gamma(key, v, {}, ts::f64)); })(a)
            .to_vector<double>();
    const auto of_log =
        ts::grad([&](Array v) { return ts::sum(ts::random::loggamma(key, v, {}, ts::f64)); })(a)
            .to_vector<double>();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Long s = shapes[i], x = draws[i], h = s * 0x1p-9L;
      const auto by = [&](int k) { return lower(s + k * h, x) - lower(s - k * h, x); };
      const Long density = std::exp((s - 1) * std::log(x) - x - std::lgamma(s));
      const Long want = -(45 * by(1) - 9 * by(2) + by(3)) / (60 * h) / density;
      const auto near = 2e-13 * static_cast<double>(std::fabs(want));
      EXPECT_NEAR(slopes[i], static_cast<double>(want), near) << "at " << shapes[i];
      EXPECT_NEAR(of_log[i], static_cast<double>(want / x), near / draws[i]) << "at " << shapes[i];
    }
  }
}

// Every function of the public headers has a row, or a reason for having none. Some rows are for
// functions that the walk of the headers does not find: call operators of structs, and a function
// with the name of its namespace.
TEST(RandomDoublesTable, HasEveryPublicFunction) {
  std::set<std::string> with_row;
  for (const Row& row : rows()) with_row.insert(row.name);
  drawn::check_every_function("tests/numpy/doubles", with_row, excluded_headers(),
                              excluded_functions(),
                              {"Programs", "fft::fft", "nn::Dropout", "nn::BroadcastDropout"});
}

}  // namespace

}  // namespace doubles
