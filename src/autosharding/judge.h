// What a choice costs: by the program that it makes, partitioned as it would be run.
#pragma once

#include "autosharding/subject.h"
#include "explain/work.h"

#include <map>

namespace tessera::inline v0::autosharding {

/// Of one device.
struct Figures {
  double seconds = 0;
  double argument_bytes = 0, result_bytes = 0;
  double live = 0;  // bytes of temporaries, by when they are needed (explain/live.h)
  double peak(double temporaries_scale = 1) const {
    return argument_bytes + result_bytes + temporaries_scale * live;
  }
};

class Judge {
 public:
  /// `evaluations`: how many choices are to be judged at most; 0: as many as the programs' sizes
  /// allow.
  Judge(const explain::Question& question, const Space& space, const PlanOptions& options,
        int evaluations);

  /// Kept: equal choices are judged once. By the shortened program where there is one.
  const Figures& operator()(const Choice& choice);
  bool known(const Choice& choice) const { return known_.count(choice) > 0; }
  /// By the whole program.
  const Figures& whole(const Choice& choice);
  /// What the plan says of its memory: temporaries as they are packed.
  std::int64_t temporaries(const Choice& choice) const;
  explain::ProgramOnMesh divided(const Choice& choice) const { return divided(whole_, choice); }

  /// Layers that stand for all; 0: it is judged whole.
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
  Subject whole_;
  std::optional<Shortened> shortened_;
  int budget_;
  std::map<Choice, Figures> known_, known_whole_;
};

}  // namespace tessera::inline v0::autosharding
