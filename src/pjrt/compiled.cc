#include "pjrt/compiled.h"

#include "api/trace/follow.h"
#include "base/warning.h"
#include "explain/pages.h"
#include "ir/nested.h"
#include "ops/build.h"
#include "ops/control/nested.h"
#include "pjrt/callbacks.h"
#include "pjrt/error.h"
#include "runtime/backend.h"
#include "runtime/kept.h"
#include "spmd/place/blocks.h"
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

// The mesh over which arrays lie whose shardings the module does not declare.
MeshRef common_mesh(const stablehlo::Signature& signature, std::int64_t devices) {
  for (const auto* list : {&signature.inputs, &signature.outputs})
    for (const stablehlo::NamedType& t : *list)
      if (t.sharding && t.sharding->mesh->size() == devices && !t.sharding->mesh->axes.empty())
        return t.sharding->mesh;
  return MeshRef(DeviceMesh{{{"device"}, {devices}}, {}});
}

// The mesh with its devices listed.
MeshRef with_devices(const MeshRef& mesh) {
  if (!mesh->devices.empty()) return mesh;
  DeviceMesh listed = *mesh;
  listed.devices.resize(static_cast<std::size_t>(mesh->size()));
  std::iota(listed.devices.begin(), listed.devices.end(), 0);
  return MeshRef(std::move(listed));
}

void lay_out(Port& port, const MeshRef& mesh, const Spec& spec) {
  port.layout = runtime::intern({with_devices(mesh), spec, true});
  port.block = Type(port.whole.dtype, block_shape(port.whole.shape, spec, *mesh));
  port.sharding = sharding_proto(*mesh, spec, port.whole.shape.rank());
}

// The declared sharding, if it is over all devices.
const stablehlo::DeclaredSharding* declared_over(const stablehlo::NamedType& t,
                                                 std::int64_t devices) {
  return t.sharding && t.sharding->mesh->size() == devices ? &*t.sharding : nullptr;
}

std::string proto_of(const stablehlo::DeclaredSharding& s, int rank) {
  const std::string_view how = s.combiner == Combiner::add ? "sum" : name_of(s.combiner);
  return sharding_proto(*s.mesh, s.spec, rank, s.unreduced, how);
}

// An array of terms has a dimension with a row for each device, which no block has.
void take_row(Port& port) { port.block.shape.erase(port.block.shape.begin()); }

// An array of which the devices have terms, or their own values, is laid out as the array of these,
// and callers see the declared sharding.
void lay_out_rows(Port& port, const stablehlo::DeclaredSharding& terms) {
  const stablehlo::DeclaredSharding rows = stablehlo::rows_of(terms);
  const int rank = port.whole.shape.rank();
  port.whole = stablehlo::rows_of(port.whole, terms);
  lay_out(port, rows.mesh, rows.spec);
  take_row(port);
  port.sharding = proto_of(terms, rank);
}

Port port_of(const Machine& machine, const stablehlo::NamedType& t) {
  Port port{&element_of(t.element)};
  port.whole = port.block = t.type;
  port.sharding = replicated_proto();
  port.memory = machine.memories.at(0)->description;
  port.order = order_of_layout(t.layout, t.type.shape.size());
  if (t.memory_kind.empty()) return port;
  const auto& kinds = machine.descriptions.at(0)->memories;
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const PJRT_MemoryDescription* m) {
    return m->kind == t.memory_kind;
  });
  if (kind == kinds.end()) refuse(t.name + " is in a memory of unknown kind, " + t.memory_kind);
  port.memory = *kind;
  return port;
}

Port token() {
  Port port{&element_of(std::string_view("token")), true};
  port.whole = port.block = Type(DType::boolean, Shape{0});
  port.sharding = replicated_proto();
  return port;
}

// How the arguments lie on the devices. What the module leaves open, every device has whole.
void place_arguments(Compiled& c, const stablehlo::Signature& signature) {
  const auto devices = static_cast<std::int64_t>(c.device_count());
  const MeshRef common = common_mesh(signature, devices);
  for (const std::int64_t input : signature.arguments) {
    if (input < 0) {
      c.arguments.push_back({token()});
      continue;
    }
    const stablehlo::NamedType& t = signature.inputs.at(static_cast<std::size_t>(input));
    Argument a{port_of(*c.machine, t)};
    const stablehlo::DeclaredSharding* const declared = declared_over(t, devices);
    if (devices > 1 && signature.per_device) {
      lay_out(a, common, Spec::cut(0, common->axes.at(0)));
      take_row(a);
    } else if (devices > 1 && declared && declared->has_terms()) {
      lay_out_rows(a, *declared);
    } else if (devices > 1) {
      lay_out(a, declared ? declared->mesh : common, declared ? declared->spec : Spec());
    }
    c.arguments.push_back(std::move(a));
  }
}

// The spec with which the program returns a result: that of the per-device program that makes it.
struct Placed {
  MeshRef mesh;
  Spec spec;
};
std::optional<Placed> place_of_result(const Program& program, const Compiled& c, std::size_t r) {
  const Var v = program.outputs.at(r);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (program.inputs[i] != v) continue;
    std::size_t input = 0;
    for (const Argument& a : c.arguments)
      if (!a.is_token && input++ == i && a.layout) return Placed{a.layout->mesh, a.layout->spec};
    return std::nullopt;
  }
  for (const Equation& e : program.equations) {
    const auto at = std::find(e.outputs.begin(), e.outputs.end(), v);
    if (at == e.outputs.end()) continue;
    const std::optional<Flow> flow = flow_of(e);
    if (!flow || flow->kind != Flow::Kind::region) return std::nullopt;
    const spmd::ShardMap map(e.attrs);
    return Placed{map.device_mesh,
                  map.out_specs.at(static_cast<std::size_t>(at - e.outputs.begin()))};
  }
  return std::nullopt;
}

// The mesh of the first per-device program in a program.
std::optional<MeshRef> mesh_of_regions(const Program& program) {
  for (const Equation& e : program.equations) {
    const std::optional<Flow> flow = flow_of(e);
    if (flow && flow->kind == Flow::Kind::region) return spmd::ShardMap(e.attrs).device_mesh;
  }
  return std::nullopt;
}

// What each device runs: the region of a program that is one, or the whole program.
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

// Whether each device has the same block of an array under both specs.
bool are_same_blocks(const Shape& whole, const MeshRef& mesh, const Spec& spec, const Placed& p) {
  const Shape block = block_shape(whole, spec, *mesh), other = block_shape(whole, p.spec, *p.mesh);
  if (!(block == other)) return false;
  const MeshRef listed = with_devices(mesh), there = with_devices(p.mesh);
  for (std::size_t at = 0; at < listed->devices.size(); ++at) {
    const auto found = std::find(there->devices.begin(), there->devices.end(), listed->devices[at]);
    if (found == there->devices.end() ||
        !(block_start(block, spec, *mesh, static_cast<std::int64_t>(at)) ==
          block_start(block, p.spec, *p.mesh, found - there->devices.begin())))
      return false;
  }
  return true;
}

// With undeclared results whole if one of the module's meshes cannot express how they are cut. The
// caller names their shardings by any of these meshes. Null if there are no such results.
std::shared_ptr<const spmd::ProgramShardings> with_results_on_all_meshes(
    const Compiled& c, const stablehlo::Signature& signature, const Program& program,
    const spmd::ProgramShardings& how) {
  auto asked = std::make_shared<spmd::ProgramShardings>(how);
  asked->outputs.resize(program.outputs.size());
  bool differs = false;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    if (signature.outputs[i].sharding) continue;
    const auto placed = place_of_result(program, c, i);
    if (!placed) continue;
    const MeshRef there = with_devices(placed->mesh);
    const auto expresses = [&](const MeshRef& mesh) {
      return spmd::same_cut_over(*mesh, *there, placed->spec).has_value();
    };
    if (std::all_of(signature.meshes.begin(), signature.meshes.end(), expresses)) continue;
    asked->outputs[i] = spmd::RequestedSpec{};
    differs = true;
  }
  return differs ? asked : nullptr;
}

void place_results(Compiled& c, const stablehlo::Signature& signature,
                   const std::vector<stablehlo::NamedType>& outputs, const Program& program) {
  const auto devices = static_cast<std::int64_t>(c.device_count());
  for (const std::int64_t output : signature.results) {
    if (output < 0) {
      c.results.push_back(token());
      continue;
    }
    const stablehlo::NamedType& t = signature.outputs.at(static_cast<std::size_t>(output));
    Port port = port_of(*c.machine, t);
    if (devices > 1) {
      const auto placed = place_of_result(program, c, static_cast<std::size_t>(output));
      const bool is_placed = placed && placed->mesh->size() == devices;
      const stablehlo::DeclaredSharding* const declared = declared_over(t, devices);
      const auto& own = outputs.at(static_cast<std::size_t>(output)).own_values;
      if (own) {
        lay_out_rows(port, *own);
        port.sharding = sharding_proto(*own->mesh, own->spec, t.type.shape.rank());
      } else if (declared && declared->has_terms()) {
        lay_out_rows(port, *declared);
      } else if (declared && declared->open.empty() && !signature.per_device) {
        // The program may return the result in other blocks, for example because the partitioner
        // cannot express the declared ones, and the caller relies on what it has declared.
        const Placed whole{declared->mesh, Spec()};
        lay_out(port, declared->mesh, declared->spec);
        port.is_moved = !are_same_blocks(port.whole.shape, declared->mesh, declared->spec,
                                         is_placed ? *placed : whole);
      } else {
        if (is_placed) lay_out(port, placed->mesh, placed->spec);
        if (signature.per_device) take_row(port);
      }
      // The caller compares what it has declared with what it gets, also what a spec leaves out.
      if (declared && !declared->unreduced.empty())
        port.sharding = proto_of(*declared, t.type.shape.rank());
    }
    c.results.push_back(std::move(port));
  }
}

// How the program is partitioned for arguments in these places; null if it runs as it is. Results
// that are declared as unreduced come out as arrays of terms.
std::shared_ptr<const spmd::ProgramShardings> cutting_of(const Compiled& c, const Program& program,
                                                         const stablehlo::Signature& signature,
                                                         const detail::Places& places) {
  const auto devices = static_cast<std::int64_t>(c.device_count());
  auto how = detail::follow(program, nullptr, places, c.name);
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const stablehlo::DeclaredSharding* const declared =
        declared_over(signature.outputs[i], devices);
    if (!declared || !declared->has_terms()) continue;
    spmd::ProgramShardings asked;
    if (how)
      asked = *how;
    else
      asked.mesh = mesh_of_regions(program).value_or(with_devices(declared->mesh));
    const auto rows = spmd::same_cut_over(*asked.mesh, *with_devices(declared->mesh),
                                          stablehlo::rows_of(*declared).spec);
    if (!rows)
      unimplemented("result " + std::to_string(i) + " of the program '" + c.name +
                    "' is unreduced along axes of another mesh than the program's");
    Spec::Dims dims = rows->dims();
    asked.outputs.resize(program.outputs.size());
    asked.outputs[i] = spmd::RequestedSpec{
        Spec({dims.begin() + 1, dims.end()}), {}, dims.at(0), declared->combiner};
    how = detail::follow(program, &asked, places, c.name);
  }
  return how;
}

// An argument is taken if a result is declared to use its memory. If the caller leaves open which
// one, it is taken if there is a result of its size that no other argument serves; else it stays.
void take_arguments(Compiled& c, const stablehlo::Signature& signature) {
  std::vector<bool> served(c.results.size());
  const auto type = [&](std::size_t i) -> const stablehlo::NamedType* {
    const std::int64_t input = signature.arguments[i];
    return input < 0 ? nullptr : &signature.inputs[static_cast<std::size_t>(input)];
  };
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const stablehlo::NamedType* t = type(i);
    if (!t || !t->result) continue;
    c.arguments[i].is_taken = true;
    if (static_cast<std::size_t>(*t->result) < served.size())
      served[static_cast<std::size_t>(*t->result)] = true;
  }
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const stablehlo::NamedType* t = type(i);
    if (!t || t->result || !t->donated) continue;
    for (std::size_t r = 0; r < c.results.size() && !c.arguments[i].is_taken; ++r) {
      const Port& result = c.results[r];
      if (served[r] || result.is_token || result.block.bytes() != c.arguments[i].block.bytes())
        continue;
      served[r] = c.arguments[i].is_taken = true;
    }
  }
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

// A call whose program has no results still has an end, so every program has one.
ProgramPtr with_a_result(const ProgramPtr& program) {
  if (!program->outputs.empty()) return program;
  Builder b(program->name);
  Values inputs;
  for (const Var v : program->inputs) inputs.push_back(b.input(program->type(v)));
  (void)b.inline_program(*program, inputs);
  return b.finish(Values{ops::constant(b, scalar_literal(DType::boolean, std::int64_t{1}))});
}

// Writes the page of a plan. A program needs no page, so one that cannot be written, because the
// disk is full for example, is only reported, and the next ones fail in silence.
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
  ProgramPtr program = whole;
  std::shared_ptr<const spmd::ProgramShardings> cut;
  if (devices > 1) {
    detail::Places places;
    for (const Argument& a : c->arguments)
      if (!a.is_token) places.push_back(a.layout->plain ? a.layout->plain : a.layout);
    places.resize(program->inputs.size());
    cut = cutting_of(*c, *program, signature, places);
    if (cut) {
      program = spmd::partition_program(whole, *cut);
      if (auto other = with_results_on_all_meshes(*c, signature, *program, *cut)) {
        cut = std::move(other);
        program = spmd::partition_program(whole, *cut);
      }
    }
    functions.tell_placements(cut ? cut->mesh->devices : std::vector<int>());
  }
  place_results(*c, signature, imported.outputs, *program);
  const Cost cost = ops::cost_of(*program_of_device(program));
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
  c->executable = runtime::compile(program, compiling);
  if (!machine->options.explain.empty())
    write_page(*machine, {c->name, whole, cut, names_of(signature.inputs),
                          names_of(signature.outputs), compiling.donated});
  // Programs stay in memory for a while after their callers have deleted them.
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
  } catch (const TraceError&) {  // it does something for which StableHLO has no form
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
