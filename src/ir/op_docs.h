// The reference of all ops, made from the registry.
#pragma once

#include <string>

namespace tessera::inline v0 {

/// Markdown: a section an op, in the order of the registry, with its documentation, attributes,
/// traits, and where it comes from in StableHLO. What the registry gives a reason for leaving out
/// is not listed.
std::string op_reference();

}  // namespace tessera::inline v0
