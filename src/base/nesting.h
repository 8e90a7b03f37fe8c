// Limits the depth of nested lists, which are copied, printed, compared and destroyed recursively.
#pragma once

#include "base/message.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::inline v0 {

template <class List>
int nesting_of(const List& list) {
  int depth = 0;
  for (const List& child : list.children()) depth = std::max(depth, nesting_of(child));
  return depth + 1;
}
/// Returns the children of a list. Throws TreeError from `function` if the list would be nested
/// deeper than 1000 levels, so lists made through this function never are.
template <class List>
std::vector<List> not_too_deep(const char* function, std::vector<List> children) {
  constexpr int kDeepest = 1000;
  for (const List& child : children)
    if (nesting_of(child) > kDeepest)
      Message(function)
          .problem("lists are nested deeper than " + std::to_string(kDeepest) + " levels")
          .rule("a list has an entry for each child of a tree, which no program nests so deep")
          .advice("one entry for all leaves below a node: it goes for them all")
          .raise<TreeError>();
  return children;
}

}  // namespace tessera::inline v0
