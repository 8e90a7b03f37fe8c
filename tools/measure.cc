// `tessera bench` and `tessera explain`.
#include "command.h"
#include "output.h"

#include <tessera/tessera.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

namespace command {

namespace {

using tessera::Array;
using Seconds = std::chrono::duration<double>;

struct Request {
  std::string name, file, out, trace;
  tessera::LoadOptions options;
  Words inputs;
  std::int64_t calls = 0, size = 1;  // calls: 0: as many as take a second
};

Request read(const std::string& name, const Words& arguments) {
  Request r{.name = name};
  std::vector<Option> options = {
      {"--function", [&](const std::string& v) { r.options.function = v; }},
      {"--arg", [&](const std::string& v) { r.inputs.push_back(v); }},
      {"--size", [&](const std::string& v) { r.size = positive("--size", v); }}};
  if (name == "bench") {
    options.push_back({"--calls", [&](const std::string& v) { r.calls = positive("--calls", v); }});
  } else {
    options.push_back({"--out", [&](const std::string& v) { r.out = v; }});
    options.push_back({"--trace", [&](const std::string& v) { r.trace = v; }});
  }
  r.file = only_file(name, read_options(name, arguments, options));
  return r;
}

// Returns the given arrays, or makes one of the right type for each argument: normal numbers, or
// zeros for integers, which may be indices.
std::vector<Array> arguments_of(const Request& r, const tessera::LoadedFunction& f) {
  std::vector<Array> out;
  for (const std::string& path : r.inputs) out.push_back(tessera::load_npy(path));
  if (!out.empty()) return out;
  for (const tessera::ArrayType& t : f.inputs()) {
    tessera::Shape shape = t.shape;
    for (std::int64_t& d : shape) d = d < 0 ? r.size : d;
    const Array key = tessera::random::key(out.size());
    out.push_back(tessera::is_floating(t.dtype)
                      ? tessera::random::normal(key, shape).astype(t.dtype)
                      : tessera::zeros(shape, t.dtype));
  }
  return out;
}

auto function_of(const tessera::LoadedFunction& f, const std::string& name) {
  return tessera::jit([f](const std::vector<Array>& arguments) { return f(arguments); },
                      {.name = name});
}

std::string time_text(double seconds) {
  char text[32];
  const double scale = seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
  std::snprintf(text, sizeof text, "%.4g %s", seconds * scale,
                scale == 1e6   ? "us"
                : scale == 1e3 ? "ms"
                               : "s");
  return text;
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

int bench(const Words& words) {
  constexpr std::size_t kLeast = 5;
  const Request request = read("bench", words);
  const auto seconds = [](auto&& step) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    return Seconds(std::chrono::steady_clock::now() - begin).count();
  };
  tessera::LoadedFunction f;
  const double load = seconds([&] { f = tessera::load_stablehlo(request.file, request.options); });
  const std::vector<Array> arguments = arguments_of(request, f);
  auto compiled = function_of(f, request.options.function);
  const auto call = [&] {
    for (const Array& y : compiled(arguments)) y.block_until_ready();
  };
  const double first = seconds(call);
  std::vector<double> steady;
  double spent = 0;
  const auto more = [&] {
    return request.calls ? static_cast<std::int64_t>(steady.size()) < request.calls
                         : steady.size() < kLeast || spent < 1;
  };
  while (more()) {
    steady.push_back(seconds(call));
    spent += steady.back();
  }
  std::sort(steady.begin(), steady.end());
  const double median = quantile(steady, 0.5);
  sayf("load        %s\n", time_text(load).c_str());
  sayf("first call  %s\n", time_text(first).c_str());
  sayf("median      %s of %zu calls\n", time_text(median).c_str(), steady.size());
  sayf("quartiles   %s to %s\n", time_text(quantile(steady, 0.25)).c_str(),
       time_text(quantile(steady, 0.75)).c_str());
  sayf("extremes    %s to %s\n", time_text(steady.front()).c_str(),
       time_text(steady.back()).c_str());
  if (const double flops = compiled.explain(arguments).flops; flops > 0 && median > 0)
    sayf("work        %.4g GFLOP, %.4g GFLOP/s\n", flops / 1e9, flops / median / 1e9);
  return kWell;
}

int explain(const Words& words) {
  Request request = read("explain", words);
  const tessera::LoadedFunction f = tessera::load_stablehlo(request.file, request.options);
  const tessera::Plan plan =
      function_of(f, request.options.function).explain(arguments_of(request, f));
  if (request.out.empty())
    request.out =
        std::filesystem::path(request.file).filename().replace_extension(".html").string();
  if (request.out == request.trace) throw Unusable{"--out and --trace name one file"};
  tessera::save_html(plan, request.out);
  if (!request.trace.empty()) tessera::save_trace(plan, request.trace);
  std::string text = tessera::summary(plan);
  if (const std::string where = tessera::headline(plan); !where.empty())
    text += "\n" + where + "\n";
  if (!plan.advice.empty()) text += plan.advice + "\n";
  text += "\n" + name_text(request.out) + "\n";
  if (!request.trace.empty()) text += name_text(request.trace) + "\n";
  say(text);
  return kWell;
}

}  // namespace command
