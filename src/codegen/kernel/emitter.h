// Emits the machine-independent code of one kernel stage: an Emitter that writes LLVM IR.
//
// Scopes mirror the loops. A value is emitted in the outermost scope in which its index is known,
// before the inner loops, so nothing is computed twice or moved later. If a loop is vectorised,
// values whose index involves its variable are vectors; all others stay scalars.
#pragma once

#include "codegen/kernel/composer.h"
#include "codegen/kernel/kernel_schedule.h"
#include "codegen/kernel/lane_ops.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

namespace llvm {
class BasicBlock;
class StoreInst;
class Function;
}  // namespace llvm

namespace tessera::inline v0::codegen {

/// A sequence of basic blocks that code is appended to.
struct Region {
  llvm::BasicBlock* tail = nullptr;
};

struct Scope {
  Scope* parent = nullptr;
  int depth = 0;
  Region* region = nullptr;
  bool barrier = false;         // values requested inside are not hoisted out of this scope
  llvm::Value* mask = nullptr;  // lanes that may access memory; null: all
  const Atom* vec = nullptr;    // the vectorised variable, if any
  int width = 0;
  std::unordered_map<ValueKey, Lane, ValueKeyHash> values;
  std::map<std::tuple<int, const void*, const void*, const void*>, Lane> operations;
  std::unordered_map<const Index::Node*, llvm::Value*> scalars, vectors;
};

class KernelEmitter final : public Composer {
 public:
  KernelEmitter(const Program& p, const KernelSchedule& plan, llvm::Module& module);
  ~KernelEmitter() override;

  /// Defines `void name(inputs, outputs, scratch, begin, end, length)` for the stage's units
  /// [begin, end).
  void emit_stage(const StageSchedule& stage, const std::string& name);
  /// Defines a function of the same form that writes the elements of an update over output 0. The
  /// program is one equation whose op has a rule `write`.
  void emit_update(const std::string& name);

  Lane value(Var v, std::span<const Index> at) override;
  Lane constant(DType d, double v) override { return ops_.constant(d, v); }
  Lane constant(DType d, std::int64_t v) override { return ops_.constant(d, v); }
  Lane literal(const Literal& literal, std::span<const Index> at) override;
  Lane number(const Index& index, DType dtype) override;
  Index index(const Lane& number, std::int64_t lo, std::int64_t hi) override;
  Lane unary(Arith op, Lane x) override;
  Lane binary(Arith op, Lane x, Lane y) override;
  Lane select(Lane condition, Lane on_true, Lane on_false) override;
  Lane convert(Lane x, DType to) override;
  Lane bitcast(Lane x, DType to) override;
  Lane guarded(std::span<const Bound> bounds, const std::function<Lane()>& inside,
               Lane outside) override;
  Lane reduce(std::span<const std::int64_t> extents, Lane init,
              const std::function<Lane(std::span<const Index>)>& element,
              const std::function<Lane(Lane, Lane)>& combine) override;
  std::vector<Lane> fold(
      std::span<const std::int64_t> extents, std::vector<Lane> init,
      const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>& step)
      override;

 private:
  using Accumulators = std::vector<llvm::Value*>;
  using Body = std::function<Accumulators(const Index&, const Accumulators&)>;
  struct Box;  // the arguments of a call of reduce

  // scopes.cc
  Scope* new_scope(bool own_region);
  template <class F>
  auto in_scope(Scope* scope, F&& f);
  Scope* scope_of(std::span<const Index> at) const;
  Accumulators loop(llvm::Value* begin, llvm::Value* end, std::int64_t step, bool at_least_once,
                    std::int64_t extent, int width, const Accumulators& init, const Body& body);
  Accumulators counted(std::int64_t extent, const Accumulators& init, const Body& body);
  // Positions [begin, begin + length) of a dimension of `extent` elements; `begin` is 0 if null. A
  // `dynamic` length replaces `length`, which is then its maximum.
  struct Span {
    std::int64_t extent;
    std::int64_t length;
    llvm::Value* begin = nullptr;
    llvm::Value* dynamic = nullptr;
  };
  Accumulators lanes_loop(const Span& span, int width, const Box* box, const Accumulators& init,
                          const Body& body);
  Accumulators branch(llvm::Value* condition, const Accumulators& otherwise,
                      const std::function<Accumulators()>& then);
  Lane island(const std::function<Lane()>& f);
  Lane per_lane(Var v, std::span<const Index> at);

  // index_values.cc
  bool varying(const Index& i) const;
  bool varying(const Index::Node* n) const;
  bool varying(const Atom& a) const;
  bool aligned(const Atom& a) const;
  std::optional<std::int64_t> lane_stride(const Index& i) const;
  llvm::Value* scalar(const Index& i);
  llvm::Value* scalar_atom(const Atom& a);
  llvm::Value* lanes(const Index& i, bool narrow);
  llvm::Value* lanes_of_atom(const Atom& a, bool narrow);
  bool fits_narrow(const Index::Node* n) const;

  // memory.cc
  llvm::Value* every_nth(llvm::Value* base, DType d, const Index& flat, std::int64_t stride);
  Lane load(llvm::Value* base, DType d, const Index& flat);
  void store(llvm::Value* base, const Index& flat, const Lane& x);
  void mark_past_caches(llvm::StoreInst* store);
  Lane load_complex(llvm::Value* base, DType d, const Index& flat);
  void store_complex(llvm::Value* base, const Index& flat, const Lane& x);
  llvm::Value* twice(llvm::Value* v);
  llvm::Value* input_pointer(std::size_t i);
  llvm::Value* output_pointer(std::size_t i);
  llvm::Value* scratch_pointer(std::size_t offset);
  llvm::Value* root_value(int kind, std::size_t i, const std::function<llvm::Value*()>& make);
  std::optional<Lane> from_buffer(Var v, std::span<const Index> at);

  // reduce.cc
  Lane chunk(const Box& box, const Index& which);
  Lane lanes_chunk(const Box& box, std::vector<Index> at, std::int64_t length,
                   llvm::Value* dynamic);
  Lane rows_chunk(const Box& box, std::vector<Index> at, std::int64_t length, llvm::Value* dynamic);
  // The positions from `begin` to `end` in steps of `step`; there are at most `most`.
  struct Turns {
    llvm::Value *begin, *end;
    std::int64_t step = 1, most = 0, extent = 0;
    bool at_least_once = true;
    int width = 0;
  };
  Accumulators in_runs(const Box& box, const Turns& turns, const Accumulators& acc,
                       const Body& body);
  Accumulators counted_runs(const Box& box, std::int64_t extent, const Accumulators& acc,
                            const Body& body);
  Body from_nothing(const Box& box, std::size_t dim, const Body& body);
  Accumulators part_loop(const Box& box, const Index& start, std::int64_t length,
                         llvm::Value* dynamic, const Accumulators& acc, const Body& body);
  Accumulators halves(const Box& box, const Index& start, std::int64_t length, int depth,
                      const Accumulators& none, const Body& body);
  Accumulators chunk_tree(const Box& box, const Index& first, std::int64_t chunks, int depth,
                          const Accumulators& none, const Body& body);
  Lane tree(const Box& box, llvm::Value* acc, DType d, int width);
  std::vector<Index> expand(const Box& box, std::span<const Index> merged) const;
  const SplitReduction* split_of(const Equation* eqn) const;
  llvm::Value* typed(const Lane& x);

  // update.cc
  void emit_writes(const Equation& eqn, std::vector<Index>& at);

  // stage.cc
  void begin_function(const std::string& name);
  void emit_function(const StageSchedule& stage, const std::string& name, bool past_caches);
  void emit_choice(const StageSchedule& stage, const std::string& name, const std::string& plain,
                   const std::string& past);
  void emit_units(const StageSchedule& s, const Index& unit);
  void emit_inner(const StageSchedule& s, std::vector<Index> loops, const Index& block);
  void emit_element(const StageSchedule& s, std::span<const Index> loops);
  void emit_tile(const StageSchedule& s, std::vector<Index> loops, const Index& block);
  void unroll_tile(const StageSchedule& s, std::vector<Index>& loops, const Index& start);
  llvm::Value* from_tile(llvm::Value* base, DType d, const Index& flat, std::int64_t stride);
  void emit_row(const StageSchedule& s, const std::vector<Index>& loops, const Index& block);
  std::vector<Index> position(const StageSchedule& s, std::span<const Index> loops) const;
  std::optional<Lane> from_row(Var v, std::span<const Index> at);

  template <class F>
  Lane once(int code, const void* a, const void* b, const void* c, F&& make);

  struct Row {
    std::vector<Index> at;
    Scope* scope;
    std::map<Var, llvm::Value*> memory;  // null while a value is being computed
  };

  struct Tile {
    Scope* scope;        // the scope of the vectorised loop
    Index start;         // the first position along the tiled dimension
    const Atom* atom;    // the current position
    std::size_t offset;  // distance of the current position from the first
    std::map<std::pair<llvm::Value*, const Index::Node*>, std::vector<llvm::Value*>> squares;
  };

  const KernelSchedule& plan_;
  llvm::Module& module_;
  std::unique_ptr<IrBuilder> b_;
  LaneOps ops_;
  llvm::Function* function_ = nullptr;
  const StageSchedule* stage_ = nullptr;
  std::deque<Scope> scopes_;
  std::deque<Region> regions_;
  Scope* root_ = nullptr;
  Scope* current_ = nullptr;
  std::map<std::pair<int, std::size_t>, llvm::Value*> root_values_;
  Row* row_ = nullptr;
  Tile* tile_ = nullptr;
  // Index of the chunk of the split reduction that is being computed.
  const Index* chunk_ = nullptr;
  const Equation* chunked_ = nullptr;
  std::optional<Lane> chunk_result_;
  // Index at which the running rule computes its result.
  const std::span<const Index>* result_at_ = nullptr;
  int globals_ = 0;
  bool past_caches_ = false;  // whether the stage's results bypass the caches
};

}  // namespace tessera::inline v0::codegen
