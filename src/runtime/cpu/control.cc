// Loops and branches. The bodies' tapes run in a frame that the enclosing tape has reserved.
#include "runtime/cpu/execute.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

std::int64_t aligned(std::int64_t n) { return (n + 63) / 64 * 64; }

struct Control {
  const Tape& tape;
  const Frame& frame;
  const Step& step;
  Coords c;
  Lane lane;

  std::byte* at(const Ref& r) const { return address(tape, frame, lane.index, r, c); }

  // The pointer to a form that the call does not use remains null.
  static std::byte* moved(std::byte* p, std::int64_t offset) { return p ? p + offset : nullptr; }

  // Points a slot of a body's table at `ref` of the enclosing tape, plus `offset` bytes.
  void bind(const Tape& body, const Frame& sub, int slot, const Ref& ref, std::int64_t offset = 0) {
    const Slot& s = body.slots[static_cast<std::size_t>(slot)];
    if (s.mask == 0) {
      sub.table[s.offset] = moved(at(ref), offset);
      return;
    }
    const Coords saved = c;
    for_instances(body, s.mask, c, [&](std::int64_t i) {
      sub.table[s.offset + s.place(i)] = moved(at(ref), offset);
    });
    c = saved;
  }

  void copy(const Ref& from, const Ref& to) {
    const Slot& s = tape.slots[static_cast<std::size_t>(to.slot)];
    const Coords saved = c;
    for_instances(tape, s.mask & step.inner, c, [&](std::int64_t) {
      std::byte *src = at(from), *dst = at(to);
      if (src != dst && s.bytes) std::memcpy(dst, src, static_cast<std::size_t>(s.bytes));
    });
    c = saved;
  }

  // The address of a slot in a body's table, if it has one place only; else null.
  static std::byte** only_place(const Tape& body, const Frame& sub, int slot) {
    const Slot& s = body.slots[static_cast<std::size_t>(slot)];
    return s.mask == 0 ? &sub.table[s.offset] : nullptr;
  }

  // Slots that are bound to the rows of arrays, one row in each iteration. Small loops take most of
  // their time here, so addresses are computed once where a slot has one place only.
  class Rows {
   public:
    void add(const Control& around, const Tape& body, const Frame& sub, int slot, const Ref& array,
             std::int64_t bytes) {
      std::byte** const place = only_place(body, sub, slot);
      all_.push_back({place, place ? around.at(array) : nullptr, bytes, &body, &sub, slot, &array});
    }
    void bind(Control& around, std::int64_t i) const {
      for (const Row& r : all_)
        if (r.place)
          *r.place = moved(r.begin, i * r.bytes);
        else
          around.bind(*r.body, *r.sub, r.slot, *r.array, i * r.bytes);
    }

   private:
    struct Row {
      std::byte** place;
      std::byte* begin;
      std::int64_t bytes;
      const Tape* body;
      const Frame* sub;
      int slot;
      const Ref* array;
    };
    std::vector<Row> all_;
  };

  // Carries that alternate between two buffers: each iteration reads one and writes the other.
  class Turns {
   public:
    void add(const Control& around, const Tape& body, const Frame& sub, int argument, int result,
             const Ref& output, const Ref& spare) {
      std::byte **const from = only_place(body, sub, argument),
                        **const to = only_place(body, sub, result);
      const bool one = from && to;
      all_.push_back({one ? from : nullptr, to, one ? around.at(output) : nullptr,
                      one ? around.at(spare) : nullptr, &body, &sub, argument, result, &output,
                      &spare});
    }
    /// Sets whether the iteration writes the outputs or the spare buffers. It reads the other ones
    /// if a previous iteration has written them.
    void bind(Control& around, bool to_outputs, bool written) const {
      for (const Turn& t : all_) {
        if (t.from) {
          if (written) *t.from = to_outputs ? t.spare : t.output;
          *t.to = to_outputs ? t.output : t.spare;
          continue;
        }
        if (written)
          around.bind(*t.body, *t.sub, t.argument, to_outputs ? *t.spare_ref : *t.output_ref);
        around.bind(*t.body, *t.sub, t.result, to_outputs ? *t.output_ref : *t.spare_ref);
      }
    }

   private:
    struct Turn {
      std::byte **from, **to;
      std::byte *output, *spare;
      const Tape* body;
      const Frame* sub;
      int argument, result;
      const Ref *output_ref, *spare_ref;
    };
    std::vector<Turn> all_;
  };

  // Runs a body repeatedly.
  class OneTape {
   public:
    OneTape(const Tape& body, const Frame& sub, std::int64_t times = 2) : body_(body), sub_(sub) {
      if (times > 1 && StraightLine::fits(body)) line_ = std::make_unique<StraightLine>(body, sub);
    }
    void operator()(const Lane& lane) const {
      if (line_)
        line_->run(lane.spread, lane.counted);
      else
        execute(body_, sub_, lane.spread, lane.counted);
    }

   private:
    const Tape& body_;
    const Frame& sub_;
    std::unique_ptr<StraightLine> line_;
  };

  // Copies the operand to output k, which then is both argument and result of the body.
  void tie(const ControlStep& kind, const Tape& body, const Frame& sub, std::size_t argument,
           std::size_t k) {
    copy(step.inputs[static_cast<std::size_t>(kind.tied[k])], step.outputs[k]);
    bind(body, sub, body.arguments[argument].slot, step.outputs[k]);
    bind(body, sub, body.results[k].slot, step.outputs[k]);
  }

  void run(const ScanStep& kind) {
    const Tape& body = *kind.bodies[0];
    Frame sub(body, at(step.scratch), frame.given);
    const std::size_t carry = kind.first_carry(), xs = carry + kind.carries;
    const std::size_t n_xs = step.inputs.size() - xs - kind.hidden, ys = kind.carries;
    const std::int64_t length = kind.length;
    for (std::size_t k = 0; k < step.inputs.size(); ++k)
      bind(body, sub, body.arguments[k].slot, step.inputs[k]);
    for (std::size_t k = 0; k < kind.carries; ++k)
      if (kind.tied_input(k) >= 0) tie(kind, body, sub, carry + k, k);
    const OneTape run(body, sub, length);
    Rows rows;
    for (std::size_t k = 0; k < n_xs; ++k)
      rows.add(*this, body, sub, body.arguments[xs + k].slot, step.inputs[xs + k], kind.rows[k]);
    for (std::size_t k = ys; k < step.outputs.size(); ++k)
      rows.add(*this, body, sub, body.results[k].slot, step.outputs[k], kind.rows[n_xs + k - ys]);
    Turns turns;
    for (std::size_t k = 0; k < kind.carries; ++k)
      if (!kind.kept[k] && kind.tied_input(k) < 0)
        turns.add(*this, body, sub, body.arguments[carry + k].slot, body.results[k].slot,
                  step.outputs[k], kind.spare[k]);
    for (std::int64_t t = 0; t < length; ++t) {
      // The last iteration must write the results.
      turns.bind(*this, (length - 1 - t) % 2 == 0, t > 0);
      rows.bind(*this, kind.reverse ? length - 1 - t : t);
      run(lane);
    }
  }

  [[noreturn]] void disagree(const char* what, std::int64_t device, std::int64_t mine,
                             std::int64_t first) const {
    Message(step.name)
        .problem(std::string("devices disagree on the ") + what + ": device 0 has " +
                 std::to_string(first) + ", device " + std::to_string(device) + " has " +
                 std::to_string(mine))
        .rule(
            "the body has collectives, in which all devices take part, so all have to take the "
            "same way")
        .from(step.loc)
        .advice(
            "decide on a value that is equal on all devices, such as a psum or pmax of the "
            "condition")
        .raise<CollectiveError>();
  }

  // The condition, on which all devices that run together must agree.
  bool agreed_flag(const WhileStep& kind) {
    const Slot& s = tape.slots[static_cast<std::size_t>(kind.flag.slot)];
    const Coords saved = c;
    std::int64_t first = -1;
    for_instances(tape, s.mask & step.inner, c, [&](std::int64_t i) {
      std::int64_t value = *at(kind.flag) != std::byte{0};
      if (first < 0) first = value;
      if (value != first) disagree("condition of the loop", i, value, first);
    });
    c = saved;
    return first != 0;
  }

  void run(const WhileStep& kind) {
    const Tape &cond = *kind.bodies[0], &body = *kind.bodies[1];
    std::byte* memory = at(step.scratch);
    Frame sub_cond(cond, memory, frame.given),
        sub_body(body, memory + aligned(cond.frame_bytes), frame.given);
    const std::size_t carry = kind.first_carry(), n = kind.carries;
    const std::size_t hidden_cond = cond.arguments.size() - kind.cond_consts - n;
    const std::size_t hidden = carry + n;
    for (std::size_t k = 0; k < kind.cond_consts; ++k)
      bind(cond, sub_cond, cond.arguments[k].slot, step.inputs[k]);
    for (std::size_t k = 0; k < n; ++k)
      bind(cond, sub_cond, cond.arguments[kind.cond_consts + k].slot, step.inputs[carry + k]);
    for (std::size_t k = 0; k < hidden_cond; ++k)
      bind(cond, sub_cond, cond.arguments[kind.cond_consts + n + k].slot, step.inputs[hidden + k]);
    for (std::size_t k = 0; k < kind.consts; ++k)
      bind(body, sub_body, body.arguments[k].slot, step.inputs[kind.cond_consts + k]);
    for (std::size_t k = 0; k < n; ++k)
      bind(body, sub_body, body.arguments[kind.consts + k].slot, step.inputs[carry + k]);
    for (std::size_t k = kind.consts + n; k < body.arguments.size(); ++k)
      bind(body, sub_body, body.arguments[k].slot,
           step.inputs[hidden + hidden_cond + k - kind.consts - n]);
    bind(cond, sub_cond, cond.results[0].slot, kind.flag);
    auto moves = [&](std::size_t k) { return !kind.kept[k] && kind.tied_input(k) < 0; };
    for (std::size_t k = 0; k < n; ++k) {
      if (kind.tied_input(k) < 0) continue;
      tie(kind, body, sub_body, kind.consts + k, k);
      bind(cond, sub_cond, cond.arguments[kind.cond_consts + k].slot, step.outputs[k]);
    }

    const OneTape run_cond(cond, sub_cond), run_body(body, sub_body);
    std::int64_t turns = 0;
    for (;; ++turns) {
      run_cond(lane);
      if (!agreed_flag(kind)) break;
      for (std::size_t k = 0; k < n; ++k) {
        if (!moves(k)) continue;
        const Ref& to = turns % 2 == 0 ? kind.spare[k] : step.outputs[k];
        bind(body, sub_body, body.results[k].slot, to);
        bind(cond, sub_cond, cond.arguments[kind.cond_consts + k].slot, to);
      }
      run_body(lane);
      for (std::size_t k = 0; k < n; ++k)
        if (moves(k))
          bind(body, sub_body, body.arguments[kind.consts + k].slot,
               turns % 2 == 0 ? kind.spare[k] : step.outputs[k]);
    }
    if (turns % 2 == 0 && turns > 0) return;
    for (std::size_t k = 0; k < n; ++k)
      if (moves(k)) copy(turns == 0 ? step.inputs[carry + k] : kind.spare[k], step.outputs[k]);
  }

  void run(const CondStep& kind) {
    const std::int64_t n = static_cast<std::int64_t>(kind.bodies.size());
    const Slot& s = tape.slots[static_cast<std::size_t>(step.inputs[0].slot)];
    const Coords saved = c;
    std::int64_t chosen = -1;
    for_instances(tape, s.mask & step.inner, c, [&](std::int64_t i) {
      std::int32_t value;
      std::memcpy(&value, at(step.inputs[0]), sizeof value);
      std::int64_t index = std::clamp<std::int64_t>(value, 0, n - 1);
      if (chosen < 0) chosen = index;
      if (index != chosen) disagree("branch", i, index, chosen);
    });
    c = saved;
    const Tape& body = *kind.bodies[static_cast<std::size_t>(chosen)];
    std::size_t operands = step.inputs.size() - 1 - kind.hidden, hidden = 1 + operands;
    for (std::int64_t b = 0; b < chosen; ++b)
      hidden += kind.bodies[static_cast<std::size_t>(b)]->arguments.size() - operands;
    Frame sub(body, at(step.scratch), frame.given);
    for (std::size_t k = 0; k < body.arguments.size(); ++k)
      bind(body, sub, body.arguments[k].slot,
           step.inputs[k < operands ? 1 + k : hidden + k - operands]);
    for (std::size_t k = 0; k < step.outputs.size(); ++k)
      if (kind.tied_input(k) >= 0)
        tie(kind, body, sub, static_cast<std::size_t>(kind.tied[k]) - 1, k);
      else
        bind(body, sub, body.results[k].slot, step.outputs[k]);
    execute(body, sub, lane.spread, lane.counted);
  }
};

}  // namespace

void run_control(const Tape& tape, const Frame& frame, const Step& step, const ScanStep& kind,
                 const Coords& c, Lane lane) {
  Control{tape, frame, step, c, lane}.run(kind);
}
void run_control(const Tape& tape, const Frame& frame, const Step& step, const WhileStep& kind,
                 const Coords& c, Lane lane) {
  Control{tape, frame, step, c, lane}.run(kind);
}
void run_control(const Tape& tape, const Frame& frame, const Step& step, const CondStep& kind,
                 const Coords& c, Lane lane) {
  Control{tape, frame, step, c, lane}.run(kind);
}

}  // namespace tessera::inline v0::runtime
