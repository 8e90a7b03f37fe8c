// Sorts along a sharded dimension: shards are sorted without gathering them, with the bits of one
// device.
#include "ir/op.h"
#include "ops/movement/movement.h"
#include "spmd/awkward.h"
#include "spmd/region/shard_map.h"
#include "transform/autodiff.h"

#include <cstring>
#include <functional>
#include <random>

using namespace partitioning;
using propagation::f32_of;
using Texts = std::vector<std::string>;

namespace {

const MeshShape kEight{{"x"}, {8}};
// Sorts `rows` rows of n elements, sharded into `parts` parts along the last dimension with
// arbitrary padding, by sort's own rule.
void expect_sorted(std::int64_t parts, std::int64_t n, std::int64_t rows,
                   const std::vector<DType>& dtypes, std::int64_t keys,
                   const std::function<HostArray(const Type&, std::uint32_t)>& draw = awkward) {
  SCOPED_TRACE(std::to_string(n) + " over " + std::to_string(parts) + ", first " +
               to_string(dtypes[0]) + ", keys " + std::to_string(keys));
  const MeshShape mesh{{"x"}, {parts}};
  const std::int64_t extent = (n + parts - 1) / parts;
  const Attrs attrs{{"dimension", std::int64_t{1}}, {"num_keys", keys}};
  std::vector<Type> wholes, held;
  std::vector<Shape> out;
  Builder inside("body"), b("f");
  Values in, operands;
  for (DType dtype : dtypes) {
    wholes.emplace_back(dtype, Shape{rows, n});
    held.emplace_back(dtype, Shape{rows, parts * extent});
    Type part(dtype, {rows, extent});
    part.varying = {"x"};
    in.push_back(inside.input(part));
    out.push_back(part.shape);
    operands.push_back(b.input(held.back()));
  }
  const std::vector<Spec> specs(dtypes.size(), Spec::cut(1, "x"));
  const LocalArgs args{
      inside, Registry::get().at("sort"), attrs, wholes, wholes, in, out, specs, specs, mesh, {}};
  const ProgramPtr body = inside.finish(ops::sort_local(args));
  const ProgramPtr p = b.finish(emit_shard_map(
      b, ShardMap(body, MeshRef(DeviceMesh{mesh, {}}), {}, specs, specs, true), operands));
  verify(*p, "sort_local");

  std::vector<HostArray> inputs, firsts;
  std::uint32_t seed = static_cast<std::uint32_t>(n);
  for (const Type& type : held) inputs.push_back(draw(type, ++seed));
  const auto first = [&](const std::vector<HostArray>& all) {
    std::vector<HostArray> cut;
    for (const HostArray& a : all) {
      HostArray x(a.dtype, {rows, n});
      const auto size = static_cast<std::size_t>(size_of(a.dtype));
      for (std::int64_t r = 0; r < rows; ++r)
        std::memcpy(x.bytes + static_cast<std::size_t>(r * n) * size,
                    a.bytes + static_cast<std::size_t>(r * parts * extent) * size,
                    static_cast<std::size_t>(n) * size);
      cut.push_back(std::move(x));
    }
    return cut;
  };
  Builder whole("whole");
  Values all;
  for (const Type& type : wholes) all.push_back(whole.input(type));
  const ProgramPtr oracle = whole.finish(whole.emit("sort", all, attrs));
  const std::vector<HostArray> want = evaluate(*oracle, first(inputs));
  enough_devices();
  expect_bits(first(evaluate(*p, inputs)), want, "evaluated");
  expect_bits(first(tessera::testing::run_compiled(p, inputs)), want, "compiled");
}

}  // namespace

TEST(PartitionSort, EveryDTypeOverAnyNumberOfDevices) {
  for (DType dtype : kSortedDTypes)
    for (auto [parts, n] : {std::pair<std::int64_t, std::int64_t>{2, 4},
                            {2, 9},
                            {3, 24},
                            {3, 40},
                            {4, 80},
                            {4, 71},
                            {5, 163}})
      expect_sorted(parts, n, 1, {dtype}, 1);
}

TEST(PartitionSort, EightDevicesRowsAndOperands) {
  for (std::int64_t n : {784, 785, 791, 832, 1000}) {
    expect_sorted(8, n, 1, {DType::float32}, 1);
    expect_sorted(8, n, 2, {DType::float32, DType::int32}, 1);
    expect_sorted(8, n, 1, {DType::int8, DType::float64, DType::boolean}, 2);
    expect_sorted(8, n, 1, {DType::int8, DType::int32}, 2);
  }
}

// The data are sorted, in reverse order, arranged so that one column has all the least elements, or
// arranged in equal columns.
TEST(PartitionSort, ElementsThatAreFarFromTheirPlaces) {
  for (std::int64_t parts : {2, 3, 4, 8}) {
    const std::int64_t part = 2 * (parts - 1) * (parts - 1) + parts - 1;
    const std::function<std::int64_t(std::int64_t)> orders[] = {
        [](std::int64_t i) { return i; },
        [](std::int64_t i) { return -i; },
        [=](std::int64_t i) { return i / part * 7 % parts; },
        [=](std::int64_t i) { return i % parts; },
    };
    for (const auto& order : orders)
      expect_sorted(parts, part * parts - 1, 1, {DType::float32}, 1,
                    [&](const Type& type, std::uint32_t) {
                      HostArray a(type.dtype, type.shape);
                      for (std::int64_t i = 0; i < a.count(); ++i)
                        a.data<float>()[i] = static_cast<float>(order(i));
                      return a;
                    });
  }
}

// Over eight devices this moves fewer bytes than a gather, which moves 28672, and equally many for
// all data.
TEST(PartitionSort, ReceivesThreeColumns) {
  Case c(kEight);
  Value x = c.input({8192}, "x");
  const Partitioned p = c.run({ops::sort(Values{x}, 0)[0]}, {"x"});
  EXPECT_EQ(collectives(p), (Texts{"all_to_all x 3584", "all_to_all x 3584", "all_to_all x 3584",
                                   "all_to_all x 3584", "permute x 2048", "permute x 2048",
                                   "permute x 2048", "permute x 2048"}));
  expect_bits(c, p, {awkward(f32_of({8192}), 1)});
}

// Equal integers are indistinguishable, so they carry no positions.
TEST(PartitionSort, IntegersCarryNoPlaces) {
  Case c(kEight);
  Value x = c.input(Type(DType::int32, {8192}), "x");
  const Partitioned p = c.run({ops::sort(Values{x}, 0)[0]}, {"x"});
  EXPECT_EQ(collectives(p),
            (Texts{"all_to_all x 3584", "all_to_all x 3584", "permute x 2048", "permute x 2048"}));
  expect_bits(c, p, {awkward(Type(DType::int32, {8192}), 1)});
}

// If gathering moves fewer bytes, the array is gathered: few devices, few elements, or replicated
// results.
TEST(PartitionSort, IsGatheredWhereThatIsLess) {
  for (auto [devices, n, where] :
       {std::tuple{2, 8192, "x"}, {4, 8192, "x"}, {8, 512, "x"}, {8, 8192, ""}}) {
    Case c({{"x"}, {devices}});
    Value x = c.input({n}, "x");
    const Partitioned p = c.run({ops::sort(Values{x}, 0)[0]}, {where});
    EXPECT_EQ(collectives(p),
              Texts{"all_gather x " + std::to_string(n * 4 / devices * (devices - 1))});
    expect_bits(c, p, {awkward(f32_of({n}), 1)});
  }
}

// Arrays with and without rows are sorted over two axes of different sizes; the padding is NaN.
TEST(PartitionSort, UnevenPartsAndSeveralAxes) {
  for (std::int64_t n : {1000, 4099}) {
    Case c({{"x", "y"}, {2, 4}});
    Value x = c.input({n}, ""), y = c.input({2, n}, "");
    const Value a = c.constrain(x, "x,y"), b = c.constrain(y, ";y,x");
    const Values both = ops::sort(Values{a, ops::iota(c.b, DType::int32, {n}, 0)}, 0);
    const Partitioned p = c.run({c.constrain(both[0], "x,y"), c.constrain(both[1], "x,y"),
                                 c.constrain(ops::sort(Values{b}, 1)[0], ";y,x")},
                                {"?", "?", "?"});
    std::size_t exchanges = 0;
    for (const CollectiveCause& cause : p.collectives)
      exchanges += cause.kind == MoveKind::all_to_all;
    EXPECT_GE(exchanges, 8u) << n;
    expect_bits(c, p, {awkward(f32_of({n}), 1), awkward(f32_of({2, n}), 2)});
  }
}

// The gradient of a sorted sum of products is sent back to the positions that the elements came
// from.
TEST(PartitionSort, Gradients) {
  Case c(kEight);
  Builder b("f");
  Value x = b.input(f32_of({1024})), w = b.input(f32_of({1024}));
  const ProgramPtr f =
      b.finish(Values{ops::reduce_sum(ops::mul(ops::sort(Values{x}, 0)[0], w), {0})});
  const ProgramPtr g = vjp_program(*f, {true, true});
  Values in{c.input({1024}, "x"), c.input({1024}, "x"), c.input(Shape{}, "")};
  const Partitioned p = c.run(c.b.inline_program(*g, in), {"?", "x", "x"});
  std::vector<HostArray> inputs = drawn_inputs(*c.program);
  std::mt19937 rng(4);
  for (std::int64_t i = 0; i < 1024; ++i)
    inputs[0].data<float>()[i] = static_cast<float>(rng() % 64);
  expect_bits(c, p, inputs);
}
