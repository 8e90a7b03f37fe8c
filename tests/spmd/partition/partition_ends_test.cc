// The first and last elements of sorts along a sharded dimension: those of the whole are among
// those of the shards.
#include "ir/op.h"
#include "ops/build.h"
#include "spmd/awkward.h"

using namespace partitioning;
using propagation::f32_of;
using Texts = std::vector<std::string>;

namespace {

Attrs ends_attrs(std::int64_t dimension, std::int64_t keys, std::int64_t count, bool last) {
  return {{"dimension", dimension}, {"num_keys", keys}, {"count", count}, {"last", last}};
}

}  // namespace

// Equal elements with different bits, NaNs and uneven shards: the results are those of one device,
// bit for bit.
TEST(PartitionEnds, EveryDTypeFirstAndLast) {
  for (DType dtype : kSortedDTypes)
    for (std::int64_t n : {128, 121, 115})
      for (bool last : {false, true}) {
        SCOPED_TRACE(std::to_string(n) + " " + to_string(dtype) + (last ? ", last" : ", first"));
        Case c({{"x"}, {4}});
        const Value x = c.constrain(c.input(Type(dtype, {n}), ""), "x");
        const Values in{x, ops::iota(c.b, DType::int32, {n}, 0)};
        const Partitioned p = c.run(c.b.emit("sort_ends", in, ends_attrs(0, 1, 5, last)), {"", ""});
        EXPECT_EQ(p.collectives.size(), n == 128 ? 2u : 3u);
        expect_bits(c, p, {awkward(Type(dtype, {n}), static_cast<std::uint32_t>(n))});
      }
}

// Rows, several keys, two axes, and shards with fewer elements than are wanted.
TEST(PartitionEnds, RowsKeysAndShortParts) {
  for (std::int64_t count : {0, 1, 3, 9})
    for (bool last : {false, true}) {
      Case c({{"x", "y"}, {2, 4}});
      const Type a(DType::int8, {3, 21}), b = f32_of({3, 21});
      const Value x = c.constrain(c.input(a, ""), ";x,y"), y = c.constrain(c.input(b, ""), ";x,y");
      const Partitioned p =
          c.run(c.b.emit("sort_ends", Values{x, y}, ends_attrs(1, 2, count, last)), {"", ""});
      expect_bits(c, p, {awkward(a, 1), awkward(b, 2)});
    }
}

// 28672 B is the rest of the array; a device receives 7 times 5 elements of 4 B.
TEST(PartitionEnds, ReceivesWhatIsOffered) {
  Case c({{"x"}, {8}});
  Value x = c.input({8192}, "x");
  const Partitioned p = c.run(c.b.emit("sort_ends", Values{x}, ends_attrs(0, 1, 5, false)), {""});
  EXPECT_EQ(collectives(p), Texts{"all_gather x 140"});
  expect_bits(c, p, {awkward(f32_of({8192}), 3)});
}
