// The policies of remat of the library.
#pragma once

#include "ir/policy.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0 {

using RematPolicyPtr = std::shared_ptr<const RematPolicy>;

/// Keeps nothing but the inputs: the default.
RematPolicyPtr nothing_saveable();
/// Keeps everything, as if there were no remat.
RematPolicyPtr everything_saveable();
/// Keeps the results of contractions and convolutions.
RematPolicyPtr dots_saveable();
/// Keeps the results of contractions without batch dimensions: those against weights, not
/// attention's.
RematPolicyPtr dots_with_no_batch_dims_saveable();
/// Keeps the values marked by checkpoint_name with one of these names.
RematPolicyPtr save_only_these_names(std::vector<std::string> names);
/// Keeps the values marked by checkpoint_name with any other name.
RematPolicyPtr save_any_names_but_these(std::vector<std::string> names);

}  // namespace tessera::inline v0
