#include "platforms/executable.h"

#include "ir/op.h"
#include "platforms/maps.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "runtime/footprint.h"
#include "runtime/host/memory_limit.h"
#include "runtime/profiler.h"
#include "transform/simplify.h"

#include <tessera/inline_vector.h>
#include <tessera/platform.h>

#include <algorithm>
#include <map>
#include <set>

namespace tessera::inline v0::platforms {

using runtime::ArrayData;
using runtime::ArrayDataPtr;
using runtime::BufferPtr;
using runtime::LayoutPtr;

namespace {

RemoteBuffer& buffer_of(const runtime::Shard& shard) {
  return *static_cast<RemoteBuffer*>(shard.buffer->handle());
}

// Whether this array is the only owner of its memory.
bool owns_memory(const ArrayData& a) {
  return std::all_of(a.shards.begin(), a.shards.end(), [](const runtime::Shard& s) {
    return s.buffer.use_count() == 1 && !buffer_of(s).is_shared();
  });
}

bool is_deleted(const Plugin& plugin, PJRT_Buffer* buffer) {
  PJRT_Buffer_IsDeleted_Args args{};
  args.buffer = buffer;
  plugin.call(&PJRT_Api::PJRT_Buffer_IsDeleted, args);
  return args.is_deleted;
}

// The ops that the platform runs as loops, for the text of an executable.
std::string loops_text(const std::vector<std::string>& ops) {
  return ops.empty() ? "" : ", with " + stablehlo::listed(ops) + " as loops,";
}

// A part that runs on the host keeps its maps over devices, with the numbers of the devices.
void need_host_devices(const Program& p, const std::string& name) {
  const int count = runtime::host_backend().device_count();
  int most = -1;
  for (const MeshRef& mesh : meshes_of(p))
    for (const int device : devices_of(*mesh)) most = std::max(most, device);
  if (most < count) return;
  const std::string needed = std::to_string(most + 1);
  Message(name)
      .problem("a part of the program runs on the host, over " + needed +
               " devices, and the platform 'cpu' has " + std::to_string(count))
      .rule(
          "what a platform cannot run, such as calls of the host, runs on as many devices of the "
          "platform 'cpu'")
      .advice("call set_device_count(" + needed + ") before the first array is made")
      .raise<DeviceError>();
}

}  // namespace

FarExecutable::FarExecutable(runtime::Backend& backend, const Client& client,
                             const stablehlo::Target& target, ProgramPtr program,
                             runtime::CompileOptions options)
    : backend_(backend),
      client_(client),
      program_(std::move(program)),
      options_(std::move(options)),
      name_(options_.name.empty() ? program_->name : options_.name) {
  const FlatMaps flat = flat_maps(simplify(program_), backend.device_count(), name_);
  simplified_ = flat.program;
  const auto without =
      factorisations() == Factorisations::on_host ? WithoutLibrary::host : WithoutLibrary::loops;
  const ops::LoopOptions loops{.exact_products = matmul_precision() == MatmulPrecision::highest};
  std::vector<Part> parts = parts_of(simplified_, target, without);
  std::map<Var, Source> sources;
  for (std::size_t i = 0; i < simplified_->inputs.size(); ++i)
    sources[simplified_->inputs[i]] = {kNone, i};
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Step step{std::move(parts[k])};
    Part& part = step.part;
    if (!part.on_host) {
      WithLoops written = with_loops(part.program, target, loops);
      if (written.program != part.program) part.program = simplify(written.program);
      step.loops = std::move(written.ops);
    }
    if (part.on_host) {
      need_host_devices(*part.program, name_);
      step.near = runtime::compile(part.program, {.name = name_, .donated = {}});
    } else {
      // An argument is donated to the last part that reads it.
      std::vector<bool> donated;
      for (const Var v : part.inputs) {
        const auto at = std::find(simplified_->inputs.begin(), simplified_->inputs.end(), v);
        const auto i = static_cast<std::size_t>(at - simplified_->inputs.begin());
        bool given = i < options_.donated.size() && options_.donated[i];
        for (std::size_t later = k + 1; later < parts.size(); ++later)
          given = given && std::find(parts[later].inputs.begin(), parts[later].inputs.end(), v) ==
                               parts[later].inputs.end();
        donated.push_back(given);
      }
      step.far = compile_part(part, donated, backend_, client_, target, name_, flat.before);
    }
    for (const Var v : part.inputs) step.inputs.push_back(sources.at(v));
    for (std::size_t i = 0; i < part.outputs.size(); ++i) sources[part.outputs[i]] = {k, i};
    step.is_all = step.far && parts.size() == 1 && part.inputs == simplified_->inputs;
    steps_.push_back(std::move(step));
  }
  std::set<Var> seen;
  for (const Var v : simplified_->outputs) {
    results_.push_back(sources.at(v));
    is_again_.push_back(!seen.insert(v).second);
  }
}

std::vector<ArrayDataPtr> FarExecutable::run(std::span<const ArrayDataPtr> inputs,
                                             runtime::Holds& holds) const {
  touch();
  if (inputs.size() != program_->inputs.size())
    throw InternalError("program '" + name_ + "' takes " + std::to_string(program_->inputs.size()) +
                        " inputs, got " + std::to_string(inputs.size()));
  const LayoutPtr here = runtime::place_for(name_, backend_, inputs);
  // Results that are arguments or occur twice share memory. They are made before anything is
  // donated, so that the platform does not take this memory.
  std::vector<ArrayDataPtr> results(results_.size());
  for (std::size_t k = 0; k < results.size(); ++k)
    if (results_[k].step == kNone) {
      const ArrayDataPtr& in = inputs[results_[k].index];
      const bool is_here = in->layout->backend == &backend_ && in->layout->devices().size() > 1;
      results[k] = runtime::alias(*(is_here ? in : runtime::relayout(in, here)));
    }
  std::vector<std::vector<ArrayDataPtr>> made(steps_.size());  // by step
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    if (step.is_all) {
      made[k] = run_far(step, inputs, here, holds);
      continue;
    }
    std::vector<ArrayDataPtr> own;
    for (const Source& s : step.inputs)
      own.push_back(s.step == kNone ? inputs[s.index] : made[s.step][s.index]);
    if (step.far) {
      made[k] = run_far(step, own, runtime::place_for(name_, backend_, own), holds);
      continue;
    }
    const LayoutPtr on_host = runtime::uncommitted_layout(runtime::host_backend());
    for (ArrayDataPtr& a : own)
      // The step registers as a user of arrays that this call may have taken.
      a = a->layout->backend == &backend_ ? runtime::relayout(a, on_host) : runtime::alias(*a);
    made[k] = step.near->run(own);
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k]) continue;
    ArrayDataPtr value = made[results_[k].step][results_[k].index];
    if (value->layout->backend != &backend_) value = runtime::relayout(value, here);
    results[k] = is_again_[k] ? runtime::alias(*value) : std::move(value);
  }
  holds.keep();
  return results;
}

std::vector<ArrayDataPtr> FarExecutable::run_far(const Step& step,
                                                 std::span<const ArrayDataPtr> inputs,
                                                 const LayoutPtr& place,
                                                 runtime::Holds& holds) const {
  const FarPart& far = *step.far;
  const bool one = far.devices.empty();
  const LayoutPtr& here = one ? place : far.home;
  const std::vector<int>& devices = one ? place->devices() : far.devices;
  const std::size_t n = inputs.size(), m = far.types.size();
  std::vector<ArrayDataPtr> placed;
  placed.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    placed.push_back(runtime::relayout(inputs[i], one ? here : far.inputs[i]));

  InlineVector<std::int64_t, 16> kept;  // inputs that must not be donated
  std::vector<std::size_t> given;
  for (std::size_t i = 0; i < n; ++i) {
    if (!far.donated[i]) continue;
    const bool fresh = placed[i] != inputs[i];
    const bool free = fresh || (step.inputs[i].step == kNone && holds.alone(step.inputs[i].index));
    if (free && owns_memory(*placed[i])) {
      if (!fresh) given.push_back(i);
    } else {
      kept.push_back(static_cast<std::int64_t>(i));
    }
  }

  // By device, and then by argument or result.
  InlineVector<PJRT_Buffer*, 32> arguments(devices.size() * n), results(devices.size() * m);
  InlineVector<PJRT_Buffer* const*, 8> argument_lists;
  InlineVector<PJRT_Buffer**, 8> result_lists;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<int>& order = placed[i]->layout->devices();
      const auto at = std::find(order.begin(), order.end(), devices[d]) - order.begin();
      arguments[d * n + i] =
          buffer_of(placed[i]->shards[static_cast<std::size_t>(placed[i]->layout->shard_at(at))])
              .get();
    }
    argument_lists.push_back(arguments.data() + d * n);
    result_lists.push_back(results.data() + d * m);
  }
  InlineVector<PJRT_Event*, 8> ends(devices.size());
  PJRT_ExecuteOptions options{};
  options.struct_size = sizeof options;
  options.non_donatable_input_indices = kept.data();
  options.num_non_donatable_input_indices = kept.size();
  PJRT_LoadedExecutable_Execute_Args args{};
  args.executable = far.loaded->get();
  args.options = &options;
  args.argument_lists = argument_lists.data();
  args.num_devices = devices.size();
  args.num_args = n;
  args.output_lists = result_lists.data();
  args.device_complete_events = ends.data();
  if (one) args.execute_device = client_.device(devices[0]);
  const auto layout_of = [&](std::size_t k) -> const LayoutPtr& {
    return one || !far.outputs[k] ? here : far.outputs[k];
  };
  const auto shard_shape = [&](std::size_t k) {
    const LayoutPtr& layout = layout_of(k);
    return block_shape(far.types[k].shape, layout->spec, *layout->mesh);
  };
  try {
    client_.plugin().call(&PJRT_Api::PJRT_LoadedExecutable_Execute, args);
  } catch (const Failure& failure) {
    // Arguments that the platform had taken are lost; the others are given back.
    bool lost = false;
    for (const std::size_t i : given)
      if (is_deleted(client_.plugin(), buffer_of(placed[i]->shards[0]).get())) {
        holds.overwrite(step.inputs[i].index);
        lost = true;
      }
    if (lost) holds.lose();
    std::int64_t outputs = 0;
    for (std::size_t k = 0; k < m; ++k) outputs += Type(far.types[k].dtype, shard_shape(k)).bytes();
    const std::string asked =
        "the results of the call, " + runtime::bytes_text(static_cast<double>(outputs)) +
        ", and temporaries, " +
        runtime::bytes_text(static_cast<double>(far.loaded->memory().temporaries)) +
        ", on each of " + std::to_string(devices.size()) +
        (devices.size() == 1 ? " device" : " devices");
    std::rethrow_exception(client_.device_error(name_, failure, asked, devices[0]));
  }
  std::vector<std::shared_ptr<runtime::Completion>> completions;
  completions.reserve(devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d)
    completions.push_back(client_.end_of_program(
        ends[d], name_, devices[d], runtime::profiler::row_of(backend_.number(), devices[d])));
  const std::shared_ptr<runtime::Completion> pending = runtime::all_of(std::move(completions));

  std::vector<ArrayDataPtr> out;
  out.reserve(m);
  std::vector<BufferPtr> buffers(devices.size());
  for (std::size_t k = 0; k < m; ++k) {
    auto made = std::make_shared<ArrayData>();
    made->type = far.types[k];
    made->layout = layout_of(k);
    made->pending = pending;
    const Type block(far.types[k].dtype, made->shard_shape());
    const auto bytes = static_cast<std::size_t>(block.bytes());
    for (std::size_t d = 0; d < devices.size(); ++d)
      buffers[d] = runtime::Buffer::remote(
          std::make_shared<RemoteBuffer>(client_, results[d * m + k], block, devices[d]), bytes);
    const std::vector<int>& order = made->layout->devices();
    made->shards.reserve(order.size());
    for (const int device : order) {
      const auto at = std::find(devices.begin(), devices.end(), device) - devices.begin();
      made->shards.push_back({buffers[static_cast<std::size_t>(at)], 0});
    }
    out.push_back(std::move(made));
  }
  return out;
}

runtime::MemoryPlan FarExecutable::memory() const {
  runtime::MemoryPlan all;
  for (const Type& t : program_->input_types()) all.arguments += t.bytes();
  for (const Type& t : program_->output_types()) all.outputs += t.bytes();
  for (const Step& s : steps_)
    all.temporaries = std::max(all.temporaries, s.far ? s.far->loaded->memory().temporaries
                                                      : s.near->memory().temporaries);
  return all;
}

runtime::PlannedMemory FarExecutable::planned() const {
  runtime::PlannedMemory all;
  for (const Step& s : steps_) {
    if (!s.far) continue;
    all.temporaries = std::max(all.temporaries, s.far->loaded->memory().temporaries);
    all.donated += s.far->loaded->reused();
  }
  return all;
}

std::string FarExecutable::schedule() const {
  std::string text;
  std::map<Var, std::string> made_at;  // by value: the place of the part that makes it
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& s = steps_[k];
    const std::string place = s.far ? backend_.platform() : "the host";
    text += steps_.size() > 1 ? "part " + std::to_string(k + 1) + " of " +
                                    std::to_string(steps_.size()) + ", on " + place
                              : "on " + place;
    text += s.far ? ", compiled by " + client_.platform_name() + " " + client_.platform_version() +
                        loops_text(s.loops) + " from:\n"
                  : ":\n";
    for (std::size_t i = 0; i < s.part.inputs.size(); ++i) {
      const auto from = made_at.find(s.part.inputs[i]);
      if (from == made_at.end() || from->second == place) continue;
      const Type t = s.part.program->type(s.part.program->inputs[i]);
      text += "  // receives " + to_string(Type(t.dtype, t.shape)) + ", " +
              runtime::bytes_text(static_cast<double>(t.bytes())) + ", from " + from->second + "\n";
    }
    for (const Var v : s.part.outputs) made_at[v] = place;
    text += s.far ? s.far->module : s.near->schedule();
  }
  return text.empty() ? "nothing to compute\n" : text;
}

std::int64_t FarExecutable::bytes() const {
  std::int64_t all = 2 * runtime::footprint(*program_);
  for (const Step& s : steps_)
    if (s.far) all += std::ssize(s.far->module);
  return all;
}

}  // namespace tessera::inline v0::platforms
