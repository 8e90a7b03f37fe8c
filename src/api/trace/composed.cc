#include "api/trace/composed.h"

#include "api/trace/numbers.h"

namespace tessera::inline v0::detail {

std::vector<Array> composed(const char* name, std::span<const Array> inputs, const SourceLoc& loc,
                            const ComposedBody& body) {
  const InFunction called(name, loc);
  for (const Array& a : inputs) check_usable(need(a, name, loc), name, loc);
  if (Trace::innermost()) return body(inputs);
  check_alive(inputs, name, loc);
  Trace trace(name, name);
  std::vector<Array> in;
  in.reserve(inputs.size());
  for (const Array& a : inputs) in.push_back(trace.input(a.impl()->type, loc));
  std::vector<Array> out;
  {
    const InFunction inside(name, loc);  // no user code is traced inside
    out = body(in);
  }
  const Trace::Finished f = trace.finish(out);
  // Bare integers are inputs, so that one program serves all their values; the values are checked
  // here.
  for (const NumberBound& b : f.bounds)
    check_fits(b.function, Operand(inputs[b.input], b.loc), b.dtype);
  std::vector<Array> operands(inputs.begin(), inputs.end());
  operands.insert(operands.end(), f.captures.begin(), f.captures.end());
  return apply(f.program, operands, loc);
}

}  // namespace tessera::inline v0::detail
