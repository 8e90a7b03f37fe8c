// Dimensions that go together: cut alike they need no communication where they meet.
#pragma once

#include "autosharding/variables.h"

namespace tessera::inline v0::autosharding {

/// Classes of the dimensions of arguments, by the factors that the rules of a program's equations
/// share. Those in which most elements of the program's values have a dimension come first.
struct DimClasses {
  /// By variable and dimension; -1: an axis goes nowhere from it.
  std::vector<std::vector<int>> of;
  /// Of the dimensions of each result; -1: of no argument's.
  std::vector<std::vector<int>> of_results;
  int count = 0;

  /// The first dimension of a variable in the class; -1: none.
  int dim(std::size_t variable, int number) const;
};
DimClasses dim_classes(const Program& program, const Space& space);

}  // namespace tessera::inline v0::autosharding
