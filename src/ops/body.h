// Programs of scalars that say how elements are combined or compared: bodies of reductions,
// comparators of sorts. Such a body is the attribute "body" of an op, takes no arrays from outside,
// and is composed into the op's own kernel by the rules of the ops in it.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

/// Throws unless `body` takes scalars of the dtypes `in` and gives some of the dtypes `out`; `what`
/// says in the message how it is called.
void check_body(const InferArgs& a, const Program& body, std::span<const DType> in,
                std::span<const DType> out, const std::string& what);

/// The results vary over what any operand varies over: a body brings nothing from outside.
std::vector<AxisSet> vary_as_operands(const VaryArgs& a);

/// The body with calls in it replaced by what they call.
ProgramPtr inlined_body(const ProgramPtr& body);
/// Whether kernels compose it: scalars only, computed element by element.
bool composes(const Program& body);
/// The results of a body that composes, given its inputs.
std::vector<Lane> emit_body(Emitter& e, const Program& body, std::span<const Lane> in);

/// The body's results for the elements of arrays of one shape.
Values map_body(Builder& b, const Program& body, std::span<const Value> arrays);
/// The body's results for scalars.
std::vector<HostArray> evaluate_body(const Program& body, std::span<const HostArray> in);
/// A view of one element.
HostArray element_of(const HostArray& x, std::int64_t flat);

/// A body as machine code, for routines that call it for one element after the other; nullptr where
/// it does not compose. Defined in codegen/calls/body.cc, where kernels are compiled.
class CompiledBody {
 public:
  virtual ~CompiledBody() = default;
  virtual void operator()(const void* const* in, void* const* out) const = 0;
};
std::shared_ptr<const CompiledBody> compile_body(const ProgramPtr& body);

}  // namespace tessera::inline v0::ops
