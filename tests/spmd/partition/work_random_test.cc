// Random partitioned programs: the work and the received bytes that the runtime counts equal those
// of the lock-step reference, with loops and branches as often as they run, and those of the plan
// where they do not depend on data. Each of several processes counts the same for its own devices.
#include "explain/memory.h"
#include "spmd/partition_draw.h"

#include "codegen/tape/step_work.h"
#include "only_cpu.h"

#include <algorithm>
#include <cstdlib>

using namespace partitioning;

namespace {

struct Counts {
  int programs = 0, planned = 0, decided = 0;  // `decided`: data decides what runs
  int moving = 0, decided_moving = 0;          // programs that receive something
  int here = 0;                                // programs with devices of this process
};

// Operations and received bytes of one device, or of the average device if they took different
// branches.
std::optional<MeasuredWork> evaluated_work(const Program& program,
                                           const std::vector<HostArray>& in) {
  const auto region = std::find_if(program.equations.begin(), program.equations.end(),
                                   [](const Equation& e) { return e.attrs.has("in_specs"); });
  if (region == program.equations.end() || program.equations.size() != 1) return std::nullopt;
  const ShardMap s(region->attrs);
  const auto devices = static_cast<std::size_t>(s.mesh.size());
  std::vector<std::vector<HostArray>> blocks(devices);
  for (std::size_t d = 0; d < devices; ++d)
    for (std::size_t i = 0; i < region->inputs.size(); ++i) {
      const auto at = std::find(program.inputs.begin(), program.inputs.end(), region->inputs[i]);
      blocks[d].push_back(block_of(in.at(static_cast<std::size_t>(at - program.inputs.begin())),
                                   s.in_specs[i], s.mesh, static_cast<std::int64_t>(d)));
    }
  MeasuredWork all;
  evaluate_spmd(
      *s.body, s.mesh, blocks,
      [&](const Program& p, const Equation& eqn, std::size_t count) {
        all.flops += static_cast<double>(count) * tape::cost_of(p, eqn).flops;
      },
      [&](const Equation&, std::span<const std::int64_t> received) {
        all.moved_bytes += static_cast<double>(std::ssize(received) *
                                               *std::max_element(received.begin(), received.end()));
      });
  return MeasuredWork{.flops = all.flops / static_cast<double>(devices),
                      .moved_bytes = all.moved_bytes / static_cast<double>(devices)};
}

Values inputs_of(Builder& b, const Program& p) {
  Values in;
  for (const Type& t : p.input_types()) in.push_back(b.input(t));
  return in;
}

// Draws a program with constraints on some of its values: by itself, in a branch, in a scan or in a
// while loop. An additional integer input selects the branch, or says how often the loop runs. A
// loop adds up the program's results as far as these are numbers.
ProgramPtr in_a_flow(walk::Dice& dice, const Case& c) {
  ProgramPtr p = walk::draw_program(dice);
  const auto kind = dice.below(4);
  // The shard_maps of other programs are over meshes of their own.
  if (!p || any_equation(*p, [](const Equation& e) { return bool(e.op->constrains); }))
    return nullptr;
  if (!dice.once_in(4)) p = constrained(dice, *p, c);
  if (kind == 0) return p;
  std::vector<std::size_t> sums;
  for (std::size_t i = 0; i < p->outputs.size(); ++i)
    if (const DType d = p->type(p->outputs[i]).dtype; is_floating(d) || is_integer(d))
      sums.push_back(i);
  if (sums.empty()) return p;
  const Type integer(DType::int32, {});
  Builder b("flow");
  const Values in = inputs_of(b, *p);
  const Value number = b.input(integer);
  if (kind == 1) {
    Builder twice("twice");
    const Values operands = inputs_of(twice, *p);
    Values out = twice.inline_program(*p, operands);
    for (std::size_t i : sums) out[i] = ops::add(out[i], out[i]);
    const ProgramPtr other = twice.finish(out);
    return b.finish(ops::cond(number, {p, other}, in));
  }
  Values start;
  for (std::size_t i : sums) {
    const Type& t = p->type(p->outputs[i]);
    start.push_back(ops::zeros(b, Type(t.dtype, t.shape)));
  }
  const auto added = [&](Builder& body, const Values& operands, const Values& carry) {
    const Values out = body.inline_program(*p, operands);
    Values next;
    for (std::size_t k = 0; k < sums.size(); ++k)
      next.push_back(ops::add(carry[k], ops::convert(out[sums[k]], carry[k].dtype())));
    return next;
  };
  const auto carried = [&](Builder& body) {
    Values carry;
    for (Value v : start) carry.push_back(body.input(v.type()));
    return carry;
  };
  if (kind == 2) {
    Builder body("turn");
    const Values operands = inputs_of(body, *p);
    const ProgramPtr turn = body.finish(added(body, operands, carried(body)));
    return b.finish(ops::scan(turn, in, start, {}, 3, dice.toss(), b));
  }
  Builder goes_on("goes_on");
  const Value wanted = goes_on.input(integer), done = goes_on.input(integer);
  carried(goes_on);
  const ProgramPtr condition = goes_on.finish(Values{ops::lt(done, wanted)});
  Builder body("turn");
  const Values operands = inputs_of(body, *p);
  const Value count = body.input(integer);
  Values next = added(body, operands, carried(body));
  next.insert(next.begin(), ops::add(count, ops::scalar(body, DType::int32, 1)));
  const ProgramPtr turn = body.finish(next);
  Values init = start;
  init.insert(init.begin(), ops::scalar(b, DType::int32, 0));
  return b.finish(ops::while_(condition, turn, Values{number}, in, init));
}

std::string wrong_work(const walk::Tape& tape, Counts& counts) {
  walk::Dice dice(tape);
  ProgramPtr p;
  try {
    Case c(draw_mesh(dice));
    p = c.program = in_a_flow(dice, c);
    if (!p) return "";
    c.options.poison = false;
    draw_ends(dice, c);
    const Partitioned q = c.run();
    const explain::ProgramOnMesh divided = explain::program_on_mesh(q.program, nullptr, {});
    const std::vector<HostArray> in = drawn_inputs(*p, 5);
    std::optional<MeasuredWork> want = evaluated_work(*divided.simplified, in);
    if (!want) return "";
    enough_devices();
    if (is_here(c.shape))
      ++counts.here;
    else
      want = MeasuredWork{};
    MeasuredWork work;
    tessera::testing::run_compiled(q.program, in, &work);
    ++counts.programs;
    const auto differs = [&](double got, double other, const char* what) {
      return got == other ? std::string()
                          : "counted " + std::to_string(got) + ", " + what + " " +
                                std::to_string(other) + "\n" + to_string(*divided.simplified);
    };
    if (const auto text = differs(work.flops, want->flops, "operations evaluated"); !text.empty())
      return text;
    if (const auto text = differs(work.moved_bytes, want->moved_bytes, "bytes evaluated");
        !text.empty())
      return text;
    const bool decides = data_decides(*divided.simplified);
    counts.decided += decides ? 1 : 0;
    counts.moving += want->moved_bytes > 0 ? 1 : 0;
    counts.decided_moving += decides && want->moved_bytes > 0 ? 1 : 0;
    if (decides || !is_here(c.shape)) return "";
    ++counts.planned;
    const explain::Work planned = explain::work_of(divided, {}, false);
    if (const auto text = differs(work.flops, planned.flops, "operations planned"); !text.empty())
      return text;
    if (const auto text =
            differs(work.moved_bytes, static_cast<double>(planned.moved), "bytes planned");
        !text.empty())
      return text;
    // Plans are for devices that share nothing.
    const char* isolate = std::getenv("TESSERA_ISOLATE");
    if (!isolate || std::string(isolate) != "1") return "";
    const double traffic = explain::memory_of(divided).traffic;
    return differs(work.memory_traffic, traffic, "bytes read and written planned");
  } catch (const std::exception& e) {
    return std::string(e.what()) + (p ? "\n" + to_string(*p) : "");
  }
}

}  // namespace

TEST(WorkRandom, CountsWhatTheReferenceDoesAndThePlanSays) {
  NEEDS_CPU(schedules);
  Counts counts;
  check::check_many(400, 300, [&](const walk::Tape& tape) { return wrong_work(tape, counts); });
  std::printf(
      "%d programs, %d here, %d planned, of %d the data decides what runs; %d receive something, "
      "%d "
      "of these\n",
      counts.programs, counts.here, counts.planned, counts.decided, counts.moving,
      counts.decided_moving);
  if (processes::rank() > 0) return;  // other processes have no devices of small meshes
  EXPECT_GE(counts.planned, 200);
  EXPECT_GE(counts.decided, 100);
  EXPECT_GE(counts.moving, 70);
  EXPECT_GE(counts.decided_moving, 25);
}
