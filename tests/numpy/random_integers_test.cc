// Every public function that takes integers, on drawn dtypes and values at their limits: eagerly
// against arithmetic in 128 bits, jitted and mapped against that, bit for bit.
//
// TESSERA_RANDOM_PROGRAMS is the number of cases of each function, TESSERA_RANDOM_SEED the seed.
#include "numpy/integers/cases.h"
#include "numpy/integers/declared.h"
#include "random/shrink.h"

#include <map>
#include <set>

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
  const std::uint64_t count = check::setting("TESSERA_RANDOM_PROGRAMS", kCases),
                      seed = check::setting("TESSERA_RANDOM_SEED", 1);
  const check::Case wrong = [&](const walk::Tape& tape) {
    check::note(row.name + " tape " + check::to_string(tape));
    Dice dice(tape);
    const Case c = row.draw(dice);
    return problem(c, dice);
  };
  for (std::uint64_t k = 0; k < count; ++k) {
    std::mt19937_64 rng((seed * 1000003 + k) * 1000003 + GetParam());
    walk::Tape tape(kTape);
    for (std::uint32_t& n : tape) n = static_cast<std::uint32_t>(rng() % 27720);  // of 2 to 12
    if (wrong(tape).empty()) continue;
    const walk::Tape small = check::shrunk(tape, wrong);
    FAIL() << row.name << ", case " << k << " of seed " << seed << ": " << wrong(small) << "\ntape "
           << check::to_string(small);
  }
}

// A name for the test of a row, in letters that GoogleTest takes.
std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = std::to_string(info.param) + "_";
  for (char ch : rows()[info.param].name)
    name += std::isalnum(static_cast<unsigned char>(ch)) ? std::string(1, ch)
            : ch == ':'                                  ? ""
                        : "_" + std::to_string(static_cast<int>(ch));
  return name;
}
INSTANTIATE_TEST_SUITE_P(Functions, RandomIntegers, testing::Range<std::size_t>(0, rows().size()),
                         test_name);

// Every function of the public headers has a row, or a reason for having none.
TEST(RandomIntegersTable, HasEveryPublicFunction) {
  std::set<std::string> with_row;
  for (const Row& row : rows()) with_row.insert(row.name);
  const std::map<std::string, std::string>& excluded_names = excluded_functions();
  std::set<std::string> declared;
  for (const Declared& d : declared_functions(TESSERA_SOURCE_DIR "/include/tessera")) {
    if (excluded_headers().count(d.header)) continue;
    declared.insert(d.name);
    EXPECT_TRUE(with_row.count(d.name) || excluded_names.count(d.name))
        << d.name << " of " << d.header
        << " has no row in tests/numpy/integers and no reason in declared.cc";
    EXPECT_FALSE(with_row.count(d.name) && excluded_names.count(d.name)) << d.name;
  }
  for (const std::string& name : with_row) EXPECT_TRUE(declared.count(name)) << name << " is gone";
  for (const auto& [name, reason] : excluded_names)
    EXPECT_TRUE(declared.count(name)) << name << " is gone";
}

}  // namespace

}  // namespace integers
