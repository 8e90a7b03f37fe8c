#include "base/settings.h"

#include "base/warning.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>

extern char** environ;

namespace tessera::inline v0::settings {
namespace {

using Kind = Variable::Kind;

std::string_view text_or_nothing(const char* value) { return value ? value : ""; }

std::string_view value_of(const Variable& v) {
  const bool names_files = v.kind == Kind::path || v.kind == Kind::absolute_path;
  return text_or_nothing(names_files ? ::secure_getenv(v.name) : std::getenv(v.name));
}

const Variable& find(const char* name) {
  for (const Variable& v : variables())
    if (std::strcmp(v.name, name) == 0) return v;
  throw InternalError(std::string(name) + " is in no list of settings");
}

std::optional<std::int64_t> parse(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string one_of(const std::vector<std::string_view>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i)
    text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
  return text;
}

std::string rule(const Variable& v) {
  switch (v.kind) {
    case Kind::flag: return "0 or 1";
    case Kind::number:
      return "an integer from " + std::to_string(v.least) + " to " + std::to_string(v.most);
    case Kind::choice: return one_of(v.choices);
    case Kind::list: return "names with commas between them, of " + one_of(v.choices);
    case Kind::path: return "a path";
    case Kind::absolute_path:
      return "an absolute path" + (v.choices.empty() ? "" : ", or " + one_of(v.choices));
    case Kind::assignments: return "names and values, such as " + std::string(v.example);
  }
  return {};
}

struct Mistake {
  const Variable* variable;
  std::string value, what;
};

[[noreturn]] void raise(const std::vector<Mistake>& mistakes) {
  const InUserCode outside;  // the function that queries first is not at fault
  const Mistake& first = mistakes[0];
  if (mistakes.size() == 1)
    Message(first.variable->name)
        .problem("'" + first.value + "' is " + first.what)
        .rule(rule(*first.variable))
        .advice(first.variable->name + std::string("=") + first.variable->example +
                " in the environment")
        .raise<Error>();
  Message m("environment");
  m.problem(std::to_string(mistakes.size()) + " variables are set to what they do not take");
  for (const Mistake& x : mistakes)
    m.offender(x.variable->name + ("='" + x.value) + "' is " + x.what + ": it takes " +
               rule(*x.variable));
  m.rule("every TESSERA_ variable is read before the first computation")
      .advice("unset them, or see docs/debugging.md for what each does")
      .raise<Error>();
}

// The Levenshtein distance: the number of letters to add, drop or change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = before + (a[i] != b[j]);
      before = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, before + 1});
    }
  }
  return row[b.size()];
}

// Unknown names may belong to programs built on the library; names close to ours are typos.
void warn_of_slips() {
  const InUserCode outside;
  constexpr std::string_view prefix = "TESSERA_";
  for (char** e = environ; e && *e; ++e) {
    const std::string_view entry = *e;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(prefix)) continue;
    const Variable* nearest = nullptr;
    std::size_t least = 0;
    for (const Variable& v : variables()) {
      const std::size_t d = distance(name.substr(prefix.size()), v.name + prefix.size());
      if (!nearest || d < least) nearest = &v, least = d;
    }
    if (least == 0 || least > std::max<std::size_t>(2, (name.size() - prefix.size()) / 4)) continue;
    warn(Message("environment")
             .problem("there is no setting " + std::string(name))
             .rule("unknown settings are ignored")
             .advice(std::string(nearest->name) + "=" + nearest->example + " is one"));
  }
}

void check_all() {
  std::vector<Mistake> mistakes;
  for (const Variable& v : variables()) {
    const std::string_view value = value_of(v);
    if (value.empty()) continue;
    if (std::string what = complaint(v, value); !what.empty())
      mistakes.push_back({&v, std::string(value), std::move(what)});
  }
  if (!mistakes.empty()) raise(mistakes);
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) warn_of_slips();
}

// Returns the value of a variable, after checking all variables once.
std::string_view checked(const char* name) {
  static std::atomic<bool> all_checked{false};
  if (!all_checked.load(std::memory_order_acquire)) {
    check_all();
    all_checked.store(true, std::memory_order_release);
  }
  const Variable& v = find(name);
  const std::string_view value = value_of(v);
  if (value.empty()) return value;
  if (std::string what = complaint(v, value); !what.empty())
    raise({{&v, std::string(value), std::move(what)}});
  return value;
}

}  // namespace

const std::vector<Variable>& variables() {
  static const auto& all = *new std::vector<Variable>{
      {"TESSERA_DEVICES", Kind::number, 1, 4096, {}, "4"},
      {"TESSERA_PLATFORM", Kind::absolute_path, 0, 0, {"cpu", "cuda", "rocm", "tpu"}, "cuda"},
      {"TESSERA_PLATFORM_OPTIONS", Kind::assignments, 0, 0, {}, "preallocate=false"},
      {"TESSERA_FACTORISATIONS", Kind::choice, 0, 0, {"platform", "host"}, "host"},
      {"TESSERA_EAGER", Kind::choice, 0, 0, {"by_platform", "gathered", "at_once"}, "gathered"},
      {"TESSERA_WORKERS", Kind::number, 1, 1024, {}, "2"},
      {"TESSERA_ISOLATE", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_EVALUATE", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_SYNC", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_POISON", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_FLUSH_DENORMAL", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_CHECK_CAPTURES", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_DISABLE_PASSES",
       Kind::list,
       0,
       0,
       {"cancel", "fold", "join_slices", "ends", "decompose", "small_branches", "hoist", "cse",
        "dead_code", "joint_products", "operands", "updates", "fuse", "stretches", "nests",
        "panels", "forms"},
       "cse,fold"},
      {"TESSERA_GATHER_READS", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_COMPARE", Kind::choice, 0, 0, {"off", "small", "all"}, "all"},
      {"TESSERA_LOG", Kind::list, 0, 0, {"progress"}, "progress"},
      {"TESSERA_DUMP_PASSES", Kind::path, 0, 0, {}, "passes"},
      {"TESSERA_DUMP_LOOPS", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_DUMP_IR", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_UNOPTIMIZED", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_ISA",
       Kind::choice,
       0,
       0,
       {"amx", "avx512", "avx2", "sse4", "amx_emulated"},
       "avx2"},
      {"TESSERA_APART", Kind::flag, 0, 0, {}, "1"},
      {"TESSERA_TRANSPORT", Kind::absolute_path, 0, 0, {"none"}, "/usr/lib/libtessera_mpi.so"},
      {"TESSERA_CACHE", Kind::choice, 0, 0, {"on", "off", "1", "0"}, "off"},
      {"TESSERA_CACHE_DIR", Kind::absolute_path, 0, 0, {}, "/tmp/kernels"},
      {"TESSERA_CACHE_MB", Kind::number, 0, std::int64_t{1} << 40, {}, "256"},
      {"TESSERA_PROGRAM_CACHE_MB", Kind::number, 0, std::int64_t{1} << 40, {}, "512"},
      {"TESSERA_OPERAND_CACHE_MB", Kind::number, 0, std::int64_t{1} << 40, {}, "4096"},
  };
  return all;
}

std::string complaint(const Variable& v, std::string_view value) {
  switch (v.kind) {
    case Kind::flag: return value == "0" || value == "1" ? "" : "neither 0 nor 1";
    case Kind::number: {
      const auto n = parse(value);
      if (!n) return "no integer";
      return *n < v.least ? "too small" : *n > v.most ? "too large" : "";
    }
    case Kind::choice:
      return std::find(v.choices.begin(), v.choices.end(), value) == v.choices.end()
                 ? "none of its values"
                 : "";
    case Kind::list:
      for (std::string_view rest = value; !rest.empty();) {
        const std::size_t comma = rest.find(',');
        const std::string_view name = rest.substr(0, comma);
        if (!name.empty() && std::find(v.choices.begin(), v.choices.end(), name) == v.choices.end())
          return "not a list of its names: there is no '" + std::string(name) + "'";
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
      }
      return "";
    case Kind::path: return "";
    case Kind::absolute_path:
      return value.starts_with('/') || std::ranges::count(v.choices, value) ? ""
                                                                            : "no absolute path";
    case Kind::assignments:
      for (std::string_view rest = value; !rest.empty();) {
        const std::size_t comma = rest.find(',');
        if (const std::size_t equals = rest.substr(0, comma).find('=');
            equals == std::string_view::npos || equals == 0)
          return "no list of assignments";
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
      }
      return "";
  }
  return "";
}

std::string environment(const char* name) {
  return std::string(text_or_nothing(::secure_getenv(name)));
}

bool flag(const char* name) {
  // Every call of a program asks for some flags, which are rarely set, so an unset one is not
  // searched for in the list. tests/check_docs.py checks that the list has every name asked for.
  return std::getenv(name) && checked(name) == "1";
}
std::optional<std::int64_t> number(const char* name) { return parse(checked(name)); }
std::string text(const char* name) { return std::string(checked(name)); }

}  // namespace tessera::inline v0::settings
