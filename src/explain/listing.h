// The parts of a plan that list the contents of a program.
#pragma once

#include "explain/work.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::inline v0::explain {

/// The equations of the traced program with the placements of their results, each followed by those
/// nested in it. Everything is whole if the partitioner did not run, that is, if `made` is absent.
class Listing {
 public:
  Listing(const ProgramOnMesh& divided, const Question& question, const PlanOptions& options);

  std::vector<PlannedEquation> equations;
  std::vector<PlannedWhole> wholes;
  /// The index of an equation of the traced program; PlannedCollective::none for others.
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

/// Pairs the collectives of the device's program with their causes, which are in the same order.
/// Collectives that simplification merged get the cause of the first.
std::vector<PlannedCollective> collectives_of(const ProgramOnMesh& divided, const Work& work,
                                              const Listing& listing);

std::vector<PlannedEnd> arguments_of(const ProgramOnMesh& divided, const Question& question);
std::vector<PlannedEnd> results_of(const ProgramOnMesh& divided, const Question& question);

/// Returns a source line without its indentation; empty if the file cannot be read. Each object
/// reads a file once.
class SourceText {
 public:
  std::string line(const SourceLoc& loc);

 private:
  std::unordered_map<std::string, std::vector<std::string>> files_;
};

}  // namespace tessera::inline v0::explain
