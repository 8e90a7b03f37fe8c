// Runs StableHLO modules that contain their own expected results.
#include "api/trace/trace.h"
#include "stablehlo/functions/loaded.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::inline v0 {

namespace {

using stablehlo::Check;

// Maps floats to integers in the same order, so that adjacent floats differ by one.
template <class T>
std::int64_t place_in_order(T x) {
  if constexpr (sizeof(T) == 2) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint16_t>(x));
    return bits & 0x8000 ? 0x8000 - bits : bits;
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    const auto bits = static_cast<std::int64_t>(std::bit_cast<Bits>(x));
    return bits < 0 ? static_cast<std::int64_t>(std::numeric_limits<Bits>::min()) - bits : bits;
  }
}

template <class T>
double as_double(T x) {
  if constexpr (sizeof(T) == 8)
    return static_cast<double>(x);
  else
    return static_cast<double>(static_cast<float>(x));
}

// The distance of two elements by the measure of the check; 0 if they are equal.
template <class T>
double ulp_distance(Check::Kind kind, T a, T b) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if constexpr (requires { a.real(); }) {  // compares complex numbers by their parts
    return std::max(ulp_distance(kind, a.real(), b.real()), ulp_distance(kind, a.imag(), b.imag()));
  } else if constexpr (std::is_integral_v<T>) {
    if (a == b) return 0;
    return kind == Check::almost_equal ? std::abs(static_cast<double>(a) - static_cast<double>(b))
                                       : kFar;
  } else {
    const double x = as_double(a), y = as_double(b);
    if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
    if (kind == Check::equal || std::isnan(x) || std::isnan(y)) return kFar;
    if (kind == Check::almost_equal) return std::abs(x - y);
    const std::int64_t p = place_in_order(a), q = place_in_order(b);
    // Unsigned, because floats of opposite signs may be up to 2^64 apart.
    const std::uint64_t apart = p < q
                                    ? static_cast<std::uint64_t>(q) - static_cast<std::uint64_t>(p)
                                    : static_cast<std::uint64_t>(p) - static_cast<std::uint64_t>(q);
    return static_cast<double>(apart);
  }
}

template <class T>
std::string number_text(T x) {
  if constexpr (requires { x.real(); }) {
    return "(" + number_text(x.real()) + ", " + number_text(x.imag()) + ")";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else {
    char text[64];
    std::snprintf(text, sizeof text, sizeof(T) == 8 ? "%.17g" : "%.9g", as_double(x));
    return text;
  }
}

// The reason why two arrays fail the check; empty if they pass.
std::string compare_results(const Check& check, const Array& got, const Array& want) {
  return dispatch(got.dtype(), [&](auto tag) -> std::string {
    using T = decltype(tag);
    const auto a = got.host<T>(), b = want.host<T>();
    std::size_t wrong = 0, worst = 0;
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = ulp_distance<T>(check.kind, a[i], b[i]);
      if (d > check.tolerance || std::isnan(d)) ++wrong;
      if (d > most) most = d, worst = i;
    }
    if (wrong == 0 && (check.kind != Check::close || most >= check.least)) return {};
    std::string by = check.kind == Check::close && std::isfinite(most)
                         ? ", " + number_text(most) + " units in the last place apart"
                         : "";
    return check.place + ": " + std::to_string(wrong) + " of " + std::to_string(a.size()) +
           " elements differ, most at " + std::to_string(worst) + ": " + number_text(a[worst]) +
           " where " + number_text(b[worst]) + " is expected" + by;
  });
}

const stablehlo::FunctionSyntax* entry_of(const stablehlo::ModuleSyntax& m) {
  if (const stablehlo::FunctionSyntax* f = m.find("main")) return f;
  for (const stablehlo::FunctionSyntax& f : m.functions)
    if (!f.is_private && f.arguments.empty() && !f.declared_only) return &f;
  return m.functions.empty() ? nullptr : &m.functions[0];
}

// The text of an error, without the function that loads modules: the user did not call it.
std::string message_of(const Error& e) {
  ErrorParts parts = e.parts();
  if (parts.function == "load_stablehlo") parts.function.clear();
  return parts.text();
}

void run(const stablehlo::ModuleSyntax& m, StableHloCheck& out) {
  const stablehlo::FunctionSyntax* entry = entry_of(m);
  if (!entry) stablehlo::fail(*m.source, m.at, {"the module has no function"});
  const stablehlo::Imported imported = stablehlo::import_function(m, entry->name);
  if (!imported.inputs.empty())
    stablehlo::fail(*m.source, entry->at,
                    {"@" + entry->name + " takes arguments",
                     "a module that is checked brings its inputs along"});
  const std::vector<Array> results =
      detail::apply(imported.program, detail::constants_of(imported), {});
  out.checks = imported.checks.size();
  std::size_t next = imported.outputs.size();
  for (const Check& c : imported.checks) {
    const std::string problem = compare_results(c, results[next], results[next + 1]);
    next += 2;
    if (problem.empty()) continue;
    out.outcome = StableHloCheck::failed;
    out.message += (out.message.empty() ? "" : "\n") + problem;
  }
}

}  // namespace

std::vector<StableHloCheck> check_stablehlo(const std::string& path, std::source_location loc) {
  const stablehlo::SourcePtr source = detail::read_source(path, loc);
  std::vector<StableHloCheck> out;
  const auto parts = detail::parts_of_file(*source);
  for (const stablehlo::Part& part : parts) {
    const auto guarded = [&](StableHloCheck check, auto&& step) {
      try {
        step(check);
      } catch (const Error& e) {
        check.outcome = StableHloCheck::refused;
        check.message = message_of(e);
      }
      out.push_back(std::move(check));
    };
    std::vector<stablehlo::ModuleSyntax> modules;
    try {
      modules = detail::modules_of(source, part);
    } catch (const Error& e) {
      out.push_back({StableHloCheck::refused, source->name, 0, message_of(e)});
    }
    for (const stablehlo::ModuleSyntax& m : modules) {
      StableHloCheck check;
      const std::string at = stablehlo::place_of(*m.source, m.at);
      check.module = parts.size() > 1 ? at.substr(0, at.rfind(", column")) : source->name;
      guarded(std::move(check), [&](StableHloCheck& c) { run(m, c); });
    }
  }
  return out;
}

}  // namespace tessera::inline v0
