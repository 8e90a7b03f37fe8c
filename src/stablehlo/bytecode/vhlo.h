// What the operations of VHLO, the versioned form of StableHLO, are in StableHLO.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// The keys of an operation's attributes in the order of its properties, which is the alphabet's;
/// none for an operation that has no attributes or is not known.
std::vector<std::string_view> keys_of(std::string_view dialect, std::string_view name);

/// "add_v1" as "stablehlo.add", "call_v1" as "func.call".
std::string unversioned(std::string_view name);

/// VHLO writes the fields of dimension numbers as attributes of their own and leaves nothing out:
/// they become the attributes that the text of StableHLO has.
void fold_attributes(Memory& memory, OperationSyntax& op);

}  // namespace tessera::inline v0::stablehlo
