// A tape with what a call of it needs: which memory each input becomes, which arrays the results
// are.
#pragma once

#include "codegen/plan/plan.h"
#include "runtime/buffer.h"
#include "runtime/executable.h"
#include "runtime/execute.h"
#include "runtime/kept.h"
#include "spmd/blocks.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace tessera::inline v0::runtime {

/// An argument of the tape: how arrays become its pointers.
struct ArgumentPlan {
  LayoutPtr committed, uncommitted;    // what is used shard by shard; null for a whole
  std::vector<std::int64_t> position;  // by instance: place in the mesh
  std::vector<std::int64_t>
      offset;  // by instance: bytes into the whole, where blocks are contiguous
  std::optional<spmd::Blocks> blocks;
};

struct ResultPlan {
  LayoutPtr layout;                    // null for a whole
  std::vector<std::int64_t> instance;  // by place in the mesh
  std::int64_t bytes = 0;              // of all instances
  bool uniform = false;
};

/// The tape for one set of uniform inputs.
struct Variant {
  std::vector<bool> uniform;
  std::shared_ptr<const tapes::Tape> tape;
  std::vector<ArgumentPlan> arguments;
  std::vector<ResultPlan> results;
  std::vector<std::vector<std::size_t>> of_input;  // arguments by input
  int last_device = 0;                             // of all regions
  bool libraries = false;                          // are called
  mutable std::atomic<bool> ran{false};
};

/// What an argument became for one call: shards of an array, or one dense block and views of it.
struct Bound {
  ArrayDataPtr array;
  BufferPtr whole;
  std::size_t offset = 0;
};

class TapeExecutable : public Executable,
                       public Kept,
                       public std::enable_shared_from_this<TapeExecutable> {
 public:
  TapeExecutable(ProgramPtr p, CompileOptions options, bool isolated, bool evaluate);

  using Executable::run;
  std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs, Holds& holds) const override;
  const Program& program() const override { return *program_; }
  std::string_view name() const { return options_.name.empty() ? program_->name : options_.name; }
  const CompileOptions& options() const override { return options_; }
  MemoryPlan memory() const override;
  std::string schedule() const override { return to_string(*base_->tape); }
  /// Roughly, of itself.
  std::int64_t bytes() const;

 private:
  std::shared_ptr<const Variant> make_variant(std::vector<bool> uniform, bool evaluate) const;
  const std::shared_ptr<const Variant>& variant_for(std::span<const ArrayDataPtr> inputs) const;
  bool fits(const ArrayData& a, const ArgumentPlan& plan) const;
  void check(std::span<const ArrayDataPtr> inputs) const;
  void check_devices(const Variant& v) const;
  void check_places(const Variant& v, std::span<const ArrayDataPtr> inputs) const;
  std::vector<Bound> bind(const Variant& v, std::span<const ArrayDataPtr> inputs,
                          const Frame& frame) const;
  std::vector<ArrayDataPtr> make_results(const Variant& v, std::span<const ArrayDataPtr> inputs,
                                         Holds& holds, const std::vector<Bound>& bound,
                                         const Frame& frame, bool queued) const;

  ProgramPtr program_;
  CompileOptions options_;
  bool isolated_, evaluate_;
  std::shared_ptr<const Variant> base_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const std::shared_ptr<const Variant>>> variants_;
  struct Fit {
    LayoutPtr layout;
    const ArgumentPlan* plan;
    bool fits;
  };
  mutable std::vector<Fit> fits_;  // layouts that are not the plan's own, by their blocks
};

}  // namespace tessera::inline v0::runtime
