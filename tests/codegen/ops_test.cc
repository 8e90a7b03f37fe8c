// The examples of every emitted op, compiled, agree with the evaluator.
#include "codegen/run.h"

namespace ts = tessera;

namespace {

std::vector<std::string> emitted_ops() {
  std::vector<std::string> names;
  for (const auto& op : ts::Registry::get().all())
    if (op->emit && op->evaluate && op->examples) names.push_back(op->name);
  return names;
}

class EmittedOp : public testing::TestWithParam<std::string> {};

TEST_P(EmittedOp, AgreesWithTheEvaluator) {
  const ts::Op& op = ts::Registry::get().at(GetParam());
  int k = 0;
  for (const ts::OpExample& e : op.examples()) {
    ts::Builder b(op.name);
    ts::Values in;
    for (const ts::Type& t : e.inputs) in.push_back(b.input(t));
    ts::ProgramPtr p = b.finish(b.emit(op, in, e.attrs));
    std::mt19937_64 rng(7);
    std::vector<ts::HostArray> inputs;
    for (const ts::Type& t : e.inputs)
      inputs.push_back(run::random_array(t, rng, e.lo, e.hi, e.int_lo, e.int_hi));
    SCOPED_TRACE("example " + std::to_string(k++));
    run::check(p, inputs, 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, EmittedOp, testing::ValuesIn(emitted_ops()),
                         [](const auto& i) { return i.param; });

}  // namespace
