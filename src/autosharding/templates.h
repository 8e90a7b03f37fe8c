// Choices that anybody would write down first.
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

/// Data parallel: what is no state is cut along its batch. Fully sharded: parameters too, along
/// their largest dimensions or their first ones. Tensor parallel: one axis cuts dimensions of parameters that go
/// together, the others as before. Each over some axes or all. What is settled stays.
std::vector<Template> templates(const Space& space, const DimClasses& classes);

}  // namespace tessera::inline v0::autosharding
