// Programs over the whole attribute space of every op, with derivatives, batching and loops. The
// compiled results are those of the evaluators: alone, fused, with any pass left out, with donated
// arguments and on devices.
#include "ops/drawn_program.h"
#include "random/check_program.h"
#include "random/on_devices.h"
#include "random/shrink.h"

using namespace tessera;

namespace {

walk::Arrays draw_inputs(const Program& p) {
  std::mt19937 random(7);
  walk::Arrays in;
  for (const Type& t : p.input_types()) {
    HostArray a = walk::draw(t, random, -3, 3, is_unsigned_integer(t.dtype) ? 0 : -3, 6);
    // Integers, so that sums are exact in any order.
    if (is_inexact(t.dtype) && t.shape.count() % 3)
      a = walk::draw(t, random, 0, 0, 0, 0), dispatch(t.dtype, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (!std::is_integral_v<T>)
          for (std::int64_t i = 0; i < a.count(); ++i)
            a.data<T>()[i] =
                static_cast<T>(static_cast<float>(static_cast<std::int64_t>(random() % 7) - 3));
      });
    in.push_back(a);
  }
  return in;
}

std::string wrong(const walk::Tape& tape) {
  check::note(tape);
  ProgramPtr p;
  try {
    walk::Dice dice(tape);
    p = walk::draw_program(dice);
    check::note(to_string(*p));
    const walk::Arrays in = draw_inputs(*p);
    const std::uint64_t choice = tape.empty() ? 0 : tape.back();
    std::string found = check::problem(p, in, choice);
    if (found.empty() && choice % 4 == 1) found = check::problem_on_devices(p, in, choice >> 2);
    return found.empty() ? found : found + "\n" + to_string(*p);
  } catch (const std::exception& e) {
    return e.what() + (p ? "\n" + to_string(*p) : " while it was made");
  }
}

}  // namespace

TEST(RandomPrograms, AreTheEvaluators) { check::check_many(900, 120, wrong); }
