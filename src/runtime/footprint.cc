#include "runtime/footprint.h"

#include <algorithm>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

struct OfAttribute {
  std::int64_t operator()(const std::string& s) const { return size(s.capacity()); }
  std::int64_t operator()(const Ints& v) const { return size(v.size() * sizeof(std::int64_t)); }
  std::int64_t operator()(const IntLists& v) const {
    std::int64_t n = 0;
    for (const Ints& i : v) n += (*this)(i) + size(sizeof(Ints));
    return n;
  }
  std::int64_t operator()(const Strings& v) const {
    return size(v.size() * 2 * sizeof(std::string));
  }
  std::int64_t operator()(const Literal& l) const { return l.bytes ? size(l.bytes->size()) : 0; }
  std::int64_t operator()(const ProgramPtr& p) const { return p ? footprint(*p) : 0; }
  std::int64_t operator()(const Programs& ps) const {
    std::int64_t n = 0;
    for (const ProgramPtr& p : ps) n += (*this)(p);
    return n;
  }
  template <class Small>
  std::int64_t operator()(const Small&) const {
    return 0;
  }
  static std::int64_t size(std::size_t n) { return static_cast<std::int64_t>(n); }
};

}  // namespace

std::int64_t footprint(const Program& p) {
  std::size_t n = sizeof p + p.types.size() * sizeof(Type);
  std::int64_t inside = 0;
  for (const Equation& e : p.equations) {
    n += sizeof e + (e.inputs.size() + e.outputs.size()) * sizeof(Var);
    for (const auto& [name, value] : e.attrs) {
      n += sizeof(Attrs::Entry);
      inside += std::visit(OfAttribute(), value);
    }
  }
  return static_cast<std::int64_t>(n) + inside;
}

std::int64_t footprint(const Tape& tape) {
  // Pages and tables of a linked kernel in addition to its code.
  constexpr std::size_t kLinked = 12 << 10;
  std::size_t n = sizeof tape + tape.constants.size() + tape.slots.size() * sizeof(Slot) +
                  tape.arguments.size() * sizeof(Argument) + tape.results.size() * sizeof(Result);
  std::int64_t inside = 0;
  for (const Phase& phase : tape.phases)
    for (const Step& step : phase.steps) {
      n += sizeof step + (step.inputs.size() + step.outputs.size()) * (sizeof(Ref) + sizeof(Type));
      if (const auto* work = std::get_if<RoutineStep>(&step.kind))
        n += kLinked + work->routine->bytes;
      if (const ControlStep* control = step.control()) {
        for (const auto& body : control->bodies) inside += footprint(*body);
        if (control->native) n += kLinked + control->native->routine->bytes;
      }
    }
  for (const auto& program : tape.keep) inside += footprint(*program);
  return static_cast<std::int64_t>(n) + inside;
}

}  // namespace tessera::inline v0::runtime
