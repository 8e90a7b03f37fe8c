// The cost of a choice, taken from the program that it produces, partitioned as for execution.
#pragma once

#include "autosharding/subject.h"
#include "explain/work.h"

#include <map>

namespace tessera::inline v0::autosharding {

/// Predicted figures for one device.
struct Figures {
  double seconds = 0;
  double argument_bytes = 0, result_bytes = 0;
  double live = 0;  // bytes of temporaries by liveness (explain/live.h)
  double peak(double temporaries_scale = 1) const {
    return argument_bytes + result_bytes + temporaries_scale * live;
  }
};

class Judge {
 public:
  /// `evaluations`: the most choices to judge; 0: as many as the sizes of the programs allow.
  Judge(const explain::Question& question, const Space& space, const PlanOptions& options,
        int evaluations);

  /// The figures of a choice, from the shortened program if there is one. Cached.
  const Figures& operator()(const Choice& choice);
  bool known(const Choice& choice) const { return known_.count(choice) > 0; }
  /// The figures from the whole program.
  const Figures& whole(const Choice& choice);
  /// The bytes of temporaries as packed by the platform's memory planner, like those in a plan.
  std::int64_t temporaries(const Choice& choice) const;
  explain::ProgramOnMesh divided(const Choice& choice) const { return divided(whole_, choice); }

  /// The number of repeated layers that the shortened program represents; 0: the whole program is
  /// judged.
  int repeats() const { return shortened_ ? shortened_->layers : 0; }
  void use_whole();
  const std::map<Choice, Figures>& all() const { return known_; }
  int count() const { return static_cast<int>(known_.size()); }
  int budget() const { return budget_; }

 private:
  explain::ProgramOnMesh divided(const Subject& subject, const Choice& choice) const;
  Figures figures(const Subject& subject, const Choice& choice) const;

  const Space& space_;
  bool abstract_;
  PlanOptions options_;
  MeshRef mesh_;
  spmd::Links links_;
  const runtime::Backend* platform_;
  Subject whole_;
  std::optional<Shortened> shortened_;
  int budget_;
  std::map<Choice, Figures> known_, known_whole_;
};

}  // namespace tessera::inline v0::autosharding
