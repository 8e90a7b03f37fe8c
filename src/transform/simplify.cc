#include "transform/simplify.h"

#include "transform/dead_code.h"

namespace tessera::inline v0 {

std::span<const Pass> simplify_passes() {
  static constexpr Pass passes[] = {
      {"cancel", cancel},
      {"fold", fold},
      {"join_slices", join_slices},
      {"ends", shorten_ends},
      {"decompose", decompose},
      {"small_branches", select_branches},
      {"hoist", hoist},
      {"cse", merge_common},
      {"dead_code", [](const ProgramPtr& p) -> ProgramPtr { return dead_code(*p); }},
  };
  return passes;
}

ProgramPtr simplify(const ProgramPtr& p) {
  ProgramPtr q = p;
  for (const Pass& pass : simplify_passes()) q = run_pass(pass, q);
  return q;
}

}  // namespace tessera::inline v0
