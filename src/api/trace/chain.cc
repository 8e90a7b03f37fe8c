#include "api/trace/chain.h"

#include "base/process.h"
#include "ir/callback.h"
#include "ir/op.h"
#include "ops/build.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "transform/dead_code.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace tessera::inline v0::detail {

namespace {

constexpr std::size_t kNamed = 3;  // operations that the name of the program lists

bool has_memory_of(const runtime::ArrayData& a, const runtime::ArrayData& b) {
  return a.layout == b.layout && a.type == b.type && a.shards.size() == 1 && b.shards.size() == 1 &&
         a.shards[0].buffer == b.shards[0].buffer && a.shards[0].offset == b.shards[0].offset;
}

}  // namespace

runtime::LayoutPtr place_of_results(runtime::Backend& on,
                                    std::span<const runtime::LayoutPtr> inputs) {
  const runtime::LayoutPtr* first = nullptr;
  for (const runtime::LayoutPtr& l : inputs)
    if (l->backend == &on && (!first || (l->committed && !(*first)->committed))) first = &l;
  // If no device was chosen, the CPU's results stay with the first input, such as a row of an array
  // over several devices.
  if (first &&
      ((*first)->committed || (&on == &runtime::host_backend() && !runtime::chosen_default())))
    return runtime::place_of_whole(*first);
  return runtime::uncommitted_layout(on);
}

/// The operations that have not run yet, and what they need.
struct Chain::Recording {
  struct Result {
    std::weak_ptr<runtime::ArrayData> data;  // of an array, without shards
    Var var;
  };
  Builder builder;
  std::vector<runtime::ArrayDataPtr> inputs;  // of the builder's program
  std::int64_t bytes = 0;                     // of the memory that the inputs refer to
  std::vector<Result> results;
  std::vector<std::string> first_names;  // of the first operations
  SourceLoc first_line;

  std::string name(std::size_t operations) const {
    std::string text;
    for (const std::string& name : first_names) text += (text.empty() ? "" : ", ") + name;
    if (operations > first_names.size())
      text += " and " + std::to_string(operations - first_names.size()) + " more";
    return text;
  }
};

Chain::Chain(runtime::Backend& on, int device)
    : on_(on), device_(device), recording_(std::make_unique<Recording>()) {}
Chain::~Chain() = default;

bool Chain::keeps_more_than(std::int64_t bytes) {
  const Locked lock(mutex_);
  if (!recording_ || recording_->bytes <= bytes) return false;
  std::int64_t kept = 0;
  for (const runtime::ArrayDataPtr& a : recording_->inputs)
    if (const runtime::BufferPtr& b = a->shards[0].buffer; b.use_count() == 1)
      kept += static_cast<std::int64_t>(b->size());
  return kept > bytes;
}

Value Chain::value_of(const ArrayImpl& input, const Program& program, const SourceLoc& loc) {
  Recording& r = *recording_;
  if (input.chain.get() == this) return {&r.builder, input.var};
  const runtime::ArrayDataPtr& data = input.is_number ? data_of(input) : input.data;
  const runtime::Use use(*data);
  if (!use) runtime::deleted_message(program.name, *data).from(loc).raise<TraceError>();
  for (std::size_t i = 0; i < r.inputs.size(); ++i)
    if (has_memory_of(*r.inputs[i], *data)) return {&r.builder, r.builder.so_far().inputs[i]};
  // A separate array with this memory, which stays if the array is donated meanwhile.
  r.inputs.push_back(runtime::alias(*data));
  r.bytes += static_cast<std::int64_t>(data->shards[0].buffer->size());
  return r.builder.input(data->type);
}

Value Chain::argument(const Type& type, const void* bytes) {
  recording_->inputs.push_back(runtime::on_host(type, bytes));
  return recording_->builder.input(type);
}

// The result of an equation that differs between the iterations of a loop only in integers, with
// these integers as arguments; nothing for other equations.
std::optional<Value> Chain::with_arguments(const Program& program, const Equation& eqn,
                                           std::span<const Value> operands) {
  if (eqn.op->literal) {
    const Literal& value = *eqn.op->literal(eqn.attrs);
    if (!value.shape.empty() || !is_integer(value.dtype)) return std::nullopt;
    return argument(program.type(eqn.outputs[0]), value.bytes->data());
  }
  if (!eqn.op->strided_box) return std::nullopt;
  const StridedBox box = eqn.op->strided_box(eqn.attrs);
  if (std::any_of(box.strides.begin(), box.strides.end(), [](std::int64_t s) { return s != 1; }))
    return std::nullopt;
  Builder& b = recording_->builder;
  const AtLocation at(b, eqn.loc);
  const Shape& from = operands[0].shape();
  const bool wide = std::any_of(from.begin(), from.end(), [](std::int64_t n) {
    return n > std::numeric_limits<std::int32_t>::max();
  });
  const DType dtype = wide ? DType::int64 : DType::int32;
  Values starts;
  Ints sizes;
  for (std::size_t d = 0; d < box.start.size(); ++d) {
    sizes.push_back(box.limit[d] - box.start[d]);
    if (sizes[d] == from[d]) {
      starts.push_back(ops::scalar(b, dtype, 0.0));
    } else {
      const Literal start = scalar_literal(dtype, box.start[d]);
      starts.push_back(argument(Type(dtype, {}), start.bytes->data()));
    }
  }
  return ops::dynamic_slice(operands[0], starts, sizes);
}

Values Chain::copied(const Program& program, std::span<const Value> inputs, bool varies) {
  Builder& b = recording_->builder;
  if (!varies) return b.inline_program(program, inputs);
  std::vector<Value> values(program.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[program.inputs[i]] = inputs[i];
  Values operands;
  for (const Equation& eqn : program.equations) {
    operands.clear();
    for (const Var v : eqn.inputs) operands.push_back(values[v]);
    if (const auto value = with_arguments(program, eqn, operands)) {
      values[eqn.outputs[0]] = *value;
      continue;
    }
    const Values out = b.copy(eqn, operands);
    for (std::size_t i = 0; i < out.size(); ++i) values[eqn.outputs[i]] = out[i];
  }
  Values outputs;
  for (const Var v : program.outputs) outputs.push_back(values[v]);
  return outputs;
}

Array Chain::result(Var var, const runtime::LayoutPtr& place, const SourceLoc& loc) {
  auto data = std::make_shared<runtime::ArrayData>();
  data->type = recording_->builder.type(var);
  data->layout = place;
  recording_->results.push_back({data, var});
  Array a = make_concrete(std::move(data));
  a.impl()->var = var;
  a.impl()->loc = loc;
  a.impl()->chain = shared_from_this();
  arrays_.fetch_add(1, std::memory_order_relaxed);
  return a;
}

std::optional<std::vector<Array>> Chain::append(const Program& program,
                                                std::span<const Array> inputs,
                                                const runtime::LayoutPtr& place, bool varies,
                                                const SourceLoc& loc) {
  std::vector<Array> out;  // outlives the lock, because the end of a result may take it
  const Locked lock(mutex_);
  if (!recording_) return std::nullopt;
  Values in;
  in.reserve(inputs.size());
  for (const Array& a : inputs) in.push_back(value_of(*a.impl(), program, loc));
  for (const Value& v : copied(program, in, varies)) out.push_back(result(v.var, place, loc));
  if (operations() == 0) recording_->first_line = loc;
  if (operations() < kNamed) recording_->first_names.push_back(program.name);
  operations_.fetch_add(1, std::memory_order_relaxed);
  return out;
}

std::optional<Array> Chain::again(const ArrayImpl& a) {
  const Locked lock(mutex_);
  if (!recording_) return std::nullopt;
  return result(a.var, a.data->layout, a.loc);
}

void Chain::finish() {
  if (is_open()) {
    if (!InCallback::may_compute())
      Message("read")
          .problem("a handler of prints reads an array that has not been computed yet")
          .rule("handlers run in the middle of a call, and others wait until it is over")
          .advice("wait for the array before, with block_until_ready")
          .raise<Error>();
    // Destroyed after the lock is released, because arrays may hold memory that the user lent.
    std::unique_ptr<Recording> recorded;
    const Locked lock(mutex_);
    if (recording_) {
      recorded = std::move(recording_);
      try {
        run(*recorded);
      } catch (...) {
        error_ = std::current_exception();
      }
      done_.store(true, std::memory_order_release);
    }
  }
  if (error_) std::rethrow_exception(error_);
}

void Chain::run(Recording& r) const {
  std::vector<runtime::ArrayDataPtr> wanted;
  Values outputs;
  for (const Recording::Result& result : r.results)
    if (runtime::ArrayDataPtr data = result.data.lock()) {
      wanted.push_back(std::move(data));
      outputs.push_back({&r.builder, result.var});
    }
  if (wanted.empty()) return;
  const std::shared_ptr<Program> program = r.builder.finish_pruned(outputs);
  program->name = r.name(operations());
  const std::vector<bool> used = used_inputs(*program);
  std::vector<Var> vars;
  std::vector<runtime::ArrayDataPtr> inputs;
  std::vector<runtime::LayoutPtr> layouts;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    vars.push_back(program->inputs[i]);
    inputs.push_back(r.inputs[i]);
    layouts.push_back(r.inputs[i]->layout);
  }
  program->inputs = std::move(vars);

  // The function that reads a value first is not at fault.
  const InUserCode outside;
  const InFunction called(program->name.c_str(), r.first_line);
  const runtime::CallerLine line(r.first_line);
  // The operations were recorded for this device, and the default may be another one now.
  std::optional<runtime::DefaultDeviceScope> there;
  if (place_of_results(on_, layouts)->devices()[0] != device_) there.emplace(on_, device_);
  runtime::CompileOptions options;
  options.name = program->name;
  const auto executable = runtime::compile(program, options, on_);
  runtime::Holds holds(inputs);
  const std::vector<runtime::ArrayDataPtr> made = executable->run(inputs, holds);
  // Each keeps its own layout, which is committed only if the operands of its operation were.
  for (std::size_t k = 0; k < made.size(); ++k) {
    wanted[k]->shards = made[k]->shards;
    wanted[k]->uniform = made[k]->uniform;
    wanted[k]->pending = made[k]->pending;
  }
}

void Chain::drop_result() noexcept {
  if (arrays_.fetch_sub(1, std::memory_order_acq_rel) != 1 || !is_open()) return;
  std::unique_ptr<Recording> recorded;  // destroyed after the lock is released
  const Locked lock(mutex_);
  if (arrays_.load(std::memory_order_acquire) != 0 || !recording_) return;
  recorded = std::move(recording_);
  done_.store(true, std::memory_order_release);
}

bool ArrayImpl::waits() const { return chain && chain->is_open(); }
void ArrayImpl::leave_chain() const noexcept { chain->drop_result(); }

}  // namespace tessera::inline v0::detail
