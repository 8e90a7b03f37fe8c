#include "api/trace/cache.h"

#include "base/process.h"
#include "base/settings.h"
#include "base/warning.h"
#include "runtime/footprint.h"

#include <tessera/jit.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <unordered_map>

namespace tessera::inline v0::detail {

// -------------------------------------------------------------------------------------------------
// one entry

CacheEntry::~CacheEntry() {
  for (Version* v = versions_.load(); v;) {
    Version* next = v->next;
    delete v;
    v = next;
  }
}

const runtime::Executable& CacheEntry::executable(const std::vector<bool>& donated) const {
  auto find = [&](Version* v) {
    while (v && v->donated != donated) v = v->next;
    return v;
  };
  if (Version* v = find(versions_.load(std::memory_order_acquire))) return *v->exe;
  Locked lock(compiling_);
  if (Version* v = find(versions_.load(std::memory_order_acquire))) return *v->exe;
  runtime::CompileOptions options;
  options.name = name;
  options.donated = donated;
  auto* v = new Version{donated, runtime::compile(function.program, options), versions_.load()};
  versions_.store(v, std::memory_order_release);
  return *v->exe;
}

std::int64_t CacheEntry::bytes() const {
  const std::size_t n = sizeof *this + words.size() * sizeof(std::uint64_t) +
                        types.size() * sizeof(Type) + args.nodes().size() * sizeof(TreeDef::Node);
  return static_cast<std::int64_t>(n) + runtime::footprint(*function.program);
}

// -------------------------------------------------------------------------------------------------
// the key

namespace {

void add_text(InlineVector<std::uint64_t, 16>& words, std::string_view text) {
  words.push_back(text.size());
  for (char c : text) words.push_back(static_cast<unsigned char>(c));
}

std::uint64_t hash_words(const InlineVector<std::uint64_t, 16>& words) {
  std::uint64_t h = 0x9e3779b97f4a7c15u;
  for (std::uint64_t w : words) h = (h ^ w) * 0xff51afd7ed558ccdu, h ^= h >> 29;
  return h;
}

bool matches(const CacheEntry& e, const Call& call) {
  const auto& words = call.args.words;
  if (e.words.size() != words.size() || e.present.size() != call.args.leaves.size()) return false;
  if (std::memcmp(e.words.data(), words.data(), words.size() * sizeof(std::uint64_t)) != 0)
    return false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < e.present.size(); ++i) {
    const ArrayImpl* impl = call.args.leaves[i]->impl().get();
    if ((impl != nullptr) != (e.present[i] != 0)) return false;
    if (impl && !(impl->type == e.types[next++])) return false;
  }
  return true;
}

/// Where two structures differ in static values only, the first such node; none where they differ
/// otherwise.
std::optional<std::size_t> only_static_difference(const TreeDef& a, const TreeDef& b) {
  const auto &x = a.nodes(), &y = b.nodes();
  if (x.size() != y.size()) return std::nullopt;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    if (x[i].kind != NodeKind::fixed || y[i].kind != NodeKind::fixed || x[i].label != y[i].label)
      return std::nullopt;
    if (!first) first = i;
  }
  return first;
}

constexpr int kRetracesBeforeWarning = 8;
constexpr std::int64_t kLargeStatics = std::int64_t{64} << 10;

/// Bytes of the static values of a subtree. A StaticArray is two of them: what identifies it and
/// its size.
std::int64_t static_bytes(const TreeDef& def, std::size_t root) {
  const auto& nodes = def.nodes();
  std::int64_t bytes = 0;
  for (std::size_t i = root; i < nodes[root].end; ++i) {
    if (nodes[i].kind == NodeKind::record && nodes[i].text == "StaticArray" &&
        nodes[i].children == 2 && nodes[i + 2].label == "bytes") {
      bytes += std::strtoll(nodes[i + 2].text.c_str(), nullptr, 10);
      i = nodes[i].end - 1;
    } else if (nodes[i].kind == NodeKind::fixed) {
      bytes += std::max<std::int64_t>(8, static_cast<std::int64_t>(nodes[i].text.size()));
    }
  }
  return bytes;
}
/// Below this many bytes reusing an argument's memory is not worth a program of its own.
constexpr std::int64_t kSmallestReuse = 4096;

/// Says of input `i` of the program that it had been given away.
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

// -------------------------------------------------------------------------------------------------
// the cache

struct CachedFunction::State {
  std::atomic<std::uint32_t> taker{0};  // what arrays given away remember; made on first use
  std::atomic<std::size_t> traces{0};
  std::mutex mutex;
  std::shared_ptr<const CacheEntry> newest;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const CacheEntry>> entries;
  /// What was made last, for the warning of statics.
  std::deque<std::weak_ptr<const CacheEntry>> recent;
  bool warned = false, warned_of_size = false;

  std::shared_ptr<const CacheEntry> find(const Call& call) {
    std::shared_ptr<const CacheEntry> last;
    {
      Locked lock(mutex);
      last = newest;
    }
    if (last && matches(*last, call)) return last;
    const std::uint64_t hash = hash_words(call.args.words);
    Locked lock(mutex);
    return find(hash, call);
  }
  /// Under the lock.
  std::shared_ptr<const CacheEntry> find(std::uint64_t hash, const Call& call) const {
    auto [begin, end] = entries.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (matches(*it->second, call)) return it->second;
    return nullptr;
  }
  /// Takes it in, unless another thread was first; gives what is in, and the warnings due, which
  /// wait for the lock to be let go: what handles them may call the function.
  std::shared_ptr<const CacheEntry> insert(const std::shared_ptr<const CacheEntry>& fresh,
                                           const Call& call, std::vector<Message>& warnings) {
    Locked lock(mutex);
    if (auto e = find(fresh->hash, call)) return e;
    warn_of_size(*fresh, warnings);
    warn_of_statics(*fresh, warnings);
    recent.push_back(fresh);
    if (recent.size() > kRemembered) recent.pop_front();
    entries.emplace(fresh->hash, fresh);
    return newest = fresh;
  }
  void drop(std::uint64_t hash, const CacheEntry* which) {
    std::shared_ptr<const CacheEntry> gone[2];  // goes after the lock, with what the user lent
    Locked lock(mutex);
    if (newest.get() == which) gone[0] = std::move(newest);
    auto [begin, end] = entries.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (it->second.get() == which) {
        gone[1] = std::move(it->second);
        entries.erase(it);
        return;
      }
  }

  static constexpr std::size_t kRemembered = 32;

  void warn_of_size(const CacheEntry& fresh, std::vector<Message>& warnings) {
    if (warned_of_size) return;
    const auto& nodes = fresh.args.nodes();
    for (std::size_t arg = 1; arg < nodes.size(); arg = nodes[arg].end) {
      const std::int64_t bytes = static_bytes(fresh.args, arg);
      if (bytes <= kLargeStatics) continue;
      warned_of_size = true;
      warnings.push_back(
          Message(fresh.name)
              .problem("an argument has " + std::to_string(bytes) + " bytes of static values")
              .rule("static values are part of the key: every call reads and compares them, and "
                    "each content is traced and compiled anew")
              .at(fresh.args.path(arg, "args"))
              .advice("make it an Array, unless the program has to depend on its values"));
    }
  }

  void warn_of_statics(const CacheEntry& fresh, std::vector<Message>& warnings) {
    if (warned) return;
    int alike = 1;
    std::shared_ptr<const CacheEntry> other;
    for (const auto& weak : recent)
      if (auto e = weak.lock())
        if (e->types == fresh.types && only_static_difference(e->args, fresh.args))
          ++alike, other = std::move(e);
    if (alike < kRetracesBeforeWarning) return;
    warned = true;
    const std::size_t node = *only_static_difference(other->args, fresh.args);
    warnings.push_back(
        Message(fresh.name)
            .problem("traced and compiled " + std::to_string(alike) +
                     " times for arguments that differ in static values only")
            .rule("a C++ number, enum or string is part of the key: each value of it is traced "
                  "and compiled anew")
            .at(fresh.args.path(node, "args") + ", " + other->args.nodes()[node].text +
                " before and " + fresh.args.nodes()[node].text + " now")
            .advice("make it an Array, unless the program has to depend on its value"));
  }
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

void complete_key(Call& call) {
  for (const BoundAxis& a : AxisScope::bound()) {
    call.args.words.push_back(static_cast<std::uint64_t>(a.kind));
    call.args.words.push_back(static_cast<std::uint64_t>(a.size));
    add_text(call.args.words, a.name);
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
    what = "the function traces to another program than the one in use";
  else
    for (std::size_t i = 0; i < before.size() && what.empty(); ++i)
      if (before[i].impl() != after[i].impl())
        what = "a captured array, " + visible_text(before[i].impl()->type) +
               ", is another one than in the program in use";
  if (what.empty()) return;
  Message(e.name)
      .problem(what)
      .rule("what a function captures, and any state that it reads, is that of its first trace")
      .advice("pass what changes as an argument")
      .raise<TraceError>();
}

std::shared_ptr<CacheEntry> new_entry(const Call& call, TracedFunction f, const std::string& name) {
  auto e = std::make_shared<CacheEntry>();
  e->words.assign(call.args.words.begin(), call.args.words.end());
  e->hash = hash_words(call.args.words);
  for (const Array* x : call.args.leaves) e->present.push_back(!x->is_empty());
  e->types = leaf_types(call);
  e->function = std::move(f);
  e->args = call.describe_args();
  e->name = name;
  for (const Array& c : e->function.captures) {
    if (c.is_concrete())
      e->capture_data.push_back(data_of(*c.impl()));
    else
      e->cacheable = false;
  }
  return e;
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
  if (auto e = state_->find(call)) {
    if (checks_captures()) check_captures(*e, build(call));
    e->touch();
    return e;
  }
  return build_entry(call);
}

std::shared_ptr<const CacheEntry> CachedFunction::build_entry(Call& call) {
  check_donated(donate_, call, name_);
  const std::shared_ptr<const CacheEntry> fresh = new_entry(call, build(call), name_);
  state_->traces.fetch_add(1, std::memory_order_relaxed);
  if (!fresh->cacheable) return fresh;
  std::vector<Message> warnings;
  std::shared_ptr<const CacheEntry> in = state_->insert(fresh, call, warnings);
  if (in != fresh) return in;
  runtime::keep(fresh, fresh->bytes(),
                [state = std::weak_ptr(state_), hash = fresh->hash, which = fresh.get()] {
                  if (auto s = state.lock()) s->drop(hash, which);
                });
  runtime::trim_kept();
  for (const Message& m : warnings) warn(m);
  return fresh;
}

Outcome CachedFunction::run(Call& call, std::uint64_t moved) {
  // A call that finds its program comes in once; asking whether captures are checked is also the
  // first look at the settings, whose warnings are not to be handled inside.
  const bool checks = checks_captures();
  Outcome out;
  bool found = false;
  if (!checks) {
    const Inside inside;
    extend_key(call.args.words);
    complete_key(call);
    if (auto e = state_->find(call)) {
      e->touch();
      out = run_entry(call, *e, moved);
      found = true;
    }
  }
  if (!found) out = run_entry(call, checks ? *find_or_build(call) : *build_entry(call), moved);
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
  if (Trace::innermost() || !e.cacheable) return run_inline(call, e);

  std::vector<runtime::ArrayDataPtr> data;
  data.reserve(e.function.program->inputs.size());
  // What is given away, and of that what is worth a program that writes over it.
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
      if (!impl->concrete()) return run_inline(call, e);  // says what is wrong with it
      const runtime::ArrayDataPtr& d = data_of(*impl);
      if (asked || (free && impl.use_count() == 1 && d.use_count() == 1)) {
        mark(given);
        if (impl->type.bytes() >= kSmallestReuse) mark(reused);
      }
      data.push_back(d);
    }
  }
  data.insert(data.end(), e.capture_data.begin(), e.capture_data.end());

  const runtime::Executable& executable = e.executable(reused);
  runtime::Holds holds(data, given, given.empty() ? 0 : taker());
  if (holds.refused()) deleted_input(call, *holds.refused(), *data[*holds.refused()], name_);
  std::vector<runtime::ArrayDataPtr> results = executable.run(data, holds);
  std::vector<Array> arrays;
  arrays.reserve(results.size());
  for (auto& r : results) arrays.push_back(make_concrete(std::move(r)));
  return outcome(e.function, std::move(arrays));
}

Outcome CachedFunction::run_only(Call& call, const CacheEntry& e) {
  extend_key(call.args.words);
  complete_key(call);
  if (matches(e, call)) return run_entry(call, e, 0);
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
