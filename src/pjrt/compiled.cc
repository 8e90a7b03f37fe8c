#include "pjrt/compiled.h"

#include "base/warning.h"
#include "explain/pages.h"
#include "ir/nested.h"
#include "ops/build.h"
#include "ops/control/nested.h"
#include "pjrt/callbacks.h"
#include "pjrt/error.h"
#include "pjrt/ports.h"
#include "runtime/backend.h"
#include "runtime/kept.h"
#include "spmd/region/shard_map.h"
#include "stablehlo/bytecode/exported.h"
#include "stablehlo/bytecode/read.h"
#include "stablehlo/emit/emit.h"
#include "stablehlo/import/import.h"

#include <tessera/error.h>

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tessera::inline v0::pjrt {

namespace {

constexpr std::string_view kEntry = "main";

stablehlo::ModuleSyntax read_module(std::string_view code) {
  auto source = std::make_shared<stablehlo::Source>();
  source->text = code;
  if (stablehlo::is_bytecode(source->text)) return stablehlo::read_bytecode(*source);
  std::vector<stablehlo::ModuleSyntax> modules = stablehlo::parse(source, {0, source->text.size()});
  if (modules.size() != 1)
    refuse("a program is one module, and here are " + std::to_string(modules.size()));
  return std::move(modules[0]);
}

// The shard_map that is the program's only equation, if it is; its body is what each device runs.
std::optional<spmd::ShardMap> region_of(const Program& program) {
  if (program.equations.size() != 1) return std::nullopt;
  const std::optional<Flow> flow = flow_of(program.equations[0]);
  if (!flow || flow->kind != Flow::Kind::region) return std::nullopt;
  return spmd::ShardMap(program.equations[0].attrs);
}
ProgramPtr program_of_device(const ProgramPtr& program) {
  const auto region = region_of(*program);
  return region ? region->body : program;
}

std::string fingerprint_of(std::string_view code, std::string_view options) {
  const XXH128_hash_t h = XXH3_128bits(code.data(), code.size());
  const XXH64_hash_t o = XXH3_64bits(options.data(), options.size());
  char text[49];
  std::snprintf(text, sizeof text, "%016llx%016llx%016llx",
                static_cast<unsigned long long>(h.high64), static_cast<unsigned long long>(h.low64),
                static_cast<unsigned long long>(o));
  return text;
}

// A call signals its end through its results, so a program without results gets one.
ProgramPtr with_a_result(const ProgramPtr& program) {
  if (!program->outputs.empty()) return program;
  Builder b(program->name);
  Values inputs;
  for (const Var v : program->inputs) inputs.push_back(b.input(program->type(v)));
  (void)b.inline_program(*program, inputs);
  return b.finish(Values{ops::constant(b, scalar_literal(DType::boolean, std::int64_t{1}))});
}

// Writes the page of a plan. The program runs without it, so the first page that cannot be written,
// for example because the disk is full, only causes a warning, and later failures are silent.
void write_page(Machine& machine, explain::Question question) {
  const std::string& folder = machine.options.explain;
  std::string problem = "the page of '" + question.name + "' is missing: ";
  try {
    explain::write_page(folder, std::move(question));
    return;
  } catch (const Error& e) {
    problem += e.problem();
  } catch (const std::exception& e) {
    problem += e.what();
  }
  if (machine.has_warned_of_pages.exchange(true)) return;
  warn(Message("explain")
           .problem(problem)
           .rule("programs run without their pages, and only the first that is missing is reported")
           .advice("a folder where files may be written, with room for them"));
}

std::vector<std::string> names_of(const std::vector<stablehlo::NamedType>& types) {
  std::vector<std::string> names;
  for (const stablehlo::NamedType& t : types) names.push_back(t.name);
  return names;
}

}  // namespace

std::shared_ptr<const Compiled> compile(const std::shared_ptr<Machine>& machine,
                                        std::string_view code, std::string_view options) {
  auto c = std::make_shared<Compiled>();
  c->machine = machine;
  c->code = code;
  c->options = options;
  c->fingerprint = fingerprint_of(code, options);
  c->settings = read_compile_options(options);
  const std::int64_t devices = c->settings.replicas * c->settings.partitions;
  if (c->settings.devices.empty()) {
    if (devices > static_cast<std::int64_t>(machine->devices.size()))
      refuse(std::to_string(c->settings.replicas) + " replicas of " +
             std::to_string(c->settings.partitions) + " partitions need " +
             std::to_string(devices) + " devices, and the client has " +
             std::to_string(machine->devices.size()));
    c->settings.devices.resize(static_cast<std::size_t>(devices));
    std::iota(c->settings.devices.begin(), c->settings.devices.end(), 0);
  }
  for (const std::int64_t d : c->settings.devices) (void)machine->device(d);

  const stablehlo::ModuleSyntax module = read_module(code);
  c->name = module.name.empty() ? std::string(kEntry) : module.name;
  const std::string entry(kEntry);
  const stablehlo::Signature signature = stablehlo::signature_of(module, entry);
  if (signature.open)
    refuse("the program '" + c->name +
           "' leaves dimensions open; give it arguments of fixed shape");
  if (c->settings.replicas > 1 && !signature.per_device)
    unimplemented("the program '" + c->name + "' is for " + std::to_string(c->settings.replicas) +
                  " replicas, and does not say what each of them does");
  place_arguments(*c, signature);
  stablehlo::ImportOptions how;
  how.devices = devices > 1 ? devices : 0;
  how.has_rows = true;
  PythonFunctions functions;
  how.host_function = [&](const stablehlo::HostCall& call) { return functions.add(call); };
  stablehlo::Imported imported = stablehlo::import_function(module, entry, how);
  c->calls_python = !functions.empty();
  for (const Literal& l : imported.constants)
    c->constants.push_back(runtime::on_host(Type(l.dtype, l.shape), l.bytes->data()));

  const ProgramPtr whole = with_a_result(imported.program);
  const Divided run = devices > 1 ? divided(*c, signature, whole) : Divided{whole, nullptr};
  if (devices > 1) functions.tell_placements(run.how ? run.how->mesh->devices : std::vector<int>());
  place_results(*c, signature, imported.outputs, *run.program);
  const Cost cost = ops::cost_of(*program_of_device(run.program));
  c->flops = cost.flops;
  c->bytes_accessed = cost.bytes;
  take_arguments(*c, signature);
  runtime::CompileOptions compiling;
  compiling.name = c->name;
  for (const Argument& a : c->arguments)
    if (!a.is_token) compiling.donated.push_back(a.is_taken);
  if (std::find(compiling.donated.begin(), compiling.donated.end(), true) ==
      compiling.donated.end())
    compiling.donated.clear();
  c->executable = runtime::compile(run.program, compiling);
  if (!machine->options.explain.empty())
    write_page(*machine, {c->name, whole, run.how, names_of(signature.inputs),
                          names_of(signature.outputs), compiling.donated});
  // Frees memory: programs stay cached for a while after their callers have deleted them.
  runtime::trim_kept();
  return c;
}

std::string Compiled::optimized_program() const {
  if (device_count() == 1 || calls_python) return code;
  const Program& program = executable->program();
  stablehlo::Exported exported;
  exported.name = name;
  exported.without_chlo = true;
  const auto region = region_of(program);
  if (region) exported.each_device_of = *region->device_mesh;
  try {
    return stablehlo::emit_module(region ? *region->body : program, exported);
  } catch (const TraceError&) {  // StableHLO cannot express the program
    return code;
  }
}

namespace {
constexpr std::string_view kSerialized = "tessera executable 0.1.0\n";
}  // namespace

std::string serialized(const Compiled& compiled) {
  if (compiled.calls_python)
    unimplemented("the program '" + compiled.name +
                  "' calls functions of this Python process, so it cannot be serialized");
  std::string bytes(kSerialized);
  for (const std::string* part : {&compiled.code, &compiled.options}) {
    const std::uint64_t n = part->size();
    bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
    bytes += *part;
  }
  return bytes;
}

std::shared_ptr<const Compiled> deserialized(const std::shared_ptr<Machine>& machine,
                                             std::string_view bytes,
                                             std::optional<std::string_view> options) {
  std::string_view parts[2];
  bool good = bytes.starts_with(kSerialized);
  if (good) bytes.remove_prefix(kSerialized.size());
  for (std::string_view& part : parts) {
    std::uint64_t n = 0;
    good = good && bytes.size() >= sizeof n;
    if (!good) break;
    std::memcpy(&n, bytes.data(), sizeof n);
    bytes.remove_prefix(sizeof n);
    good = n <= bytes.size();
    if (!good) break;
    part = bytes.substr(0, n);
    bytes.remove_prefix(n);
  }
  if (!good || !bytes.empty())
    refuse("these bytes are not an executable that this version of the plug-in has written");
  return compile(machine, parts[0], options.value_or(parts[1]));
}

}  // namespace tessera::inline v0::pjrt
