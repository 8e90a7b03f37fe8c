// A walk through choices, from better to better.
#pragma once

#include "autosharding/search.h"

#include <chrono>

namespace tessera::inline v0::autosharding {

class Descent {
 public:
  Descent(Judge& judge, const Space& space, const DimClasses& classes,
          const SearchOptions& options);

  /// All choices, if there are few enough; says whether.
  bool try_all();
  /// Judges it. False where there is no time for that.
  bool visit(const Choice& choice);
  /// From there as long as changes of variables, and of classes of dimensions, make it much better;
  /// where there are few, as long as they make it better.
  void improve(Choice from);

  /// What fits goes before what does not, quicker before slower, and of equal ones the smaller. What
  /// does not fit goes by its size.
  bool better(const Figures& a, const Figures& b) const;
  bool fits(const Figures& f) const;
  /// All that were judged, the best first.
  std::vector<Choice> best(std::size_t count) const;
  /// That with the least memory.
  Choice smallest() const;

  double scale = 1;     // from live bytes to temporaries
  bool limited = true;  // whether the memory limit counts

 private:
  /// Whether `to` was better and is taken.
  bool take(Choice& now, const Choice& to);
  void change_classes(Choice& now);
  void change_variables(Choice& now);

  Judge& judge_;
  const Space& space_;
  const DimClasses& classes_;
  const SearchOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<std::size_t> order_;         // of variables: large first
  std::vector<std::vector<Choice>> ways_;  // of each variable
  bool thorough_;  // all ways of a variable are tried, else those that move one axis
};

}  // namespace tessera::inline v0::autosharding
