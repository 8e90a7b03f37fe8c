// Approximate memory use of programs and tapes, by which caches weigh them.
#pragma once

#include "codegen/tape/tape.h"
#include "ir/program.h"

namespace tessera::inline v0::runtime {

/// The program's own bytes, including nested programs and literals.
std::int64_t footprint(const Program& p);
/// The tape's own bytes, including loop bodies and the routines' machine code.
std::int64_t footprint(const tape::Tape& tape);

}  // namespace tessera::inline v0::runtime
