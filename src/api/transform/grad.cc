#include <tessera/grad.h>

#include "api/trace/differentiate.h"
#include "ops/build.h"

namespace tessera::inline v0::detail {
namespace {

void check_loss(const char* function, const TracedFunction& f, const SourceLoc& loc) {
  Message m(function);
  m.from(loc);
  if (f.result_present.empty() || !f.result_present[0])
    m.problem("the loss is an empty array")
        .rule("a gradient exists only for a single floating-point number")
        .advice("return the loss that was computed")
        .raise<TraceError>();
  const Type& t = f.program->type(f.program->outputs[0]);
  if (t.shape.rank() != 0)
    m.problem("the loss has shape " + to_string(t.shape) + ", which is " +
              std::to_string(t.shape.count()) +
              (t.shape.count() == 1 ? " value with axes" : " values"))
        .rule("a gradient exists only for a single floating-point number, of shape ()")
        .advice("reduce it with ts::sum or ts::mean, or use ts::jacrev for all derivatives")
        .raise<ShapeError>();
  if (!is_floating(t.dtype))
    m.problem("the loss has dtype " + std::string(name_of(t.dtype)))
        .rule("a gradient exists only for a single floating-point number")
        .advice(is_complex(t.dtype)
                    ? "take a real number of it, real(z), imag(z) or abs(z), or use ts::vjp"
                    : "compute the loss from floating values, or convert it with astype(ts::f32)")
        .raise<DTypeError>();
}

}  // namespace

GradOutcome value_and_grad(const char* function, Call& call, std::span<const int> argnums,
                           std::source_location where) {
  const SourceLoc loc = line_of(where);
  const TracedFunction f = trace_call(call, function, function);
  const std::vector<bool> wrt = differentiated(function, call, f, argnums, loc);
  check_loss(function, f, loc);

  Builder b(function);
  const Values in = inputs_of(b, *f.program);
  const Linearized lin = linearize_program(*f.program, wrt);
  KnownPart known = inline_known(b, lin, in);
  MaybeValues cotangents(lin.linear->outputs.size());
  if (lin.nonzero_out[0]) {
    const Type& loss = known.outputs[0].type();
    cotangents[0] = ops::scalar(b, loss.dtype, 1.0, loss.weak);
  }
  const Values back = pull_back(b, *lin.linear, known.residuals, cotangents);
  Values out = known.outputs;
  out.insert(out.end(), back.begin(), back.end());

  std::vector<Array> arrays = apply(b.finish_pruned(out), operands(call, f, function, loc), loc);
  // Cotangents are in the order of the program's inputs, gradients in the order of argnums.
  const std::size_t outputs = f.program->outputs.size();
  std::vector<Array> by_input(f.program->inputs.size());
  std::size_t next = outputs;
  for (std::size_t i : positions(wrt)) by_input[i] = std::move(arrays[next++]);
  arrays.resize(outputs);
  GradOutcome o;
  o.result = outcome(f, std::move(arrays));
  const std::vector<int> inputs = input_of_leaf(call);
  for (int arg : argnums)
    for (std::size_t i = call.arg_begin(static_cast<std::size_t>(arg));
         i < call.arg_ends[static_cast<std::size_t>(arg)]; ++i)
      o.gradients.push_back(inputs[i] < 0 ? Array()
                                          : by_input[static_cast<std::size_t>(inputs[i])]);
  return o;
}

}  // namespace tessera::inline v0::detail
