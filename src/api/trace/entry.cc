#include "api/trace/entry.h"

#include "api/trace/scope_mesh.h"

#include "base/process.h"
#include "processes/processes.h"
#include "runtime/footprint.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::detail {

namespace {

std::shared_ptr<const std::vector<std::string>> names_of_inputs(const CacheEntry& e) {
  auto names = std::make_shared<std::vector<std::string>>();
  const std::vector<std::string> paths = e.args.paths("args");
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (e.present[i]) names->push_back(paths[i]);
  for (std::size_t i = 0; i < e.function.captures.size(); ++i)
    names->push_back("capture " + std::to_string(i));
  return names;
}

}  // namespace

CacheEntry::CacheEntry(const Call& call, TracedFunction f, const std::string& called,
                       const std::vector<int>& donate)
    : hash(hash_of(call)),
      words(call.args.words.begin(), call.args.words.end()),
      scope(scope_mesh()),
      types(leaf_types(call)),
      function(std::move(f)),
      args(call.describe_args()),
      name(called) {
  const bool is_named = function.backend != nullptr;  // by the function's own mesh or devices
  function.backend = platform_of_meshes(*function.program, function.backend, name);
  if (function.backend && !is_named) usual = &runtime::default_backend();
  for (const Array* x : call.args.leaves) present.push_back(!x->is_empty());
  for (const Array& c : function.captures) {
    if (c.is_concrete())
      capture_data.push_back(data_of(*c.impl()));
    else
      cacheable = false;
  }
  if (processes::count() > 1) input_names = names_of_inputs(*this);
  std::size_t input = 0;
  for (std::size_t arg = 0; arg < call.arg_count(); ++arg)
    for (std::size_t i = call.arg_begin(arg); i < call.arg_ends[arg]; ++i) {
      if (present[i] == 0) continue;
      const std::size_t at = input++;
      if (types[at].bytes() < smallest_reuse ||
          std::find(donate.begin(), donate.end(), static_cast<int>(arg)) == donate.end())
        continue;
      donated.resize(function.program->inputs.size());
      donated[at] = true;
    }
}

CacheEntry::~CacheEntry() {
  for (Version* v = versions_.load(); v;) {
    Version* next = v->next;
    delete v;
    v = next;
  }
}

std::uint64_t CacheEntry::hash_of(const Call& call) {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (std::uint64_t w : call.args.words) h = (h ^ w) * 0xff51afd7ed558ccdu, h ^= h >> 29;
  return h;
}

bool CacheEntry::matches(const Call& call) const {
  if (usual && usual != &runtime::default_backend()) return false;
  const auto& key = call.args.words;
  if (words.size() != key.size() || present.size() != call.args.leaves.size()) return false;
  if (std::memcmp(words.data(), key.data(), key.size() * sizeof(std::uint64_t)) != 0) return false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < present.size(); ++i) {
    const ArrayImpl* impl = call.args.leaves[i]->impl().get();
    if ((impl != nullptr) != (present[i] != 0)) return false;
    if (impl && !(impl->type == types[next++])) return false;
  }
  return true;
}

template <class Lie, class MakePlaces>
const runtime::Executable& CacheEntry::version(const Lie& lie, const std::vector<bool>& donated,
                                               runtime::Backend& on,
                                               const MakePlaces& places) const {
  // On the CPU, modes exist only for tests, and compiled programs are used in every mode.
  const unsigned mode = on.number() == 0 ? 0 : on.mode();
  auto find = [&](Version* v) {
    while (v && (v->backend != &on || v->mode != mode || v->donated != donated || !lie(v->places)))
      v = v->next;
    return v;
  };
  if (Version* v = find(versions_.load(std::memory_order_acquire))) return *v->exe;
  Locked lock(compiling_);
  if (Version* v = find(versions_.load(std::memory_order_acquire))) return *v->exe;
  runtime::CompileOptions options;
  options.name = name;
  options.donated = donated;
  Places at = places();
  const auto how = cutting(at);
  if (how) detail::need_devices(name, *how, {});
  ProgramPtr program = function.program;
  if (how)
    program = on.partitions() && spmd::can_be_left_whole(*program, *how)
                  ? spmd::constrained(*program, *how)
                  : spmd::partition_program(program, *how);
  auto* v = new Version{
      donated, &on, mode, std::move(at), runtime::compile(program, options, on), versions_.load()};
  versions_.store(v, std::memory_order_release);
  count_.fetch_add(1, std::memory_order_relaxed);
  return *v->exe;
}

const runtime::Executable& CacheEntry::executable(
    const std::vector<bool>& donated, runtime::Backend& on,
    std::span<const runtime::ArrayDataPtr> inputs) const {
  return version([&](const Places& places) { return lie_at(places, inputs); }, donated, on,
                 [&] { return places_of(inputs); });
}

const runtime::Executable& CacheEntry::executable(const CallPlaces& at) const {
  return version([&](const Places& places) { return places == at.places; }, donated, platform(at),
                 [&] { return at.places; });
}

runtime::Backend& CacheEntry::platform(const CallPlaces& at) const {
  if (function.backend) return *function.backend;
  return at.backend ? *at.backend : runtime::default_backend();
}

std::shared_ptr<const spmd::ProgramShardings> CacheEntry::cutting(const Places& places) const {
  return follow(*function.program, function.cutting.get(), places, name);
}

void CacheEntry::need_devices(const SourceLoc& loc) const {
  if (function.cutting) detail::need_devices("jit", *function.cutting, loc);
}

std::int64_t CacheEntry::bytes() const {
  const std::size_t n = sizeof *this + words.size() * sizeof(std::uint64_t) +
                        types.size() * sizeof(Type) + args.nodes().size() * sizeof(TreeDef::Node);
  return static_cast<std::int64_t>(n) + runtime::footprint(*function.program);
}

}  // namespace tessera::inline v0::detail
