// What a device does in a form's step, for people.
#pragma once

#include <tessera/plan.h>

namespace fsdp_transformer {
/// Its figures, and collectives by kind.
void print_plan(const tessera::Plan& plan);
}
