// Functions of the host in partitioned programs.
#include "ops/control/host_call.h"

#include "isolated.h"
#include "spmd/partition_check.h"

#include <mutex>

using namespace partitioning;

namespace {

// Gives its operand plus one, and keeps what it is called with: the device, then the elements.
struct Adding final : HostFunction {
  std::string name() const override { return "adding"; }
  void call(std::int64_t device, std::span<const HostArray> in,
            std::span<HostArray> out) const override {
    std::vector<double> row{static_cast<double>(device)};
    for (std::int64_t i = 0; i < in[0].count(); ++i) row.push_back(in[0].number(i));
    for (HostArray& y : out)
      for (std::int64_t i = 0; i < y.count(); ++i) y.data<float>()[i] = in[0].data<float>()[i] + 1;
    const std::lock_guard lock(mutex_);
    rows_.push_back(std::move(row));
  }
  using Rows = std::vector<std::vector<double>>;
  Rows rows() const {
    Rows rows = std::exchange(rows_, {});
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  mutable std::mutex mutex_;
  mutable Rows rows_;
};
using Rows = Adding::Rows;

Values call(Value x, const std::shared_ptr<const Adding>& f, const std::vector<Type>& results,
            bool takes_shards = false) {
  Builder& b = *x.builder;
  return ops::host_call(ops::constant(b, scalar_literal(DType::boolean, 1.0)),
                        ops::constant(b, scalar_literal(DType::int32, 0.0)), f, results, Values{x},
                        {.takes_shards = takes_shards});
}

HostArray counted_floats(const Shape& shape) {
  HostArray a(DType::float32, shape);
  for (std::int64_t i = 0; i < a.count(); ++i) a.data<float>()[i] = static_cast<float>(i);
  return a;
}
std::vector<double> numbers_of(const HostArray& a) {
  std::vector<double> n;
  for (std::int64_t i = 0; i < a.count(); ++i) n.push_back(a.number(i));
  return n;
}

TEST(PartitionedHostCalls, GetWholeValuesOnce) {
  for (const bool has_effect : {true, false}) {
    const auto adding = std::make_shared<const Adding>();
    Case c({{"x", "y"}, {2, 2}});
    const Value x = c.input({4, 2}, "x,y");
    const std::vector<Type> results{x.type()};
    const Values y = has_effect ? call(ops::neg(x), adding, results)
                                : ops::pure_host_call(c.b, adding, results, Values{ops::neg(x)});
    const Partitioned p = c.run(Values{ops::add(y[0], x)}, {"x,y"});
    enough_devices();
    const auto out = tessera::testing::run_compiled(p.program, std::vector{counted_floats({4, 2})});
    EXPECT_EQ(numbers_of(out[0]), std::vector<double>(8, 1));
    // Devices that share no memory compute equal values each for itself.
    const bool each = test::isolated() && !has_effect;
    EXPECT_EQ(adding->rows(), Rows(each ? 4 : 1, {0, 0, -1, -2, -3, -4, -5, -6, -7}));
  }
}

TEST(PartitionedHostCalls, MayTakeTheShardsOfEachDevice) {
  const auto adding = std::make_shared<const Adding>();
  Case c({{"x", "y"}, {2, 2}});
  const Value x = c.input({4, 2}, "x;y");
  call(ops::neg(x), adding, {}, true);
  const Partitioned p = c.run(Values{x}, {"x;y"});
  enough_devices();
  tessera::testing::run_compiled(p.program, std::vector{counted_floats({4, 2})});
  EXPECT_EQ(adding->rows(), (Rows{{0, 0, -2}, {1, -1, -3}, {2, -4, -6}, {3, -5, -7}}));
  EXPECT_EQ(collectives(p), list({}));
}

TEST(PartitionedHostCalls, OfALoopAreCalledEachTime) {
  const auto adding = std::make_shared<const Adding>();
  Case c({{"x"}, {4}});
  const Value x = c.input({4}, "x"), n = c.input(Type(DType::int32, {}), "");
  const Value y = c.repeated(x, n, [&](Value v) { return call(v, adding, {v.type()})[0]; });
  const Partitioned p = c.run(Values{y}, {"x"});
  enough_devices();
  HostArray three(DType::int32, {});
  *three.data<std::int32_t>() = 3;
  const auto out =
      tessera::testing::run_compiled(p.program, std::vector{counted_floats({4}), three});
  EXPECT_EQ(numbers_of(out[0]), (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(adding->rows(), (Rows{{0, 0, 1, 2, 3}, {0, 1, 2, 3, 4}, {0, 2, 3, 4, 5}}));
}

}  // namespace
