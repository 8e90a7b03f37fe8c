// Random programs for the devices of random axes, inside programs that are partitioned over the
// others. The results agree with those of running each device of the random axes with global values
// along the others.
#include "ops/control/agree.h"
#include "spmd/manual_region.h"
#include "spmd/partition_draw.h"

using namespace partitioning;

namespace {

// Draws a spec: axes of `among` on dimensions, in any order, including all axes of `all`.
Spec draw_spec(walk::Dice& dice, int rank, const Strings& among, const AxisSet& all) {
  Spec::Dims dims(static_cast<std::size_t>(rank));
  if (rank == 0) return Spec();
  for (std::int64_t k : dice.permutation(static_cast<std::int64_t>(among.size()))) {
    const std::string& axis = among[static_cast<std::size_t>(k)];
    const auto d = static_cast<std::size_t>(dice.below(rank));
    if (all.contains(axis) || dice.toss()) dims[d].push_back(axis);
  }
  return Spec(std::move(dims));
}

Strings draw_some(walk::Dice& dice, const Strings& all) {
  Strings some;
  for (const std::string& axis : all)
    if (dice.toss()) some.push_back(axis);
  return some.empty() ? Strings{dice.of(all)} : some;
}

struct Regions {
  const Case& c;
  walk::Dice& dice;
  int exchanges = 0, nested = 0;

  // Draws a typed collective whose result has the operand's type.
  Value exchanged(Value x, const Strings& axes) {
    ++exchanges;
    const AxisSet before = x.type().varying;
    const std::int64_t n = c.shape.size_of(axes);
    const int d = static_cast<int>(dice.below(x.rank()));
    const bool number = x.dtype() != DType::boolean;
    const std::int64_t which = std::all_of(axes.begin(), axes.end(),
                                           [&](const std::string& a) { return before.contains(a); })
                                   ? dice.below(5)
                                   : 0;
    Builder& b = *x.builder;
    if (which == 1 && n > 1) return ops::ppermute(x, axes, n, {{0, n - 1}, {n - 1, 0}});
    if (which == 2 && x.shape()[d] % n == 0) return ops::all_to_all(x, axes, n, d, d, true);
    if (which == 3 && number) {
      const bool tiled = dice.toss();
      return ops::psum_scatter(ops::all_gather(x, axes, n, d, tiled), axes, n, d, tiled);
    }
    if (!number || (which == 4 && !is_complex(x.dtype())))
      return b.vary_over(ops::pmax(ops::pvary(x, axes), axes, n), before);
    return b.vary_over(ops::psum_invariant(ops::pvary(x, axes), axes), before);
  }

  // Divides the blocks again, in a region over one more axis.
  Value inside(Value x, const Strings& manual) {
    const int d = static_cast<int>(dice.below(x.rank()));
    for (const std::string& axis : c.shape.axes) {
      const std::int64_t n = c.shape.size_of(axis);
      if (std::find(manual.begin(), manual.end(), axis) != manual.end() || n == 1 ||
          x.shape()[d] % n != 0 || x.shape()[d] == 0)
        continue;
      ++nested;
      Strings all = manual;
      all.push_back(axis);
      const Strings cut{std::string(static_cast<std::size_t>(d), ';') + axis};
      return region(c.shape, {axis}, cut, cut, {x}, [&](Builder&, const Values& in) {
        return Values{exchanged(in[0], draw_some(dice, all))};
      })[0];
    }
    return x;
  }

  // The program for one device along `manual`, with exchanges between its equations.
  ProgramPtr body(const Program& p, const Strings& manual, Specs& out) {
    Builder b(p.name);
    Values now(p.types.size());
    for (Var v : p.inputs) now[v] = b.input(p.types[v]);
    for (const Equation& eqn : p.equations) {
      Values in;
      for (Var v : eqn.inputs) in.push_back(now[v]);
      const Values made = b.copy(eqn, in);
      for (std::size_t i = 0; i < made.size(); ++i) {
        Value& x = now[eqn.outputs[i]];
        x = made[i];
        if (x.rank() == 0 || x.shape().count() == 0) continue;
        if (dice.once_in(4)) x = exchanged(x, draw_some(dice, manual));
        if (dice.once_in(6)) x = inside(x, manual);
      }
    }
    Values results;
    for (Var v : p.outputs) {
      Value x = now[v];
      const Strings over = c.shape.ordered(x.type().varying);
      if (x.rank() == 0 && !over.empty())
        x = is_complex(x.dtype()) ? ops::psum_invariant(x, over)
                                  : ops::pmax(x, over, c.shape.size_of(over));
      out.push_back(draw_spec(dice, x.rank(), manual, x.type().varying));
      results.push_back(x);
    }
    return b.finish(results);
  }
};

struct Tallies : Tally {
  int exchanges = 0, nested = 0, transformed = 0;
};

std::string wrong(const walk::Tape& tape, Tallies& tally) {
  static const std::vector<MeshShape> meshes = {{{"x", "y"}, {2, 2}}, {{"x", "y"}, {3, 2}},
                                                {{"x", "y"}, {2, 4}}, {{"x", "y"}, {1, 2}},
                                                {{"x", "y"}, {2, 1}}, {{"x", "y", "z"}, {2, 2, 2}}};
  walk::Dice dice(tape);
  ProgramPtr p;
  try {
    Case c(dice.of(meshes));
    const ProgramPtr plain = walk::draw_program(dice);
    // Drawn constraints are over meshes of their own, the sign of a NaN is not defined, and other
    // tests cover nested regions and random bits.
    if (!plain || any_equation(*plain, [](const Equation& e) {
          return e.op->constrains || e.op->name == "bitcast_convert";
        }))
      return "";
    Strings manual = draw_some(dice, c.shape.axes);
    if (manual.size() == c.shape.axes.size()) manual.pop_back();
    Specs in, out;
    std::vector<AxisSet> differ;
    Values operands;
    const MeshShape& mesh = c.shape;
    for (Var v : plain->inputs) {
      const Type& block = plain->types[v];
      in.push_back(draw_spec(dice, block.shape.rank(), manual, {}));
      differ.push_back(in.back().axes());
      operands.push_back(
          c.b.input(Type(block.dtype, whole_shape(block.shape, in.back(), mesh), block.weak)));
    }
    Regions regions{c, dice};
    const ProgramPtr body = regions.body(*ops::retyped(plain, differ), manual, out);
    p = c.program =
        c.b.finish(emit_shard_map(c.b, {body, c.ref(), manual, in, out, true}, operands));
    verify(*p, "the drawn program");
    for (std::int64_t k = dice.below(3); k > 0; --k)
      if (const ProgramPtr q = walk::draw_transformed(dice, p); q && walk::is_small(*q)) {
        ++tally.transformed;
        p = c.program = q;
        verify(*p, "a transformation");
      }
    draw_ends(dice, c);
    const bool compiles = is_compiled(tally);
    if (!is_checked(compiles)) return "";
    const Partitioned q = c.run();
    ++tally.programs;
    tally.collectives += static_cast<int>(q.collectives.size());
    tally.exchanges += regions.exchanges;
    tally.nested += regions.nested;
    const std::vector<HostArray> inputs = drawn_inputs(*p, 5);
    const bool exact = is_exact(*plain, drawn_inputs(*plain, 5)) && is_exact(*p, inputs);
    const bool compiled = compiles && exact;
    tally.exact += exact ? 1 : 0;
    tally.compiled += compiled ? 1 : 0;
    return wrong_results(*p, q.program, inputs, exact, compiled);
  } catch (const std::exception& e) {
    return std::string(e.what()) + (p ? "\n" + to_string(*p) : "");
  }
}

}  // namespace

TEST(ManualRandom, GivesWhatEachDeviceGives) {
  Tallies tally;
  check::check_many(600, 400, [&](const walk::Tape& tape) {
    std::string found = wrong(tape, tally);
    tally.failed = tally.failed || !found.empty();
    return found;
  });
  std::printf(
      "%d programs, %d exact, %d compiled, %d collectives, %d exchanges, %d nested, "
      "%d transformations\n",
      tally.programs, tally.exact, tally.compiled, tally.collectives, tally.exchanges, tally.nested,
      tally.transformed);
  EXPECT_GT(3 * tally.exact, tally.programs);
  EXPECT_GT(tally.exchanges, 0);
  EXPECT_GT(tally.nested, 0);
}
