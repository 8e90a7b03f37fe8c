#include "codegen/tape/tape.h"

#include <fmt/format.h>

namespace tessera::inline v0::tape {
namespace {

std::string axes_text(const Tape& t, Mask m) {
  std::string s;
  for (std::size_t a = 0; a < t.axes.size(); ++a)
    if (m >> a & 1)
      s += fmt::format("{}{}={}", s.empty() ? "" : ", ", t.axes[a].name, t.axes[a].size);
  return s.empty() ? "once" : "each of " + s;
}

std::string ref_text(const Tape& t, const Ref& r) {
  static constexpr const char* kSpaces[] = {"argument", "result", "constant", "arena", "local"};
  const Slot& s = t.slots[static_cast<std::size_t>(r.slot)];
  std::string text =
      fmt::format("%{} ({}, {} B)", r.slot, kSpaces[static_cast<int>(s.space)], s.bytes);
  if (s.over >= 0) text += fmt::format(" over %{}", s.over);
  if (!r.cut.empty()) text += " block";
  if (r.absorbed) text += r.one ? fmt::format(" of instance {}", r.instance) : " whole";
  return text;
}

constexpr Overloaded kKindName{[](const RoutineStep&) { return "kernel"; },
                               [](const EvaluateStep&) { return "evaluate"; },
                               [](const CopyStep&) { return "copy"; },
                               [](const ScanStep&) { return "scan"; },
                               [](const WhileStep&) { return "while"; },
                               [](const CondStep&) { return "cond"; },
                               [](const CollectiveStep&) { return "collective"; }};

void print(const Tape& t, const std::string& indent, std::string& out) {
  for (std::size_t p = 0; p < t.phases.size(); ++p) {
    const Phase& phase = t.phases[p];
    if (phase.begins)
      out += fmt::format("{}phase {} begins\n", indent, p + static_cast<std::size_t>(phase.begins));
    out += fmt::format("{}phase {}: {}\n", indent, p,
                       phase.collective ? "collectives" : axes_text(t, phase.mask));
    for (const Step& s : phase.steps) {
      out += fmt::format("{}  {} {}", indent, std::visit(kKindName, s.kind), s.name);
      if (phase.collective) out += " -> " + axes_text(t, s.mask);
      if (const auto* scan = std::get_if<ScanStep>(&s.kind))
        out += fmt::format(" x {}", scan->length);
      const ControlStep* const control = s.control();
      if (control)
        for (std::size_t k = 0, any = 0; k < control->tied.size(); ++k)
          if (control->tied[k] >= 0) out += fmt::format("{}{}", any++ ? ", " : " in place ", k);
      if (control && control->native) out += " as one function";
      for (std::size_t i = 0; i < s.inputs.size(); ++i)
        out += (i ? ", " : ": ") + ref_text(t, s.inputs[i]);
      for (std::size_t i = 0; i < s.outputs.size(); ++i)
        out += (i ? ", " : " -> ") + ref_text(t, s.outputs[i]);
      out += "\n";
      if (control)
        for (const auto& body : control->bodies) print(*body, indent + "    ", out);
    }
  }
}

}  // namespace

std::string to_string(const Tape& t) {
  std::string out = fmt::format("tape {}: {} {}, arena {} B, local {} B a worker, constants {} B\n",
                                t.name, t.phases.size(), t.phases.size() == 1 ? "phase" : "phases",
                                t.arena_bytes, t.local_bytes, t.constants.size());
  print(t, "  ", out);
  return out;
}

}  // namespace tessera::inline v0::tape
