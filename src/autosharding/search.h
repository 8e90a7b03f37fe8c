// The choice of least predicted time within a device's memory.
#pragma once

#include "autosharding/judge.h"
#include "autosharding/templates.h"

namespace tessera::inline v0::autosharding {

struct SearchOptions {
  std::int64_t memory_limit = 0;  // bytes a device; 0: none
  int evaluations = 0;            // 0: by the program's size
  double seconds = 300;
  PlanOptions plan;
};

struct Found {
  Choice choice;
  Figures figures;                                      // by the whole program
  std::int64_t temporaries = 0;                         // as they are packed
  bool fits = true;                                     // else it is the choice of least memory
  std::vector<std::pair<Template, Figures>> templates;  // the best of each kind, as it was judged
  double scale = 1;                                     // from live bytes to temporaries
  int evaluations = 0, repeats = 0;
  bool exhaustive = false;
};

/// The question's cutting gives the mesh.
Found search(const explain::Question& question, const Space& space, const SearchOptions& options);

}  // namespace tessera::inline v0::autosharding
