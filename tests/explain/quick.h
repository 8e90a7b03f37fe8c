// Options for quick plans, and a layer to plan.
#pragma once

#include <tessera/tessera.h>

namespace quick {

inline tessera::PlanOptions options() {
  tessera::PlanOptions o;
  o.alternatives = 0;
  o.memory = false;
  return o;
}

struct Layer {
  tessera::Array w, b;
};

}  // namespace quick
