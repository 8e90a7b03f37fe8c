#include "runtime/executable.h"

#include "ir/host_array.h"
#include "runtime/buffer.h"

#include <cstring>

namespace tessera::inline v0::runtime {
namespace {

class Evaluated : public Executable {
 public:
  explicit Evaluated(ProgramPtr p) : program_(std::move(p)) {}
  std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs) const override {
    std::vector<HostArray> in;
    std::vector<BufferPtr> hold(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      in.emplace_back(inputs[i]->type.dtype, inputs[i]->type.shape, const_cast<std::byte*>(dense_bytes(*inputs[i], hold[i])));
    std::vector<HostArray> out = evaluate(*program_, in);
    std::vector<ArrayDataPtr> results;
    for (std::size_t i = 0; i < out.size(); ++i)
      results.push_back(from_host(program_->types[program_->outputs[i]], out[i].bytes));
    return results;
  }
  const Program& program() const override { return *program_; }
  MemoryPlan memory() const override { return {}; }
  std::string schedule() const override { return {}; }

 private:
  ProgramPtr program_;
};

}  // namespace

std::shared_ptr<const Executable> compile(const ProgramPtr& p, const CompileOptions&) {
  return std::make_shared<Evaluated>(p);
}

}  // namespace tessera::inline v0::runtime
