// Rematerialisation, which trades time for memory in reverse mode.
//
//   auto layer = ts::remat(f, {.policy = ts::policies::dots_saveable()});
//
// The forward pass of a rematerialised function keeps only its inputs and the values that a policy
// allows; the backward pass recomputes the rest.
#pragma once

#include <tessera/detail/call.h>
#include <memory>

#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

struct RematPolicy;
/// A policy: it decides which values of the forward pass are kept for the backward pass.
using RematPolicyPtr = std::shared_ptr<const RematPolicy>;

/// Policies for what the forward pass may keep.
namespace policies {
/// Keeps only the inputs: the default.
TESSERA_API RematPolicyPtr nothing_saveable();
/// Keeps everything, as without remat.
TESSERA_API RematPolicyPtr everything_saveable();
/// Keeps the results of contractions and convolutions.
TESSERA_API RematPolicyPtr dots_saveable();
/// Keeps the results of contractions without batch dimensions, which are typically those with
/// weights.
TESSERA_API RematPolicyPtr dots_with_no_batch_dims_saveable();
/// Keeps values marked by checkpoint_name with one of these names.
TESSERA_API RematPolicyPtr save_only_these_names(std::vector<std::string> names);
/// Keeps values marked by checkpoint_name with any name but these.
TESSERA_API RematPolicyPtr save_any_names_but_these(std::vector<std::string> names);
}  // namespace policies

/// The options of remat.
struct RematOptions {
  /// The default is nothing_saveable.
  RematPolicyPtr policy = nullptr;
};

namespace detail {
TESSERA_API Outcome remat(Call& call, const RematPolicyPtr& policy, std::source_location loc);
}

/// The callable that remat returns: it computes f, and its backward pass recomputes the values that
/// the policy does not keep.
template <class F>
class Remat {
 public:
  using tessera_function = F;
  Remat(F f, RematOptions options, std::source_location loc)
      : f_(std::move(f)), options_(std::move(options)), loc_(loc) {}
  template <class... A>
  auto operator()(A&&... args) const {
    TESSERA_CHECK_CALL_(F, A);
    return detail::with_call(
        f_, [&](auto& call) { return call.result(detail::remat(call, options_.policy, loc_)); },
        args...);
  }

 private:
  mutable F f_;
  RematOptions options_;
  std::source_location loc_;
};

/// Returns f with its values recomputed in the backward pass instead of kept. Results and
/// derivatives equal those of f bit for bit.
template <class F>
Remat<std::decay_t<F>> remat(F&& f, RematOptions options = {},
                             std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), std::move(options), loc};
}

/// Returns x marked with a name, for the policies that select values by name.
TESSERA_API Array checkpoint_name(Operand x, const std::string& name);

}  // namespace tessera::inline v0
