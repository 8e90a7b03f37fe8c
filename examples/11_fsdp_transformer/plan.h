// What a form's program exchanges between devices, for people.
#pragma once

#include <tessera/jit.h>

namespace fsdp_transformer {
void print_plan(const tessera::Lowered& program);
}
