#include "codegen/nest/nest.h"

#include "base/overloaded.h"
#include "codegen/kernel/key.h"
#include "codegen/kernel/machine.h"
#include "codegen/nest/nest_emitter.h"
#include "ir/op.h"

namespace tessera::inline v0::codegen {

namespace {

// Writes numbers as bytes and lists with their lengths.
class NestWriter {
 public:
  std::string out;

  void add(std::int64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void count(std::size_t n) { add(static_cast<std::int64_t>(n)); }
  void add(const std::string& s) { count(s.size()), out += s; }
  void add(const Spot& s) { add(std::int64_t{s.buffer}), add(s.offset); }
  void add(const NestBuffer& b) { add(b.bytes), add(b.contents); }
  template <class T>
  void add(const std::vector<T>& v) {
    count(v.size());
    for (const auto& x : v)
      if constexpr (std::is_arithmetic_v<T>)
        add(static_cast<std::int64_t>(x));
      else
        add(x);
  }
  void add(const NestBlock& b) { add(b.buffers), add(b.arguments), add(b.results), add(b.steps); }
  void add(const NestKernel& k) { add(kernel_key(*k.program)); }
  void add(const NestUpdate& u) { add(kernel_key(*u.program)); }
  void add(const NestCopy& c) { add(c.bytes); }
  void add(const NestLoop& l) {
    add(l.blocks), count(l.cond_consts), count(l.consts), count(l.carries);
    add(l.kept), add(l.tied), add(l.length), add(std::int64_t{l.reverse}), add(l.rows);
  }
  void add(const NestBranch& b) { add(b.blocks), count(b.operands), add(b.tied); }
  void add(const NestStep& s) {
    add(s.inputs), add(s.outputs), count(s.kind.index());
    std::visit([&](const auto& kind) { add(kind); }, s.kind);
  }
};

std::size_t blocks_in(const std::vector<NestBlock>& blocks) {
  std::size_t n = blocks.size();
  for (const NestBlock& b : blocks)
    for (const NestStep& s : b.steps)
      n += std::visit(Overloaded{[](const NestLoop& l) { return blocks_in(l.blocks); },
                                 [](const NestBranch& c) { return blocks_in(c.blocks); },
                                 [](const NestKernel&) { return std::size_t{0}; },
                                 [](const NestUpdate&) { return std::size_t{0}; },
                                 [](const NestCopy&) { return std::size_t{0}; }},
                      s.kind);
  return n;
}

}  // namespace

std::string nest_key(const Nest& nest) {
  NestWriter w;
  w.add(nest.loop);
  w.count(nest.inputs);
  w.count(nest.outputs);
  return "l" + std::move(w.out);
}

std::size_t block_count(const NestLoop& loop) { return blocks_in(loop.blocks); }

bool is_emitted_update(const Equation& eqn, DType dtype) {
  if (!eqn.op->write) return false;
  // The routines treat NaN in minima and maxima in their own way.
  const bool extremum = eqn.op->combiner == Combiner::min || eqn.op->combiner == Combiner::max;
  return !extremum || !is_inexact(dtype);
}

std::vector<std::shared_ptr<const Routine>> compile_nests(std::span<const Nest> nests) {
  std::vector<MachineRequest> requests;
  for (const Nest& nest : nests) {
    MachineRequest r;
    r.key = nest_key(nest);
    r.plan = [](Machine&) { return std::size_t{1}; };
    r.emit = [&nest](const Machine&, llvm::Module& module, SymbolNames names) {
      NestEmitter(module).emit(nest, names[0]);
    };
    r.effort = Effort::nest;
    requests.push_back(std::move(r));
  }
  const std::vector<MachinePtr> machines = make_machines(std::move(requests));
  std::vector<std::shared_ptr<const Routine>> routines;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    auto r = std::make_shared<Routine>();
    r->name = nests[i].name;
    r->seconds = nests[i].seconds;
    r->bytes = machines[i]->code_bytes;
    r->scratch_bytes = block_count(nests[i].loop) * sizeof(std::int64_t);
    Stage stage;
    stage.run = [machine = machines[i],
                 fn = reinterpret_cast<KernelFn>(machines[i]->code->addresses[0])](
                    const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      fn(a.inputs, a.outputs, a.scratch, begin, end, 0);
    };
    r->stages.push_back(std::move(stage));
    routines.push_back(std::move(r));
  }
  return routines;
}

}  // namespace tessera::inline v0::codegen
