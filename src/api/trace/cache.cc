#include "api/trace/cache.h"

#include "api/trace/entry_store.h"
#include "api/trace/gather.h"
#include "api/trace/retraces.h"
#include "api/trace/scope_mesh.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/warning.h"
#include "runtime/input_names.h"

#include <tessera/jit.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

namespace {

void add_text(InlineVector<std::uint64_t, 16>& words, std::string_view text) {
  words.push_back(text.size());
  for (char c : text) words.push_back(static_cast<unsigned char>(c));
}

/// Reports that input `i` of the program had been donated.
[[noreturn]] void deleted_input(const Call& call, std::size_t i, const runtime::ArrayData& data,
                                const std::string& name) {
  const std::vector<std::size_t> leaves = present_leaves(call);
  runtime::deleted_message(name, data)
      .at(i < leaves.size() ? leaf_path(call, leaves[i]) : "an array that the function captures")
      .raise<TraceError>();
}

void check_donated(const std::vector<int>& donated, const Call& call, const std::string& name) {
  Message m(name);
  bool fits = true;
  const auto count = static_cast<int>(call.arg_count() + call.defaulted);
  for (int arg : donated)
    if (arg < 0 || arg >= count) {
      m.offender("donate names argument " + std::to_string(arg));
      fits = false;
    }
  if (!fits)
    m.problem("an argument to donate does not exist")
        .rule("there " + std::string(count == 1 ? "is " : "are ") + std::to_string(count) +
              (count == 1 ? " argument" : " arguments") + ", counted from 0")
        .advice("donate = {0} gives the first one away")
        .raise<TreeError>();
}

}  // namespace

struct CachedFunction::State {
  std::atomic<std::uint32_t> taker{0};  // the id that donated arrays record; made on first use
  std::atomic<std::size_t> traces{0};
  EntryStore entries;
  Retraces retraces;
};

CachedFunction::CachedFunction(std::string name, std::vector<int> donate, std::source_location loc)
    : name_(std::move(name)),
      donate_(std::move(donate)),
      loc_(loc),
      state_(std::make_shared<State>()) {}
CachedFunction::~CachedFunction() = default;

void CachedFunction::extend_key(InlineVector<std::uint64_t, 16>&) const {}
std::size_t CachedFunction::trace_count() const { return state_->traces.load(); }

namespace {

/// Marks the scope's mesh in a key; entries of axes begin with their kind instead.
constexpr std::uint64_t kOfScope = ~std::uint64_t{0};

void complete_key(Call& call) {
  for (const BoundAxis& a : AxisScope::bound()) {
    call.args.words.push_back(static_cast<std::uint64_t>(a.kind));
    call.args.words.push_back(static_cast<std::uint64_t>(a.size));
    add_text(call.args.words, a.name);
  }
  if (const Mesh& mesh = scope_mesh(); !mesh.empty()) {
    call.args.words.push_back(kOfScope);
    call.args.words.push_back(reinterpret_cast<std::uintptr_t>(mesh.id()));
  }
}

std::atomic<int>& captures_flag() {
  static std::atomic<int> flag{settings::flag("TESSERA_CHECK_CAPTURES")};
  return flag;
}
bool checks_captures() { return captures_flag().load(std::memory_order_relaxed) != 0; }

void check_captures(const CacheEntry& e, const TracedFunction& now) {
  const auto &before = e.function.captures, &after = now.captures;
  std::string what;
  if (!same_structure(*e.function.program, *now.program))
    what = "the function now traces to a different program";
  else
    for (std::size_t i = 0; i < before.size() && what.empty(); ++i)
      if (before[i].impl() != after[i].impl())
        what = "a captured array, " + visible_text(before[i].impl()->type) +
               ", is not the one in the compiled program";
  if (what.empty()) return;
  Message(e.name)
      .problem(what)
      .rule("what a function captures, and any state that it reads, is that of its first trace")
      .advice("pass what changes as an argument")
      .raise<TraceError>();
}

Outcome run_inline(Call& call, const CacheEntry& e) {
  const std::vector<Array> in = operands(call, e.function, e.name);
  return outcome(e.function, apply(e.function.program, in, {}));
}

}  // namespace

void set_check_captures(bool on) { captures_flag().store(on); }

std::shared_ptr<const CacheEntry> CachedFunction::find_or_build(Call& call) {
  extend_key(call.args.words);
  complete_key(call);
  if (auto e = state_->entries.find(call)) {
    if (checks_captures()) check_captures(*e, build(call));
    e->touch();
    return e;
  }
  return build_entry(call);
}

std::shared_ptr<const CacheEntry> CachedFunction::build_entry(Call& call) {
  check_donated(donate_, call, name_);
  const auto fresh = std::make_shared<const CacheEntry>(call, build(call), name_, donate_);
  state_->traces.fetch_add(1, std::memory_order_relaxed);
  if (!fresh->cacheable) return fresh;
  const std::shared_ptr<const CacheEntry> in = state_->entries.insert(fresh, call);
  if (in != fresh) return in;
  runtime::keep(fresh, fresh->bytes(),
                [state = std::weak_ptr(state_), hash = fresh->hash, which = fresh.get()] {
                  if (auto s = state.lock()) s->entries.drop(hash, which);
                });
  runtime::trim_kept();
  for (const Message& m : state_->retraces.note(fresh)) warn(m);
  return fresh;
}

Outcome CachedFunction::run(Call& call, std::uint64_t moved) {
  // A call that finds its program enters (Inside) only once. checks_captures() comes first because
  // it may read the settings for the first time, and their warnings must be handled outside.
  const bool checks = checks_captures();
  Outcome out;
  std::shared_ptr<const CacheEntry> e;
  if (!checks) {
    const Inside inside;
    extend_key(call.args.words);
    complete_key(call);
    e = state_->entries.find(call);
    if (e) {
      e->touch();
      out = run_entry(call, *e, moved);
    }
  }
  if (!e) {
    e = checks ? find_or_build(call) : build_entry(call);
    out = run_entry(call, *e, moved);
  }
  if (e->is_full()) state_->entries.drop(e->hash, e.get());
  runtime::trim_kept();
  return out;
}

std::uint32_t CachedFunction::taker() const {
  std::uint32_t t = state_->taker.load(std::memory_order_relaxed);
  if (t) return t;
  const std::string line = to_string(SourceLoc(loc_));
  const bool said = line.empty() || name_.find(line) != std::string::npos;
  t = runtime::taker(said ? name_ : name_ + " (" + line + ")");
  state_->taker.store(t, std::memory_order_relaxed);
  return t;
}

Outcome CachedFunction::run_entry(Call& call, const CacheEntry& e, std::uint64_t moved) const {
  check_bounds(call, e.function);
  // What has been gathered may share the memory of an argument, which could not be reused then.
  if (moved != 0 || !donate_.empty()) run_gathered();
  if (Trace::innermost() || !e.cacheable) return run_inline(call, e);
  e.need_devices(line_of(loc_));

  std::vector<runtime::ArrayDataPtr> data;
  data.reserve(e.function.program->inputs.size());
  // The inputs that are donated, and those of them worth a program that reuses their memory.
  std::vector<bool> given, reused;
  auto mark = [&](std::vector<bool>& which) {
    which.resize(e.function.program->inputs.size());
    which[data.size()] = true;
  };
  for (std::size_t arg = 0; arg < call.arg_count(); ++arg) {
    const bool asked =
        std::find(donate_.begin(), donate_.end(), static_cast<int>(arg)) != donate_.end();
    const bool free = arg < 64 && (moved >> arg & 1u);
    for (std::size_t i = call.arg_begin(arg); i < call.arg_ends[arg]; ++i) {
      const std::shared_ptr<ArrayImpl>& impl = call.args.leaves[i]->impl();
      if (!impl) continue;
      if (!impl->concrete()) return run_inline(call, e);  // reports what is wrong with it
      const runtime::ArrayDataPtr& d = data_of(*impl);
      if (asked || (free && impl.use_count() == 1 && d.use_count() == 1)) {
        mark(given);
        if (impl->type.bytes() >= CacheEntry::smallest_reuse) mark(reused);
      }
      data.push_back(d);
    }
  }
  data.insert(data.end(), e.capture_data.begin(), e.capture_data.end());

  runtime::Backend& on = platform_for(e.function.backend, data, name_);
  runtime::Holds holds(data, given, given.empty() ? 0 : taker());
  if (holds.refused()) deleted_input(call, *holds.refused(), *data[*holds.refused()], name_);
  const runtime::Executable& executable = e.executable(reused, on, data);
  std::optional<runtime::InputNames> named;
  if (e.input_names) named.emplace(e.input_names);
  std::vector<runtime::ArrayDataPtr> results = executable.run(data, holds);
  std::vector<Array> arrays;
  arrays.reserve(results.size());
  for (auto& r : results) arrays.push_back(make_concrete(std::move(r)));
  return outcome(e.function, std::move(arrays));
}

// The places are empty if any argument is abstract.
std::shared_ptr<const CallPlaces> CachedFunction::places(const Call& call, const CacheEntry& e) {
  auto out = std::make_shared<CallPlaces>();
  if (!e.cacheable) return out;
  std::vector<runtime::ArrayDataPtr> data;
  bool concrete = true;
  for (const std::size_t i : present_leaves(call)) {
    const ArrayImpl& a = *call.args.leaves[i]->impl();
    concrete = concrete && a.concrete();
    if (concrete) data.push_back(data_of(a));
  }
  if (!concrete) return out;
  data.insert(data.end(), e.capture_data.begin(), e.capture_data.end());
  out->places = places_of(data);
  if (!e.function.backend) out->backend = &runtime::backend_for(e.name, data);
  return out;
}

Outcome CachedFunction::run_only(Call& call, const CacheEntry& e) {
  extend_key(call.args.words);
  complete_key(call);
  if (e.matches(call)) return run_entry(call, e, 0);
  Message m(name_);
  m.problem("the arguments are not those that the program was compiled for");
  const TreeDef def = call.describe_args();
  if (!(def == e.args)) {
    m.offender("compiled for " + to_string(e.args) + ", called with " + to_string(def));
  } else {
    const std::vector<std::string> paths = def.paths("args");
    std::size_t next = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const Array& x = *call.args.leaves[i];
      const std::string got = x.is_empty() ? "empty" : visible_text(x.impl()->type);
      const std::string want = e.present[i] ? to_string(e.types[next++]) : "empty";
      if (got != want) m.offender(paths[i] + " is " + got + ", compiled for " + want);
    }
  }
  m.rule("a compiled program takes one structure, dtypes and shapes")
      .advice("call the jitted function itself")
      .raise<TraceError>();
}

}  // namespace tessera::inline v0::detail
