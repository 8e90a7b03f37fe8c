#include "codegen/tape/forms.h"

#include "transform/pass.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::inline v0::tape {
namespace {

// The step that runs the tape of a body.
struct Owner {
  DraftTape* draft = nullptr;
  std::size_t step = 0, body = 0;
};

// The operand of the owner's step that a body gets unchanged as its argument `k`; nothing if the
// step changes it, or passes another value in each iteration.
std::optional<std::size_t> passed_on(const Step& step, std::size_t body, std::size_t k) {
  using Found = std::optional<std::size_t>;
  const auto of_loop = [&](const LoopStep& s, std::size_t first) -> Found {
    if (k < s.consts) return first - s.consts + k;
    const std::size_t carry = k - s.consts;
    return carry < s.carries && s.kept[carry] && s.tied_input(carry) < 0 ? Found(first + carry)
                                                                         : std::nullopt;
  };
  return std::visit(Overloaded{[&](const ScanStep& s) { return of_loop(s, s.first_carry()); },
                               [&](const WhileStep& s) {
                                 return body == 1 ? of_loop(s, s.first_carry()) : std::nullopt;
                               },
                               [&](const CondStep& s) -> Found {
                                 if (k + 1 + s.hidden >= step.inputs.size()) return std::nullopt;
                                 for (std::size_t out = 0; out < step.outputs.size(); ++out)
                                   if (s.tied_input(out) == static_cast<int>(k + 1))
                                     return std::nullopt;
                                 return k + 1;
                               },
                               [](const OpStep&) -> Found { return std::nullopt; },
                               [](const CopyStep&) -> Found { return std::nullopt; },
                               [](const CollectiveStep&) -> Found { return std::nullopt; }},
                    step.kind);
}

// Whether argument `k` of a scan's body is a row of an operand.
bool takes_row(const Step& step, std::size_t k) {
  const auto* scan = std::get_if<ScanStep>(&step.kind);
  return scan && k >= scan->first_carry() + scan->carries && k < step.inputs.size() - scan->hidden;
}

// The forms of all rows of an operand, one after the other.
std::shared_ptr<const OperandForm> form_of_rows(const std::shared_ptr<const OperandForm>& row,
                                                std::int64_t count, std::int64_t row_bytes,
                                                std::int64_t form_bytes) {
  auto form = std::make_shared<OperandForm>();
  form->key = row->key + " of " + std::to_string(count) + " rows of " + std::to_string(row_bytes);
  form->bytes = static_cast<std::size_t>(count * form_bytes);
  form->tasks = count * row->tasks;
  form->make = [row, row_bytes, form_bytes](const void* operand, void* to, std::int64_t begin,
                                            std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t i = task / row->tasks, of_row = task % row->tasks;
      row->make(static_cast<const std::byte*>(operand) + i * row_bytes,
                static_cast<std::byte*>(to) + i * form_bytes, of_row, of_row + 1);
    }
  };
  form->reader = row->reader;
  return form;
}

bool repeats(const Step& step) {
  const auto* scan = std::get_if<ScanStep>(&step.kind);
  return scan ? scan->length > 1 : std::holds_alternative<WhileStep>(step.kind);
}

class FormFinder {
 public:
  explicit FormFinder(TapeContext& ctx) : ctx_(ctx) {
    for (DraftTape& draft : ctx.drafts)
      for (std::size_t i = 0; i < draft.steps.size(); ++i)
        if (const ControlStep* control = draft.steps[i].control())
          for (std::size_t b = 0; b < control->bodies.size(); ++b)
            owners_[control->bodies[b].get()] = {&draft, i, b};
  }

  void run() {
    for (DraftTape& draft : ctx_.drafts) {
      if (draft.native) continue;
      for (std::size_t i = 0; i < draft.steps.size(); ++i) {
        const auto* work = std::get_if<RoutineStep>(&draft.steps[i].kind);
        if (!work || work->routine->form_operand < 0) continue;
        const Ref operand =
            draft.steps[i].inputs[static_cast<std::size_t>(work->routine->form_operand)];
        const std::optional<Source> source = source_of(draft, operand);
        if (!source) continue;
        const std::shared_ptr<const OperandForm> form = work->routine->operand_form();
        if (!form || form->reader->scratch_bytes > work->routine->scratch_bytes) continue;
        const Ref at = form_at(draft, operand, *source, form);
        auto& reading = std::get<RoutineStep>(draft.steps[i].kind);
        reading.form_reader = form->reader;
        reading.form = at;
        text_ += draft.steps[i].name + ": " + form->key + "\n";
      }
    }
  }
  const std::string& text() const { return text_; }

 private:
  // The source of an operand.
  struct Source {
    Ref top;                          // in the top-level tape, or of a constant
    int argument = -1;                // of the top-level tape
    const Tape* constants = nullptr;  // whose constant it is
    const Tape* rows_of = nullptr;    // the body that takes it row by row
    bool repeats = false;
  };

  static int argument_at(const Tape& tape, int slot) {
    for (std::size_t k = 0; k < tape.arguments.size(); ++k)
      if (tape.arguments[k].slot == slot) return static_cast<int>(k);
    return -1;
  }

  std::optional<Source> source_of(const DraftTape& draft, const Ref& r) const {
    const Tape& tape = *draft.tape;
    const Slot& slot = tape.slots[static_cast<std::size_t>(r.slot)];
    if (!r.cut.empty() || r.absorbed || r.one || r.instance || slot.over >= 0 || slot.overwritten)
      return std::nullopt;
    const auto owner = owners_.find(&tape);
    Source source;
    source.top = r;
    if (slot.space == Space::constant) {
      if (slot.mask != 0) return std::nullopt;
      source.constants = &tape;
      for (auto at = owner; at != owners_.end(); at = owners_.find(at->second.draft->tape.get())) {
        if (!takes_arguments(at->second)) return std::nullopt;
        source.repeats |= repeats(at->second.draft->steps[at->second.step]);
      }
      return source;
    }
    if (slot.space != Space::argument) return std::nullopt;
    const int k = argument_at(tape, r.slot);
    if (k < 0) return std::nullopt;
    if (owner == owners_.end()) {
      const std::size_t input = tape.arguments[static_cast<std::size_t>(k)].input;
      const std::vector<bool>& donated = ctx_.options.donated;
      if (input < donated.size() && donated[input]) return std::nullopt;
      source.argument = k;
      return source;
    }
    const Owner& o = owner->second;
    const Step& step = o.draft->steps[o.step];
    const bool row = takes_row(step, static_cast<std::size_t>(k));
    const auto from =
        row ? static_cast<std::size_t>(k) : passed_on(step, o.body, static_cast<std::size_t>(k));
    if (!from || !takes_arguments(o)) return std::nullopt;
    Ref outside = step.inputs[*from];
    outside.offset += r.offset;
    std::optional<Source> found = source_of(*o.draft, outside);
    if (!found || (row && found->rows_of)) return std::nullopt;
    if (row)
      found->rows_of = &tape;
    else
      found->repeats |= repeats(step);
    return found;
  }
  // Conditions of loops are small, and get no forms.
  static bool takes_arguments(const Owner& o) {
    return !std::holds_alternative<WhileStep>(o.draft->steps[o.step].kind) || o.body == 1;
  }

  // The pointer to the form in a tape, for an operand in this tape or a constant in a body of it.
  Ref form_at(DraftTape& draft, const Ref& operand, const Source& source,
              const std::shared_ptr<const OperandForm>& form) {
    const Key key{draft.tape.get(), source.constants, operand.slot, operand.offset, form->key};
    if (const auto known = known_.find(key); known != known_.end()) {
      if (source.repeats) ctx_.drafts.front().tape->forms[known->second.second].repeats = true;
      return known->second.first;
    }
    Tape& tape = *draft.tape;
    const auto owner = owners_.find(&tape);
    std::size_t number = 0;
    Ref outside;
    if (owner != owners_.end()) {
      DraftTape& around = *owner->second.draft;
      const Step& step = around.steps[owner->second.step];
      std::shared_ptr<const OperandForm> all = form;
      Ref from = operand;
      if (!source.constants) {
        const auto k = static_cast<std::size_t>(argument_at(tape, operand.slot));
        if (source.rows_of == &tape) {
          const auto& scan = std::get<ScanStep>(step.kind);
          all = form_of_rows(form, scan.length, scan.rows[k - scan.first_carry() - scan.carries],
                             bytes_of_row(*form));
          from = step.inputs[k];
        } else {
          from = step.inputs[*passed_on(step, owner->second.body, k)];
        }
        from.offset += operand.offset;
      }
      outside = form_at(around, from, source, all);
      number =
          known_.at({around.tape.get(), source.constants, from.slot, from.offset, all->key}).second;
    }
    // Has an instance for each of the operand.
    Slot slot;
    if (!source.constants) slot = tape.slots[static_cast<std::size_t>(operand.slot)];
    slot.space = Space::argument;
    slot.bytes = 0;
    slot.dtype = DType::uint8;
    slot.offset = tape.table;
    tape.table += ctx_.instances(slot.mask);
    const int s = static_cast<int>(tape.slots.size());
    tape.slots.push_back(slot);
    draft.producer.push_back(-1);
    if (owner == owners_.end()) {
      number = tape.forms.size();
      tape.forms.push_back({form, source.constants ? source.top : operand, source.argument,
                            source.constants, s, source.repeats});
    } else {
      pass_on(owner->second, tape, outside, s, source.rows_of == &tape ? bytes_of_row(*form) : 0);
    }
    known_[key] = {Ref{s}, number};
    return Ref{s};
  }

  static std::int64_t bytes_of_row(const OperandForm& form) {
    return static_cast<std::int64_t>((form.bytes + 63) / 64 * 64);
  }

  // Adds an argument to a body, and the operand to the step that runs it. If `row_bytes` is not
  // zero, a scan passes a row of the operand in each iteration, as it does with its other arrays.
  static void pass_on(const Owner& o, Tape& body, const Ref& from, int to, std::int64_t row_bytes) {
    Step& step = o.draft->steps[o.step];
    std::size_t at = step.inputs.size();
    auto argument = body.arguments.end();
    const auto add = [](ControlStep& s) { ++s.hidden; };
    std::visit(Overloaded{[&](ScanStep& s) {
                            if (!row_bytes) return add(s);
                            at -= s.hidden;
                            argument -= static_cast<std::ptrdiff_t>(s.hidden);
                            const std::size_t arrays = at - s.first_carry() - s.carries;
                            s.rows.insert(s.rows.begin() + static_cast<std::ptrdiff_t>(arrays),
                                          row_bytes);
                          },
                          [&](WhileStep& s) { add(s); },
                          [&](CondStep& s) {
                            const std::size_t operands = at - 1 - s.hidden;
                            at = 1 + operands;
                            for (std::size_t b = 0; b <= o.body; ++b)
                              at += s.bodies[b]->arguments.size() - operands;
                            add(s);
                          },
                          [](auto&) {}},
               step.kind);
    step.inputs.insert(step.inputs.begin() + static_cast<std::ptrdiff_t>(at), from);
    Argument a;
    a.input = body.arguments.size();
    a.slot = to;
    a.type = Type(DType::uint8, {0});
    body.arguments.insert(argument, std::move(a));
  }

  TapeContext& ctx_;
  std::map<const Tape*, Owner> owners_;
  // By the tape, the tape whose constant it is, the slot, the offset and the form's key: the
  // pointer's place, and the number of the form.
  using Key = std::tuple<const Tape*, const Tape*, int, std::int64_t, std::string>;
  std::map<Key, std::pair<Ref, std::size_t>> known_;
  std::string text_;
};

}  // namespace

void find_forms(TapeContext& ctx, const Program& p) {
  if (ctx.options.evaluate) return;
  PassRun run("forms", p);
  if (run.off()) return;
  FormFinder finder(ctx);
  finder.run();
  run.gave([&] { return finder.text().empty() ? to_string(p) : finder.text(); });
}

}  // namespace tessera::inline v0::tape
