// Standard parallelisation schemes, which start the search.
#pragma once

#include "autosharding/classes.h"

#include <string>
#include <vector>

namespace tessera::inline v0::autosharding {

struct Template {
  enum class Kind { replicated, data, sharded, tensor } kind;
  std::string name;  // "data parallel over 'data', 'model'"
  Choice choice;
};

/// Data parallel: arguments other than state are sharded along their batch dimension. Fully
/// sharded: parameters, too, along their largest or their first dimensions. Tensor parallel: one
/// axis shards dimensions of parameters that belong to one class, and the other axes do as above.
/// Each scheme is generated over some axes or all. Settled specs are kept.
std::vector<Template> templates(const Space& space, const DimClasses& classes);

}  // namespace tessera::inline v0::autosharding
