// The reference documentation of all ops, generated from the registry.
#pragma once

#include <string>

namespace tessera::inline v0 {

/// Markdown with one section per op, in the order of the registry: its documentation, attributes,
/// traits and StableHLO counterpart. Rules that the registry waives are not listed.
std::string op_reference();

}  // namespace tessera::inline v0
