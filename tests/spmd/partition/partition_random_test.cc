// Random programs with random requests, forward and differentiated: the partitioned program gives
// the results of the program, evaluated device by device and compiled.
#include "spmd/partition_draw.h"

using namespace partitioning;

namespace {

// One equation, sometimes with its derivative.
ProgramPtr one_equation(walk::Dice& dice) {
  const Op& op = *dice.of(walk::drawn_ops());
  Ints shape;
  for (std::int64_t r = 1 + dice.below(3); r > 0; --r)
    shape.push_back(dice.of(Ints{4, 2, 8, 6, 3, 5, 7, 12, 1}));
  Builder b("one");
  for (DType d : {DType::float32, DType::int32, DType::boolean, DType::uint32}) {
    const walk::Drawn e = walk::draw_equation(op, dice, Type(d, Shape(shape.begin(), shape.end())));
    if (!e) continue;
    Values in;
    for (const Type& t : e->inputs) in.push_back(b.input(Type(t.dtype, t.shape)));
    const ProgramPtr p = b.finish(b.emit(op, in, e->attrs));
    const bool smooth = walk::some(walk::floating(p->input_types())) &&
                        walk::some(walk::floating(p->output_types()));
    if (!smooth || dice.toss()) return p;
    try {
      return vjp_program(*p, walk::floating(p->input_types()));
    } catch (const TraceError&) {
      return p;
    }
  }
  return nullptr;
}

}  // namespace

TEST(PartitionRandom, GivesWhatTheProgramGives) {
  const Tally tally = check_drawn(800, 400, walk::draw_program);
  EXPECT_GT(tally.exact, 0);
  EXPECT_GT(tally.uneven, 0);
  EXPECT_GT(tally.collectives, 0);
}

TEST(PartitionRandom, GivesWhatEachOpGives) { check_drawn(3000, 200, one_equation); }
