// The parts of a plan that list what is in a program.
#pragma once

#include "explain/work.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::explain {

/// The traced program's equations with where their results lie, each before those nested in it.
/// `where` is null where the partitioner was not asked: then everything is whole.
class Listing {
 public:
  Listing(const ProgramOnMesh& divided, const Question& question, const PlanOptions& options);

  std::vector<PlannedEquation> equations;
  std::vector<PlannedWhole> wholes;
  /// Of an equation of the traced program; PlannedCollective::none for others.
  std::size_t index_of(const Equation* equation) const;

 private:
  PlannedEquation& listed(const Equation& eqn, int depth);
  void scope(std::size_t number, int depth);
  void program(const Program& p, int depth);
  void whole(const Program& p, std::size_t scope, const Equation& eqn, Var v);

  const ProgramOnMesh& d_;
  const Question& question_;
  const PlanOptions& options_;
  std::unordered_map<const Equation*, std::size_t> index_;
};

/// The collectives of the device's program with their causes, which come in the same order. What
/// simplification made one of several has the first one's cause.
std::vector<PlannedCollective> collectives_of(const ProgramOnMesh& divided, const Work& work,
                                              const Listing& listing);

std::vector<PlannedEnd> arguments_of(const ProgramOnMesh& divided, const Question& question);
std::vector<PlannedEnd> results_of(const ProgramOnMesh& divided, const Question& question);

/// What is written in a line of a file, without the spaces before it; empty where it cannot be
/// read. Files are read once for an object.
class SourceText {
 public:
  std::string line(const SourceLoc& loc);

 private:
  std::unordered_map<std::string, std::vector<std::string>> files_;
};

}  // namespace tessera::inline v0::explain
