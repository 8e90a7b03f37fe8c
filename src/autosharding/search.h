// Searches for the choice of least predicted time that fits into a device's memory.
#pragma once

#include "autosharding/judge.h"
#include "autosharding/templates.h"

namespace tessera::inline v0::autosharding {

struct SearchOptions {
  std::int64_t memory_limit = 0;  // bytes per device; 0: none
  int evaluations = 0;            // 0: chosen by the program's size
  double seconds = 300;
  PlanOptions plan;
};

struct Found {
  Choice choice;
  Figures figures;                                      // from the whole program
  std::int64_t temporaries = 0;                         // as packed by the memory planner
  bool fits = true;                                     // else this is the choice of least memory
  std::vector<std::pair<Template, Figures>> templates;  // best of each kind, as first judged
  double scale = 1;                                     // ratio of temporary bytes to live bytes
  int evaluations = 0, repeats = 0;
  bool exhaustive = false;
};

/// The question's cutting must contain the mesh.
Found search(const explain::Question& question, const Space& space, const SearchOptions& options);

}  // namespace tessera::inline v0::autosharding
