// Checks every public function that takes integers, on drawn dtypes and values at their limits.
// Eager runs are compared with arithmetic in 128 bits, and jitted and mapped runs with the eager
// ones, bit for bit.
//
// TESSERA_RANDOM_PROGRAMS is the number of cases of each function, and TESSERA_RANDOM_SEED the
// seed. Without the former, a run draws half of the kCases cases, and the next commit the other
// half.
#include "numpy/drawn_table.h"
#include "numpy/integers/cases.h"

namespace integers {

namespace {

constexpr std::uint64_t kCases = 5;
constexpr std::size_t kTape = 120;

const std::vector<Row>& rows() {
  static const auto& all = *[] {
    auto* v = new std::vector<Row>;
    for (auto part :
         {unary_rows, binary_rows, choice_rows, reduction_rows, contraction_rows, movement_rows,
          position_rows, maker_rows, random_rows, control_rows, network_rows})
      for (Row& row : part()) v->push_back(std::move(row));
    return v;
  }();
  return all;
}

class RandomIntegers : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomIntegers, AreThoseOfWideArithmetic) {
  const Row& row = rows()[GetParam()];
  drawn::check_row(row.name, GetParam(), check::setting("TESSERA_RANDOM_PROGRAMS", kCases), kTape,
                   [&](const walk::Tape& tape) {
                     Dice dice(tape);
                     const Case c = row.draw(dice);
                     return problem(c, dice);
                   });
}

INSTANTIATE_TEST_SUITE_P(Functions, RandomIntegers, testing::Range<std::size_t>(0, rows().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return drawn::test_name(info.param, rows()[info.param].name);
                         });

// Every function of the public headers has a row, or a reason for having none.
TEST(RandomIntegersTable, HasEveryPublicFunction) {
  std::set<std::string> with_row;
  for (const Row& row : rows()) with_row.insert(row.name);
  drawn::check_every_function("tests/numpy/integers", with_row, excluded_headers(),
                              excluded_functions());
}

}  // namespace

}  // namespace integers
