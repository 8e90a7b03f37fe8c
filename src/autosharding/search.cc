#include "autosharding/search.h"

#include "autosharding/descent.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tessera::inline v0::autosharding {

namespace {

constexpr std::size_t kPolished = 3;  // number of choices that a descent starts from
constexpr double kHopeless = 1.5;     // a start may take this many times the best time
constexpr double kAllowed = 0.02;     // tolerated error of the shortened program

class Searcher {
 public:
  Searcher(const explain::Question& question, const Space& space, const SearchOptions& options)
      : options_(options),
        judge_(question, space, options.plan, options.evaluations),
        classes_(dim_classes(*question.program, space)),
        templates_(templates(space, classes_)),
        walk_(judge_, space, classes_, options) {}

  Found run() {
    trust_or_drop_repeats();
    constexpr int kRounds = 5;
    for (int round = 0; round < kRounds; ++round) {
      walk();
      if (settle()) break;
    }
    if (!found_) give_up();
    found_->evaluations = judge_.count();
    found_->repeats = judge_.repeats();
    found_->scale = walk_.scale;
    for (const Template& t : best_templates()) found_->templates.emplace_back(t, judge_(t.choice));
    return std::move(*found_);
  }

 private:
  // Whether the shortened program's time agrees with that of the whole program.
  bool agrees(const Choice& choice) {
    const double few = judge_(choice).seconds, all = judge_.whole(choice).seconds;
    return std::abs(few - all) <= kAllowed * all;
  }
  void trust_or_drop_repeats() {
    if (judge_.repeats() == 0) return;
    const auto hard = std::find_if(templates_.rbegin(), templates_.rend(), [](const Template& t) {
      return t.kind == Template::Kind::sharded;
    });
    if (hard == templates_.rend() || !agrees(hard->choice)) judge_.use_whole();
  }

  void walk() {
    if (exhaustive_ || (exhaustive_ = walk_.try_all())) return;
    for (const Template& t : templates_) walk_.visit(t.choice);
    // If nothing fits yet, descend without the memory limit first: fast choices are often small as
    // well.
    if (!walk_.fits(judge_(walk_.best(1)[0]))) {
      walk_.limited = false;
      walk_.improve(walk_.best(1)[0]);
      walk_.limited = true;
    }
    const std::vector<Choice> starts = walk_.best(kPolished);
    const Figures best = judge_(starts[0]);
    for (const Choice& c : starts)
      if (!walk_.fits(best) || judge_(c).seconds <= kHopeless * best.seconds) walk_.improve(c);
  }

  std::vector<Template> best_templates() {
    std::vector<Template> all;
    for (const Template& t : templates_) {
      if (!judge_.known(t.choice)) continue;
      const auto it =
          std::find_if(all.begin(), all.end(), [&](const Template& o) { return o.kind == t.kind; });
      if (it == all.end())
        all.push_back(t);
      else if (walk_.better(judge_(t.choice), judge_(it->choice)))
        *it = t;
    }
    return all;
  }

  // Picks the best finalist by the whole program and by its planned memory. Returns false if the
  // memory estimate was wrong about whether it fits; the next round then uses the corrected scale.
  bool settle() {
    std::vector<Choice> finalists = walk_.best(1);
    const Figures best = judge_(finalists[0]);
    if (judge_.repeats() > 0 && !agrees(finalists[0])) {
      judge_.use_whole();
      return false;
    }
    for (const Template& t : best_templates())
      if (t.choice != finalists[0] && judge_(t.choice).seconds <= (1 + 2 * kAllowed) * best.seconds)
        finalists.push_back(t.choice);
    std::stable_sort(finalists.begin(), finalists.end(), [&](const Choice& a, const Choice& b) {
      return walk_.better(judge_.whole(a), judge_.whole(b));
    });
    const Choice& first = finalists[0];
    const Figures& f = judge_.whole(first);
    const std::int64_t temporaries = judge_.temporaries(first);
    const bool fits = fits_with(f, temporaries), expected = walk_.fits(f);
    if (fits && (!found_ || f.seconds < found_->figures.seconds))
      found_ = Found{first, f, temporaries, true, {}, 1, 0, 0, exhaustive_};
    if (fits == expected) return true;
    if (f.live == 0) return true;
    walk_.scale = static_cast<double>(temporaries) / f.live;
    return false;
  }
  bool fits_with(const Figures& f, std::int64_t temporaries) const {
    return options_.memory_limit == 0 ||
           f.argument_bytes + f.result_bytes + static_cast<double>(temporaries) <=
               static_cast<double>(options_.memory_limit);
  }

  void give_up() {
    const Choice least = walk_.smallest();
    const Figures& f = judge_.whole(least);
    const std::int64_t temporaries = judge_.temporaries(least);
    found_ = Found{least, f, temporaries, fits_with(f, temporaries), {}, 1, 0, 0, exhaustive_};
  }

  const SearchOptions& options_;
  Judge judge_;
  DimClasses classes_;
  std::vector<Template> templates_;
  Descent walk_;
  bool exhaustive_ = false;
  std::optional<Found> found_;
};

}  // namespace

Found search(const explain::Question& question, const Space& space, const SearchOptions& options) {
  return Searcher(question, space, options).run();
}

}  // namespace tessera::inline v0::autosharding
