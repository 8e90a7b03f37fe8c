#include "codegen/tape/tape_verify.h"

#include <algorithm>
#include <map>
#include <string>

namespace tessera::inline v0::tape {

namespace {

using Flags = std::vector<bool>;

// The bodies that read operand `k` of a step, with the index of their argument.
using BodyReaders = std::vector<std::pair<const Tape*, std::size_t>>;
BodyReaders readers(const Step& step, std::size_t k) {
  BodyReaders at;
  std::visit(Overloaded{[&](const ScanStep& s) { at.emplace_back(s.bodies[0].get(), k); },
                        [&](const WhileStep& s) {
                          const std::size_t c = s.cond_consts;
                          if (k < c || k >= s.first_carry())
                            at.emplace_back(s.bodies[0].get(), k < c ? k : k - s.consts);
                          if (k >= c) at.emplace_back(s.bodies[1].get(), k - c);
                        },
                        [&](const CondStep& s) {
                          for (const auto& body : s.bodies)
                            if (k > 0) at.emplace_back(body.get(), k - 1);
                        },
                        [](const OpStep&) {}, [](const CopyStep&) {}, [](const CollectiveStep&) {}},
             step.kind);
  return at;
}

// The operands that a step carries around a loop.
struct Carried {
  std::size_t first = 0, count = 0;
};
Carried carried_by(const Step& step) {
  return std::visit(
      Overloaded{[](const ScanStep& s) {
                   return Carried{s.first_carry(), s.carries};
                 },
                 [](const WhileStep& s) {
                   return Carried{s.first_carry(), s.carries};
                 },
                 [](const CondStep&) { return Carried{}; }, [](const OpStep&) { return Carried{}; },
                 [](const CopyStep&) { return Carried{}; },
                 [](const CollectiveStep&) { return Carried{}; }},
      step.kind);
}

bool is_condition(const Step& step, std::size_t body) {
  return std::holds_alternative<WhileStep>(step.kind) && body == 0;
}

Flags outputs_in(const Tape& tape, const Step& step, const Flags& places) {
  Flags is;
  for (const Ref& r : step.outputs)
    is.push_back(places[static_cast<std::size_t>(tape.place(r.slot))]);
  return is;
}

// The operands that a step with bodies reads to compute the wanted results, and the results of the
// bodies that this requires: a loop feeds its carries back to itself.
struct Demand {
  Flags operands, results;
};
Demand demand_of(const Step& step, const ControlStep& control, const Flags& wanted);

// The places that contribute to the wanted results of a tape. Other values do not affect them,
// whichever device computes them.
Flags live_places(const Tape& tape, const Flags& wanted) {
  Flags is(tape.slots.size());
  const auto at = [&](const Ref& r) { return static_cast<std::size_t>(tape.place(r.slot)); };
  for (std::size_t k = 0; k < tape.results.size(); ++k)
    if (wanted[k] && tape.results[k].slot >= 0) is[at(Ref{tape.results[k].slot})] = true;
  for (auto phase = tape.phases.rbegin(); phase != tape.phases.rend(); ++phase)
    for (auto step = phase->steps.rbegin(); step != phase->steps.rend(); ++step) {
      const Flags outputs = outputs_in(tape, *step, is);
      if (std::find(outputs.begin(), outputs.end(), true) == outputs.end()) continue;
      Flags operands(step->inputs.size(), true);
      if (const ControlStep* control = step->control()) {
        const Flags some = demand_of(*step, *control, outputs).operands;
        std::copy(some.begin(), some.end(), operands.begin());
      }
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (operands[k]) is[at(step->inputs[k])] = true;
    }
  return is;
}

Demand demand_of(const Step& step, const ControlStep& control, const Flags& wanted) {
  Demand d{Flags(step.inputs.size() - control.hidden), wanted};
  const Carried carried = carried_by(step);
  if (std::holds_alternative<CondStep>(step.kind)) d.operands[0] = true;
  for (bool more = true; more;) {
    more = false;
    std::map<const Tape*, Flags> live;
    for (std::size_t b = 0; b < control.bodies.size(); ++b)
      live[control.bodies[b].get()] =
          live_places(*control.bodies[b], is_condition(step, b) ? Flags{true} : d.results);
    for (std::size_t k = 0; k < d.operands.size(); ++k)
      for (const auto& [body, argument] : readers(step, k)) {
        if (!live[body][static_cast<std::size_t>(body->arguments[argument].slot)]) continue;
        d.operands[k] = true;
        const std::size_t carry = k - carried.first;
        if (k < carried.first || carry >= carried.count || d.results[carry]) continue;
        d.results[carry] = true;
        more = true;
      }
  }
  return d;
}

class TapeVerifier {
 public:
  explicit TapeVerifier(const Tape& tape) : tape_(tape) {}

  /// `wanted`: by result.
  void run(const Flags& wanted) {
    const Flags live = live_places(tape_, wanted);
    for (const Phase& phase : tape_.phases)
      for (const Step& step : phase.steps) {
        step_ = &step;
        if (step.is_collective())
          collective(step);
        else if (const ControlStep* bodies = step.control())
          control(step, *bodies, outputs_in(tape_, step, live));
        else
          work(step);
      }
    step_ = nullptr;
  }
  void run_top() {
    run(Flags(tape_.results.size(), true));
    for (const Result& r : tape_.results)
      if (r.slot >= 0 && r.region < 0) within(Ref{r.slot}, 0, "the result");
  }

 private:
  [[noreturn]] void fail(const char* what, Mask varies, Mask runs) const {
    throw InternalError("tape '" + tape_.name + "'" +
                        (step_ ? ", step '" + step_->name + "'" : std::string()) + ": " + what +
                        " differs along " + names(varies & ~runs) + ", over which it does not run");
  }
  std::string names(Mask m) const {
    std::string text;
    for (std::size_t a = 0; a < tape_.axes.size(); ++a)
      if (m >> a & 1) text += (text.empty() ? "'" : ", '") + tape_.axes[a].name + "'";
    return text;
  }
  // Drops axes of one device, along which nothing can differ.
  Mask wide(Mask m) const {
    for (std::size_t a = 0; a < tape_.axes.size(); ++a)
      if (tape_.axes[a].size == 1) m &= ~(Mask{1} << a);
    return m;
  }
  void within(const Ref& r, Mask runs, const char* what) const {
    if (r.slot < 0) return;
    const Mask varies =
        wide(tape_.varies(r) & ~tape_.slots[static_cast<std::size_t>(r.slot)].same) |
        wide(cut_of(r));
    if (varies & ~runs) fail(what, varies, runs);
  }
  static Mask cut_of(const Ref& r) {
    Mask m = 0;
    for (const AxisStride& a : r.cut) m |= Mask{1} << a.axis;
    return m;
  }
  // If more instances write than there are places, they would overwrite one another.
  void writes(const Ref& r, Mask runs) const {
    if (r.slot < 0) return;
    const Mask places = wide(tape_.varies(r));
    if (places != wide(runs)) {
      if (places & ~runs) fail("its result", places, runs);
      throw InternalError("tape '" + tape_.name + "', step '" + step_->name + "' runs along " +
                          names(wide(runs) & ~places) + " and writes one place there");
    }
  }

  void work(const Step& step) const {
    for (const Ref& r : step.inputs) within(r, step.mask, "an operand");
    for (const Ref& r : step.outputs) writes(r, step.mask);
  }
  void collective(const Step& step) const {
    Mask axes = step.mask;
    for (int a : step.collective().axes) axes |= Mask{1} << a;
    for (const Ref& r : step.inputs) within(r, axes, "an operand");
    for (const Ref& r : step.outputs) writes(r, step.mask);
  }
  // A body reads an operand for each instance of its argument, and writes its results likewise.
  void control(const Step& step, const ControlStep& control, const Flags& wanted) const {
    const Demand demand = demand_of(step, control, wanted);
    if (std::holds_alternative<CondStep>(step.kind))
      within(step.inputs[0], step.mask | step.inner, "the index of the branch");
    for (std::size_t k = 0; k < demand.operands.size(); ++k)
      if (demand.operands[k])
        for (const auto& [body, argument] : readers(step, k))
          within(step.inputs[k], step.mask | mask_of(*body, body->arguments[argument].slot),
                 "an operand");
    for (std::size_t b = 0; b < control.bodies.size(); ++b) {
      const Tape& body = *control.bodies[b];
      const bool condition = is_condition(step, b);
      for (std::size_t k = 0; k < body.results.size(); ++k)
        if (body.results[k].slot >= 0)
          writes(condition ? std::get<WhileStep>(step.kind).flag : step.outputs[k],
                 step.mask | mask_of(body, body.results[k].slot));
      TapeVerifier(body).run(condition ? Flags{true} : demand.results);
    }
  }
  static Mask mask_of(const Tape& tape, int slot) {
    return tape.slots[static_cast<std::size_t>(slot)].mask;
  }
  const Tape& tape_;
  const Step* step_ = nullptr;
};

}  // namespace

void verify(const Tape& tape) { TapeVerifier(tape).run_top(); }

}  // namespace tessera::inline v0::tape
