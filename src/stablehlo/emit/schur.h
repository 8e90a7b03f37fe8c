// How a Schur form is written: linalg.cc.
#pragma once

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo::write {

Names schur(Writing& w);

}  // namespace tessera::inline v0::stablehlo::write
