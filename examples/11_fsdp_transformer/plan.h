// Prints the work of one device in a step of a form.
#pragma once

#include <tessera/plan.h>

namespace fsdp_transformer {
/// Prints the plan's figures, and its collectives by kind.
void print_plan(const tessera::Plan& plan);
}
