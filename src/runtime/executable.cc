#include "runtime/executable.h"

#include "runtime/backend.h"

namespace tessera::inline v0::runtime {

constinit thread_local std::int64_t PhaseBytes::now_ = machine::kBytesWorthAPhase;
thread_local const SourceLoc* CallerLine::now_ = nullptr;

std::vector<ArrayDataPtr> Executable::run(std::span<const ArrayDataPtr> inputs) const {
  const bool gives = !options().donated.empty();
  Holds holds(inputs, options().donated, gives ? taker(options().name) : 0);
  if (holds.refused())
    deleted_message(options().name, *inputs[*holds.refused()])
        .from(CallerLine::now())
        .raise<TraceError>();
  return run(inputs, holds);
}

std::shared_ptr<const Executable> compile(const ProgramPtr& p, const CompileOptions& options,
                                          Backend& backend) {
  return backend.compile(p, options);
}

}  // namespace tessera::inline v0::runtime
