// The library's remat policies.
#pragma once

#include "ir/policy.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0 {

using RematPolicyPtr = std::shared_ptr<const RematPolicy>;

/// Saves nothing but the inputs: the default.
RematPolicyPtr nothing_saveable();
/// Saves everything, as if there were no remat.
RematPolicyPtr everything_saveable();
/// Saves the results of contractions and convolutions.
RematPolicyPtr dots_saveable();
/// Saves the results of contractions without batch dimensions: products with weights, but not those
/// of attention.
RematPolicyPtr dots_with_no_batch_dims_saveable();
/// Saves the values marked by checkpoint_name with one of these names.
RematPolicyPtr save_only_these_names(std::vector<std::string> names);
/// Saves the values marked by checkpoint_name with any other name.
RematPolicyPtr save_any_names_but_these(std::vector<std::string> names);

}  // namespace tessera::inline v0
