// Emits on behalf of an equation of another program: new equations get its source line and name
// stack.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0 {

class AtEquation {
 public:
  AtEquation(Builder& b, const Equation& eqn) : b_(b), loc_(b.loc), scope_(b.scope) {
    if (eqn.loc) b.loc = eqn.loc;
    if (!eqn.scope.empty()) b.scope = scope_.empty() ? eqn.scope : scope_ + "/" + eqn.scope;
  }
  ~AtEquation() {
    b_.loc = loc_;
    b_.scope = std::move(scope_);
  }
  AtEquation(const AtEquation&) = delete;
  AtEquation& operator=(const AtEquation&) = delete;

 private:
  Builder& b_;
  SourceLoc loc_;
  std::string scope_;
};

}  // namespace tessera::inline v0
