// Drawn partitioned programs: what the runtime counts of a device's work is what the lock-step
// reference does, equation by equation, loops and branches as often as they run; and what the plan
// says where only the program decides that.
#include "partition_draw.h"
#include "plan/memory.h"
#include "plan/work.h"

#include "codegen/plan/step_work.h"

#include <tessera/profile.h>

#include <cstdlib>

using namespace partitioning;

namespace {

struct Counts {
  int programs = 0, planned = 0, decided = 0;  // by the program, by its data
};

// Of one device, of an average one where they went different ways.
double evaluated_flops(const Program& program, const std::vector<HostArray>& in) {
  const auto region = std::find_if(program.equations.begin(), program.equations.end(),
                                   [](const Equation& e) { return e.attrs.has("in_specs"); });
  if (region == program.equations.end() || program.equations.size() != 1) return -1;
  const ShardMap s(region->attrs);
  const auto devices = static_cast<std::size_t>(s.mesh.size());
  std::vector<std::vector<HostArray>> blocks(devices);
  for (std::size_t d = 0; d < devices; ++d)
    for (std::size_t i = 0; i < region->inputs.size(); ++i) {
      const auto at = std::find(program.inputs.begin(), program.inputs.end(), region->inputs[i]);
      blocks[d].push_back(block_of(in.at(static_cast<std::size_t>(at - program.inputs.begin())),
                                   s.in_specs[i], s.mesh, static_cast<std::int64_t>(d)));
    }
  double flops = 0;
  evaluate_spmd(*s.body, s.mesh, blocks,
                [&](const Program& p, const Equation& eqn, std::size_t count) {
                  flops += static_cast<double>(count) * tapes::cost_of(p, eqn).flops;
                });
  return flops / static_cast<double>(devices);
}

Values inputs_of(Builder& b, const Program& p) {
  Values in;
  for (const Type& t : p.input_types()) in.push_back(b.input(t));
  return in;
}

// A drawn program in a loop or a branch, over its inputs and an integer: how often it runs, or
// whether. What it gives is added up where it can be.
ProgramPtr in_a_flow(walk::Dice& dice) {
  const ProgramPtr p = walk::draw_program(dice);
  const auto kind = dice.below(4);
  if (!p || kind == 0) return p;
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
    p = c.program = in_a_flow(dice);
    if (!p || any_equation(*p, [](const Equation& e) { return bool(e.op->constrains); })) return "";
    c.options.poison = false;
    draw_ends(dice, c);
    const Partitioned q = c.run();
    const plans::Divided divided = plans::divide(q.program, nullptr, {});
    const std::vector<HostArray> in = drawn_inputs(*p, 5);
    const double want = evaluated_flops(*divided.simplified, in);
    if (want < 0) return "";
    enough_devices();
    const WorkCounter counter;
    tessera::testing::run_compiled(q.program, in);
    const MeasuredWork work = counter.total();
    const double got = work.flops;
    ++counts.programs;
    const auto text = [&] { return "\n" + to_string(*divided.simplified); };
    if (got != want)
      return "counted " + std::to_string(got) + ", evaluated " + std::to_string(want) + text();
    const bool decides = any_equation(*divided.simplified, [](const Equation& e) {
      const std::optional<Flow> flow = flow_of(e);
      return flow && (flow->kind == Flow::Kind::loop || flow->kind == Flow::Kind::branch);
    });
    counts.decided += decides ? 1 : 0;
    if (decides) return "";
    ++counts.planned;
    const double planned = plans::work_of(divided, {}, false).flops;
    if (planned != got)
      return "counted " + std::to_string(got) + ", planned " + std::to_string(planned) + text();
    // Plans are of devices that share nothing.
    const char* isolate = std::getenv("TESSERA_ISOLATE");
    if (!isolate || std::string(isolate) != "1") return "";
    const double traffic = plans::memory_of(divided).traffic;
    if (traffic != work.memory_traffic)
      return "read and written " + std::to_string(work.memory_traffic) + ", planned " +
             std::to_string(traffic) + text();
    return "";
  } catch (const std::exception& e) {
    return std::string(e.what()) + (p ? "\n" + to_string(*p) : "");
  }
}

}  // namespace

TEST(WorkRandom, CountsWhatTheReferenceDoesAndThePlanSays) {
  Counts counts;
  check::check_many(400, 300, [&](const walk::Tape& tape) { return wrong_work(tape, counts); });
  std::printf("%d programs, %d of them planned, of %d the data decides what runs\n",
              counts.programs, counts.planned, counts.decided);
  EXPECT_GE(counts.planned, 200);
  EXPECT_GE(counts.decided, 100);
}
