// Compiles scalar bodies to machine code, for routines that call them element by element.
#include "ops/body.h"

#include "codegen/calls/internal.h"
#include "codegen/kernel/kernel.h"

namespace tessera::inline v0::ops {

namespace {

class Compiled final : public CompiledBody {
 public:
  explicit Compiled(std::shared_ptr<const Routine> routine) : routine_(std::move(routine)) {}
  void operator()(const void* const* in, void* const* out) const override {
    alignas(64) std::byte scratch[kMostScratch];
    for (const Stage& s : routine_->stages) s.run({in, out, scratch}, 0, s.tasks);
  }
  static constexpr std::size_t kMostScratch = 1024;

 private:
  std::shared_ptr<const Routine> routine_;
};

}  // namespace

std::shared_ptr<const CompiledBody> compile_body(const ProgramPtr& body) {
  const ProgramPtr inlined = inlined_body(body);
  if (!composes(*inlined)) return nullptr;
  auto routine = codegen::compile_kernels(std::span(&inlined, 1)).at(0);
  if (!routine || routine->scratch_bytes > Compiled::kMostScratch) return nullptr;
  return std::make_shared<Compiled>(std::move(routine));
}

}  // namespace tessera::inline v0::ops
