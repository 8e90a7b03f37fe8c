// The user's functions of a pipeline, on lists of leaves.
#pragma once

#include "api/devices/pipeline/leaves.h"
#include "api/trace/traced.h"

namespace tessera::inline v0::detail {

/// The layers of one device: calls the user's function on each layer in turn.
class PipelineLayers {
 public:
  PipelineLayers(const char* function, Call& call, std::int64_t count, const SourceLoc& loc)
      : function_(function), call_(call), count_(count), loc_(loc) {}
  /// Splits the parameters into those of single layers, or stacks them again. This is done outside
  /// loops and branches: a value computed inside them from a parameter would be saved for the
  /// derivative at every tick, whereas one from outside is not.
  Leaves unstacked(const Leaves& params) const;
  Leaves stacked(const Leaves& params) const;
  /// Throws if the activation changes its type.
  Leaves operator()(const Leaves& unstacked_params, const Leaves& activation) const;

 private:
  Leaves layer(const Leaves& params, const Leaves& activation) const;

  const char* function_;
  Call& call_;
  std::int64_t count_;
  SourceLoc loc_;
};

/// The loss of one microbatch: a function of (activation, targets) or (activation, targets, head).
class PipelineLoss {
 public:
  PipelineLoss(const char* function, Call& call, const SourceLoc& loc)
      : function_(function), call_(call), loc_(loc) {}
  /// Throws if the result is not a floating scalar.
  Array operator()(const Leaves& activation, const Leaves& targets, const Leaves& head) const;

 private:
  const char* function_;
  Call& call_;
  SourceLoc loc_;
};

}  // namespace tessera::inline v0::detail
