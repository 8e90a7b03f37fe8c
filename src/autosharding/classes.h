// Groups of dimensions that need no communication where they meet if they are sharded alike.
#pragma once

#include "autosharding/variables.h"

namespace tessera::inline v0::autosharding {

/// Classes of argument dimensions, connected through the factors that the rules of the program's
/// equations share. Classes are ordered by the total number of elements of the program's values
/// that have a dimension in the class, largest first.
struct DimClasses {
  /// For each variable and dimension; -1: no axis propagates from this dimension.
  std::vector<std::vector<int>> of;
  /// For each result and dimension; -1: not the class of any argument's dimension.
  std::vector<std::vector<int>> of_results;
  int count = 0;

  /// The first dimension of a variable that is in the class; -1: none.
  int dim(std::size_t variable, int number) const;
};
DimClasses dim_classes(const Program& program, const Space& space);

}  // namespace tessera::inline v0::autosharding
