// The checkpoint policies of the library.
#pragma once

#include "ir/policy.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0 {

using CheckpointPolicyPtr = std::shared_ptr<const CheckpointPolicy>;

/// Keeps nothing but the inputs: the default.
CheckpointPolicyPtr nothing_saveable();
/// Keeps everything, as if there were no checkpoint.
CheckpointPolicyPtr everything_saveable();
/// Keeps the results of contractions and convolutions.
CheckpointPolicyPtr dots_saveable();
/// Keeps the results of contractions without batch dimensions: those against weights, not
/// attention's.
CheckpointPolicyPtr dots_with_no_batch_dims_saveable();
/// Keeps the values marked by checkpoint_name with one of these names.
CheckpointPolicyPtr save_only_these_names(std::vector<std::string> names);
/// Keeps the values marked by checkpoint_name with any other name.
CheckpointPolicyPtr save_any_names_but_these(std::vector<std::string> names);

}  // namespace tessera::inline v0
