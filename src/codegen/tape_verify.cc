#include "codegen/tape_verify.h"

#include <algorithm>
#include <map>
#include <string>

namespace tessera::inline v0::tapes {

namespace {

class TapeVerifier {
 public:
  explicit TapeVerifier(const Tape& tape) : tape_(tape) {}

  void run() {
    for (const Phase& phase : tape_.phases)
      for (const Step& step : phase.steps) {
        step_ = &step;
        if (step.kind == Step::Kind::collective)
          collective(step);
        else if (step.bodies.empty())
          work(step);
        else
          control(step);
      }
    step_ = nullptr;
    for (const Result& r : tape_.results)
      if (r.slot >= 0 && r.region < 0 && &tape_ == top_) within(Ref{r.slot}, 0, "the result");
  }
  void run_top() {
    top_ = &tape_;
    run();
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
  // Nothing differs along an axis of one device.
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
  // Where more instances write than there are places, they would write over one another.
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
    for (int a : step.collective->axes) axes |= Mask{1} << a;
    for (const Ref& r : step.inputs) within(r, axes, "an operand");
    for (const Ref& r : step.outputs) writes(r, step.mask);
  }
  // The places of a body from which its results come.
  const std::vector<bool>& needed(const Tape& body) const {
    auto [known, fresh] = needed_.try_emplace(&body, body.slots.size());
    if (!fresh) return known->second;
    std::vector<bool> is(body.slots.size());
    const auto at = [&](const Ref& r) { return static_cast<std::size_t>(body.place(r.slot)); };
    for (const Result& r : body.results)
      if (r.slot >= 0) is[at(Ref{r.slot})] = true;
    for (auto phase = body.phases.rbegin(); phase != body.phases.rend(); ++phase)
      for (auto step = phase->steps.rbegin(); step != phase->steps.rend(); ++step) {
        if (std::none_of(step->outputs.begin(), step->outputs.end(),
                         [&](const Ref& r) { return is[at(r)]; }))
          continue;
        for (std::size_t k = 0; k < step->inputs.size(); ++k)
          if (step->bodies.empty() || needs(*step, k)) is[at(step->inputs[k])] = true;
      }
    return needed_[&body] = std::move(is);
  }
  // Whether a body of the step needs its operand.
  bool needs(const Step& step, std::size_t k) const {
    if (k + step.hidden >= step.inputs.size() || (step.kind == Step::Kind::cond && k == 0))
      return true;
    for (const auto& [body, argument] : readers(step, k))
      if (needed(*body)[static_cast<std::size_t>(body->arguments[argument].slot)]) return true;
    return false;
  }
  // A body reads an operand for each instance that its argument has, and writes a result likewise.
  // An operand that no result comes from may differ: which of them is read is all the same.
  void control(const Step& step) const {
    const std::size_t operands = step.inputs.size() - step.hidden;
    if (step.kind == Step::Kind::cond)
      within(step.inputs[0], step.mask | step.inner, "the index of the branch");
    for (std::size_t k = 0; k < operands; ++k)
      for (const auto& [body, argument] : readers(step, k)) {
        const int slot = body->arguments[argument].slot;
        if (needed(*body)[static_cast<std::size_t>(slot)])
          within(step.inputs[k], step.mask | mask_of(*body, slot), "an operand");
      }
    for (std::size_t b = 0; b < step.bodies.size(); ++b) {
      const Tape& body = *step.bodies[b];
      const bool condition = step.kind == Step::Kind::while_ && b == 0;
      for (std::size_t k = 0; k < body.results.size(); ++k)
        if (body.results[k].slot >= 0)
          writes(condition ? step.flag : step.outputs[k],
                 step.mask | mask_of(body, body.results[k].slot));
      TapeVerifier(body).run();
    }
  }
  static Mask mask_of(const Tape& tape, int slot) {
    return tape.slots[static_cast<std::size_t>(slot)].mask;
  }
  static std::vector<std::pair<const Tape*, std::size_t>> readers(const Step& step, std::size_t k) {
    std::vector<std::pair<const Tape*, std::size_t>> at;
    switch (step.kind) {
      case Step::Kind::scan: at.emplace_back(step.bodies[0].get(), k); break;
      case Step::Kind::while_: {
        const std::size_t c = step.cond_consts, carry = c + step.consts;
        if (k < c || k >= carry) at.emplace_back(step.bodies[0].get(), k < c ? k : k - step.consts);
        if (k >= c) at.emplace_back(step.bodies[1].get(), k - c);
        break;
      }
      default:
        for (const auto& body : step.bodies)
          if (k > 0) at.emplace_back(body.get(), k - 1);
    }
    return at;
  }

  const Tape& tape_;
  const Tape* top_ = nullptr;
  const Step* step_ = nullptr;
  mutable std::map<const Tape*, std::vector<bool>> needed_;
};

}  // namespace

void verify(const Tape& tape) { TapeVerifier(tape).run_top(); }

}  // namespace tessera::inline v0::tapes
