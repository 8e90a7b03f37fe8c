#include <tessera/debug.h>
#include <tessera/message.h>

#include "api/trace/trace.h"
#include "base/named_scopes.h"

namespace tessera::inline v0 {

namespace {

std::string joined_scopes(const std::string& outer, const std::string& name) {
  return outer.empty() ? name : outer + "/" + name;
}

}  // namespace

NamedScope::NamedScope(const std::string& name, std::source_location loc) : outer_(named_scopes()) {
  if (name.empty())
    Message("named_scope")
        .problem("the name is empty")
        .rule("a name is what plans, profiles and errors show")
        .from(loc)
        .advice("named_scope(\"attention\")")
        .raise<Error>();
  named_scopes() = joined_scopes(outer_, name);
  if (detail::Trace* t = detail::Trace::innermost()) {
    trace_ = t->id();
    outer_in_trace_ = t->builder().scope;
    t->builder().scope = joined_scopes(outer_in_trace_, name);
  }
}

NamedScope::~NamedScope() {
  named_scopes() = outer_;
  // A scope that outlives its trace has nothing to restore.
  if (detail::Trace* t = trace_ ? detail::Trace::find(trace_) : nullptr)
    t->builder().scope = outer_in_trace_;
}

}  // namespace tessera::inline v0
