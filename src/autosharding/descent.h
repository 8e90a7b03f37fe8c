// Local search: moves from one choice to a better one.
#pragma once

#include "autosharding/search.h"

#include <chrono>

namespace tessera::inline v0::autosharding {

class Descent {
 public:
  Descent(Judge& judge, const Space& space, const DimClasses& classes,
          const SearchOptions& options);

  /// Judges all choices if there are few enough; returns whether it did.
  bool try_all();
  /// Judges a choice. Returns false if there is no time left.
  bool visit(const Choice& choice);
  /// Descends from a choice as long as changing a variable or a class of dimensions makes it much
  /// better, or better at all if the alternatives are few.
  void improve(Choice from);

  /// Choices that fit come before others and are ordered by time, then by size. Choices that do not
  /// fit are ordered by size.
  bool better(const Figures& a, const Figures& b) const;
  bool fits(const Figures& f) const;
  /// The best of all judged choices, best first.
  std::vector<Choice> best(std::size_t count) const;
  /// The judged choice with the least memory.
  Choice smallest() const;

  double scale = 1;     // ratio of temporary bytes to live bytes
  bool limited = true;  // whether the memory limit counts

 private:
  /// Judges `to`; if it is better, assigns it to `now` and returns true.
  bool take(Choice& now, const Choice& to);
  void change_classes(Choice& now);
  void change_variables(Choice& now);

  Judge& judge_;
  const Space& space_;
  const DimClasses& classes_;
  const SearchOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<std::size_t> order_;         // variables, largest first
  std::vector<std::vector<Choice>> ways_;  // by variable: its possible specs
  bool thorough_;  // try all specs of a variable instead of only those that move one axis
};

}  // namespace tessera::inline v0::autosharding
