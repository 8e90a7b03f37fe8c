#include "autosharding/judge.h"

#include "explain/live.h"
#include "explain/memory.h"
#include "ir/nested.h"

#include <algorithm>

namespace tessera::inline v0::autosharding {

namespace {
std::size_t size_of(const Program& p) {
  std::size_t n = p.equations.size();
  for (const Equation& eqn : p.equations)
    if (const std::optional<Flow> flow = flow_of(eqn))
      for (const ProgramPtr& nested : flow->programs) n += size_of(*nested);
  return n;
}
}  // namespace

Judge::Judge(const explain::Question& question, const Space& space, const PlanOptions& options,
             int evaluations)
    : space_(space),
      abstract_(question.cutting->abstract),
      options_(options),
      mesh_(question.cutting->mesh),
      links_(question.cutting->links),
      platform_(question.platform),
      whole_(whole_subject(question, space)),
      shortened_(shortened(question, space)),
      budget_(evaluations) {
  if (evaluations > 0) return;
  constexpr std::size_t kEquations = 100'000, kFewest = 160, kMost = 4096;
  const std::size_t size =
      shortened_ ? size_of(*shortened_->first.program) + size_of(*shortened_->second.program)
                 : size_of(*whole_.program);
  budget_ =
      static_cast<int>(std::clamp(kEquations / std::max<std::size_t>(1, size), kFewest, kMost));
}

explain::ProgramOnMesh Judge::divided(const Subject& subject, const Choice& choice) const {
  spmd::ProgramShardings cutting;
  cutting.mesh = mesh_;
  cutting.abstract = abstract_;
  cutting.links = links_;
  const auto wanted = [&](const std::vector<int>& variables) {
    std::vector<std::optional<spmd::RequestedSpec>> all;
    for (int v : variables) {
      all.emplace_back();
      if (v >= 0) all.back() = space_.wanted(choice, static_cast<std::size_t>(v));
    }
    return all;
  };
  cutting.inputs = wanted(subject.inputs);
  cutting.outputs = wanted(subject.outputs);
  return explain::program_on_mesh(spmd::constrained(*subject.program, cutting), &cutting, options_);
}

Figures Judge::figures(const Subject& subject, const Choice& choice) const {
  const explain::ProgramOnMesh d = divided(subject, choice);
  const explain::Work work = explain::work_of(d, options_, false);
  Figures f;
  f.seconds = work.compute_seconds + work.communication_seconds;
  const auto bytes = [&](const std::vector<Var>& ends, const std::vector<spmd::Placement>& lie) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < ends.size(); ++i)
      sum += d.part(d.whole->types[ends[i]], lie[i]).bytes();
    return static_cast<double>(sum);
  };
  f.argument_bytes = bytes(d.whole->inputs, d.inputs);
  f.result_bytes = bytes(d.whole->outputs, d.outputs);
  f.live = static_cast<double>(explain::live_bytes(*d.of_device()));
  return f;
}

const Figures& Judge::operator()(const Choice& choice) {
  const auto [it, fresh] = known_.try_emplace(choice);
  if (!fresh) return it->second;
  if (!shortened_) return it->second = figures(whole_, choice);
  Figures f = figures(shortened_->first, choice);
  const Figures more = figures(shortened_->second, choice);
  const auto grow = [&](double Figures::*figure) {
    f.*figure += shortened_->times() * (more.*figure - f.*figure);
  };
  grow(&Figures::seconds);
  grow(&Figures::argument_bytes);
  grow(&Figures::result_bytes);
  grow(&Figures::live);
  return it->second = f;
}

const Figures& Judge::whole(const Choice& choice) {
  if (!shortened_) return (*this)(choice);
  const auto [it, fresh] = known_whole_.try_emplace(choice);
  if (fresh) it->second = figures(whole_, choice);
  return it->second;
}

std::int64_t Judge::temporaries(const Choice& choice) const {
  return explain::memory_on(platform_, divided(choice)).bytes;
}

void Judge::use_whole() {
  shortened_.reset();
  known_ = std::move(known_whole_);
  known_whole_.clear();
}

}  // namespace tessera::inline v0::autosharding
