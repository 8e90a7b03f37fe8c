// How deep lists in lists may be: they are copied, printed, compared and destroyed by recursion.
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
/// The children of a list; TreeError headed by `function` where it would be nested deeper than 1000
/// levels. Children that are made through this are not deeper themselves.
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
