// Programs over scalars that combine or compare elements: the bodies of reductions and the
// comparators of sorts. Such a body is the attribute "body" of an op and captures no arrays. It is
// composed into the op's own kernel by the emit rules of the body's ops.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

/// Throws unless `body` takes scalars of the dtypes `in` and returns scalars of the dtypes `out`;
/// `what` names the body in the message.
void check_body(const InferArgs& a, const Program& body, std::span<const DType> in,
                std::span<const DType> out, const std::string& what);

/// The results vary over the union of the operands' axes, because a body captures nothing.
std::vector<AxisSet> vary_as_operands(const VaryArgs& a);

/// Returns the body with all calls in it inlined.
ProgramPtr inlined_body(const ProgramPtr& body);
/// Whether kernels can compose the body: it has only scalars and is elementwise.
bool composes(const Program& body);
/// Emits the body, which must compose, for the inputs `in`.
std::vector<Lane> emit_body(Emitter& e, const Program& body, std::span<const Lane> in);

/// Emits the body elementwise over arrays of one shape.
Values map_body(Builder& b, const Program& body, std::span<const Value> arrays);
/// Evaluates the body for scalars.
std::vector<HostArray> evaluate_body(const Program& body, std::span<const HostArray> in);
/// A view of one element.
HostArray element_of(const HostArray& x, std::int64_t flat);

/// A body compiled to machine code, for routines that call it for one element after another;
/// nullptr if the body does not compose. Defined in codegen/calls/body.cc, where kernels are
/// compiled.
class CompiledBody {
 public:
  virtual ~CompiledBody() = default;
  virtual void operator()(const void* const* in, void* const* out) const = 0;
};
std::shared_ptr<const CompiledBody> compile_body(const ProgramPtr& body);

}  // namespace tessera::inline v0::ops
