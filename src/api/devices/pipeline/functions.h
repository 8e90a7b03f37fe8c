// The user's functions on lists of leaves.
#pragma once

#include "api/devices/pipeline/leaves.h"
#include "api/trace/traced.h"

namespace tessera::inline v0::detail {

/// The layers of one device: the user's function, called on each layer in turn.
class PipelineLayers {
 public:
  PipelineLayers(const char* function, Call& call, std::int64_t count, const SourceLoc& loc)
      : function_(function), call_(call), count_(count), loc_(loc) {}
  /// Parameters of one layer lose their dimension of layers, and get it back. They do so outside of
  /// loops and branches: what is made in these of a parameter is kept for the derivative at each
  /// tick, and what comes from outside is not.
  Leaves unstacked(const Leaves& params) const;
  Leaves stacked(const Leaves& params) const;
  /// Throws where the activation comes out as it did not go in.
  Leaves operator()(const Leaves& unstacked_params, const Leaves& activation) const;

 private:
  Leaves layer(const Leaves& params, const Leaves& activation) const;

  const char* function_;
  Call& call_;
  std::int64_t count_;
  SourceLoc loc_;
};

/// The loss of one microbatch: of (activation, targets), or (activation, targets, head).
class PipelineLoss {
 public:
  PipelineLoss(const char* function, Call& call, const SourceLoc& loc)
      : function_(function), call_(call), loc_(loc) {}
  /// Throws where it is no floating scalar.
  Array operator()(const Leaves& activation, const Leaves& targets, const Leaves& head) const;

 private:
  const char* function_;
  Call& call_;
  SourceLoc loc_;
};

}  // namespace tessera::inline v0::detail
