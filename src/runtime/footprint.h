// How much memory programs and tapes take, roughly: what caches weigh them by.
#pragma once

#include "codegen/tape/tape.h"
#include "ir/program.h"

namespace tessera::inline v0::runtime {

/// Its own bytes with those of nested programs and literals.
std::int64_t footprint(const Program& p);
/// Its own bytes with those of its loops' bodies and its routines' machine code.
std::int64_t footprint(const tape::Tape& tape);

}  // namespace tessera::inline v0::runtime
