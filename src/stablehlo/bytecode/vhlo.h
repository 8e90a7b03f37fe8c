// Translates operations of VHLO, the versioned form of StableHLO, to StableHLO.
#pragma once

#include "stablehlo/text/syntax.h"

namespace tessera::inline v0::stablehlo {

/// The attribute names of an operation in the order of its properties, which is alphabetical; empty
/// if the operation has no attributes or is unknown. A name that ends in a question mark stands for
/// an attribute that may be missing.
std::vector<std::string_view> keys_of(std::string_view dialect, std::string_view name);

/// "add_v1" becomes "stablehlo.add", and "call_v1" "func.call".
std::string unversioned(std::string_view name);

/// VHLO spells out every field of dimension numbers as an attribute; this folds them into the
/// attributes that StableHLO's text has.
void fold_attributes(Memory& memory, OperationSyntax& op);

}  // namespace tessera::inline v0::stablehlo
