// Checkpoints, by the two meanings of the word.
//
// Of a function, ts::checkpoint(f): trades time for memory in reverse mode. The forward pass of a
// checkpointed function keeps only its inputs and what a policy allows; the backward pass computes
// the rest again.
//
// Of a run, ts::checkpoint::save and restore: its state on disk (tessera/checkpoints.h).
#pragma once

#include <tessera/checkpoints.h>
#include <tessera/detail/call.h>

#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

struct CheckpointPolicy;
using CheckpointPolicyPtr = std::shared_ptr<const CheckpointPolicy>;

/// What the forward pass may keep.
namespace policies {
/// Nothing but the inputs: the default.
TESSERA_API CheckpointPolicyPtr nothing_saveable();
/// Everything, as without a checkpoint.
TESSERA_API CheckpointPolicyPtr everything_saveable();
/// Results of contractions and convolutions.
TESSERA_API CheckpointPolicyPtr dots_saveable();
/// Results of contractions without batch dimensions: those against weights.
TESSERA_API CheckpointPolicyPtr dots_with_no_batch_dims_saveable();
/// Values marked by checkpoint_name with one of these names, or with any other.
TESSERA_API CheckpointPolicyPtr save_only_these_names(std::vector<std::string> names);
TESSERA_API CheckpointPolicyPtr save_any_names_but_these(std::vector<std::string> names);
}  // namespace policies

struct CheckpointOptions {
  /// None: nothing_saveable.
  CheckpointPolicyPtr policy = nullptr;
};

namespace detail {
TESSERA_API Outcome checkpoint(Call& call, const CheckpointPolicyPtr& policy,
                               std::source_location loc);
}

template <class F>
class Checkpoint {
 public:
  using tessera_function = F;
  Checkpoint(F f, CheckpointOptions options, std::source_location loc)
      : f_(std::move(f)), options_(std::move(options)), loc_(loc) {}
  template <class... A>
  auto operator()(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        f_,
        [&](auto& call) { return call.result(detail::checkpoint(call, options_.policy, loc_)); },
        args...);
  }

 private:
  mutable F f_;
  CheckpointOptions options_;
  std::source_location loc_;
};

/// Both: a name in front of :: is looked up among types, and this one is also the object below.
struct checkpoint : detail::CheckpointFiles {
  /// f, whose values are computed again in the backward pass instead of being kept. Results and
  /// derivatives are those of f, to the bit.
  template <class F>
  Checkpoint<std::decay_t<F>> operator()(
      F&& f, CheckpointOptions options = {},
      std::source_location loc = std::source_location::current()) const {
    return {std::forward<F>(f), std::move(options), loc};
  }
};
inline constexpr struct checkpoint checkpoint {};

/// x, marked for the policies that go by name.
TESSERA_API Array checkpoint_name(Operand x, const std::string& name);

}  // namespace tessera::inline v0
