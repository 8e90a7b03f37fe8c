// `tessera checkpoint`: lists folders of checkpoints, verifies them, and compares them.
#include "command.h"
#include "output.h"

#include <tessera/checkpoint.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>

namespace command {

namespace {

namespace ts = tessera;

struct Request {
  Words folders;
  std::vector<std::int64_t> steps;
};

Request read(const std::string& name, const Words& arguments, std::size_t most_folders,
             std::size_t most_steps) {
  Request r;
  const auto step = [&](const std::string& value) {
    if (value.empty() || value.size() > 18 ||
        value.find_first_not_of("0123456789") != std::string::npos)
      throw Unusable{"'" + value + "' is no step"};
    r.steps.push_back(std::stoll(value));
  };
  r.folders = read_options(name, Words(arguments.begin() + 1, arguments.end()), {{"--step", step}});
  if (r.folders.empty()) throw Unusable{name + " takes a folder"};
  if (r.folders.size() > most_folders)
    throw Unusable{name + " takes " + (most_folders == 1 ? "one folder" : "two folders") +
                   ", and '" + r.folders[most_folders] + "' is one more"};
  if (r.steps.size() > most_steps)
    throw Unusable{name + " takes " +
                   (most_steps == 0   ? "no step"
                    : most_steps == 1 ? "one step"
                                      : "two steps")};
  return r;
}

std::string bytes_text(std::uint64_t n) {
  char text[32];
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto v = static_cast<double>(n);
  int unit = 0;
  for (; v >= 1024 && unit < 4; ++unit) v /= 1024;
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
  return text;
}
std::string time_text(std::int64_t seconds) {
  const auto t = static_cast<std::time_t>(seconds);
  char text[32] = "";
  std::tm parts{};
  if (gmtime_r(&t, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}
std::string metrics_text(const ts::CheckpointInfo& info) {
  std::string text;
  for (const auto& [name, value] : info.metrics) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", value);
    text += (text.empty() ? "" : " ") + name_text(name) + "=" + number;
  }
  return text;
}

// Returns the newest step unless one was given; throws Unusable if there is none.
std::int64_t step_of(const std::string& folder, const std::vector<std::int64_t>& asked) {
  if (!asked.empty()) return asked[0];
  const auto newest = ts::checkpoint::latest_step(folder);
  if (!newest) throw Unusable{"there is no checkpoint in " + folder};
  return *newest;
}

// Whether this process can read the step: verify throws if it cannot.
bool may_read(const std::string& folder, std::int64_t step) {
  try {
    (void)ts::checkpoint::verify(folder, step);
    return true;
  } catch (const ts::IoError&) {
    return false;
  }
}

int list(const Words& arguments) {
  const Request r = read("checkpoint ls", arguments, 1, 0);
  const auto steps = ts::checkpoint::all_steps(r.folders[0]);
  if (steps.empty()) throw Unusable{"there is no checkpoint in " + r.folders[0]};
  sayf("%12s  %-19s  %9s  %6s  %5s  %s\n", "step", "saved (UTC)", "processes", "arrays", "files",
       "bytes");
  bool sound = true;
  for (const std::int64_t step : steps) {
    try {
      const ts::CheckpointInfo info = ts::checkpoint::info(r.folders[0], step);
      sayf("%12lld  %-19s  %9d  %6zu  %5zu  %s%s%s\n", static_cast<long long>(step),
           time_text(info.time).c_str(), info.processes, info.leaves.size(), info.files.size(),
           bytes_text(info.bytes).c_str(), info.metrics.empty() ? "" : "  ",
           metrics_text(info).c_str());
    } catch (const ts::IoError&) {
      sayf("%12lld  %s\n", static_cast<long long>(step),
           may_read(r.folders[0], step) ? "DAMAGED: its manifest cannot be read"
                                        : "UNKNOWN: this user may not read it");
      sound = false;
    }
  }
  return sound ? kWell : kWrong;
}

int show(const Words& arguments) {
  const Request r = read("checkpoint show", arguments, 1, 1);
  const ts::CheckpointInfo info =
      ts::checkpoint::info(r.folders[0], step_of(r.folders[0], r.steps));
  sayf("step %lld, saved %s UTC by %d %s: %zu arrays, %s\n", static_cast<long long>(info.step),
       time_text(info.time).c_str(), info.processes, info.processes == 1 ? "process" : "processes",
       info.leaves.size(), bytes_text(info.bytes).c_str());
  for (const auto& [name, value] : info.metrics)
    sayf("metric %s: %.9g\n", name_text(name).c_str(), value);
  for (const auto& [name, value] : info.metadata)
    sayf("metadata %s: %s\n", name_text(name).c_str(), name_text(value).c_str());
  for (const auto& file : info.files)
    sayf("file %s: %s\n", name_text(file.name).c_str(), bytes_text(file.bytes).c_str());
  std::size_t longest = 0;
  for (const auto& leaf : info.leaves) longest = std::max(longest, name_text(leaf.path).size());
  for (const auto& leaf : info.leaves) {
    std::string placed;
    if (!leaf.mesh.empty()) {
      placed = "  " + name_text(to_string(leaf.spec)) + " on";
      for (const auto& axis : leaf.mesh)
        placed += " " + name_text(axis.name) + "=" + std::to_string(axis.size);
    }
    sayf("%-*s  %s%s%s\n", static_cast<int>(longest), name_text(leaf.path).c_str(),
         std::string(name_of(leaf.dtype)).c_str(), to_string(leaf.shape).c_str(), placed.c_str());
  }
  return kWell;
}

int verify(const Words& arguments) {
  const Request r = read("checkpoint verify", arguments, 1, 1);
  std::vector<std::int64_t> steps = r.steps;
  if (steps.empty()) steps = ts::checkpoint::all_steps(r.folders[0]);
  if (steps.empty()) throw Unusable{"there is no checkpoint in " + r.folders[0]};
  bool sound = true;
  for (const std::int64_t step : steps) try {
      const std::vector<std::string> problems = ts::checkpoint::verify(r.folders[0], step);
      sayf("step %lld: %s\n", static_cast<long long>(step),
           problems.empty() ? "intact" : "DAMAGED");
      for (const std::string& p : problems) sayf("  %s\n", name_text(p).c_str());
      sound = sound && problems.empty();
    } catch (const ts::IoError& e) {
      // If one step cannot be read, the others are still verified, unless the user named the step.
      if (!r.steps.empty()) throw;
      sayf("step %lld: UNKNOWN\n  %s\n", static_cast<long long>(step),
           name_text(e.headline()).c_str());
      sound = false;
    }
  return sound ? kWell : kWrong;
}

// Counts the elements whose bits differ, and reports how far apart the numbers are.
std::string difference(const ts::Array& a, const ts::Array& b) {
  std::int64_t other = 0;
  ts::dispatch(a.dtype(), [&](auto tag) {
    const auto x = a.host<decltype(tag)>(), y = b.host<decltype(tag)>();
    for (std::size_t i = 0; i < x.size(); ++i) other += std::memcmp(&x[i], &y[i], sizeof x[i]) != 0;
  });
  if (other == 0) return "";
  std::string text = std::to_string(other) + " of " + std::to_string(a.size()) + " elements differ";
  if (is_complex(a.dtype())) return text;
  const auto x = a.astype(ts::f64).to_vector<double>(), y = b.astype(ts::f64).to_vector<double>();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  char number[48];
  std::snprintf(number, sizeof number, ", by %.3g at most", most);
  return text + number;
}

int diff(const Words& arguments) {
  const Request r = read("checkpoint diff", arguments, 2, 2);
  const std::string &first = r.folders[0], &second = r.folders.back();
  std::vector<std::int64_t> steps = r.steps;
  if (steps.empty() && r.folders.size() == 1) {
    steps = ts::checkpoint::all_steps(first);
    if (steps.size() < 2) throw Unusable{first + " has no two steps"};
    steps.erase(steps.begin(), steps.end() - 2);
  }
  const std::int64_t a = step_of(first, steps),
                     b = steps.size() > 1 ? steps[1] : step_of(second, steps);
  const auto leaves_of = [](const std::string& folder, std::int64_t step) {
    std::map<std::string, ts::CheckpointInfo::Leaf> out;
    for (auto& leaf : ts::checkpoint::info(folder, step).leaves) out.emplace(leaf.path, leaf);
    return out;
  };
  const auto x = leaves_of(first, a), y = leaves_of(second, b);
  bool equal = true;
  const auto says = [&](const std::string& path, const std::string& what) {
    sayf("%s: %s\n", path.empty() ? "the value" : name_text(path).c_str(), what.c_str());
    equal = false;
  };
  for (const auto& [path, leaf] : x) {
    const auto other = y.find(path);
    const auto type = [](const auto& l) {
      return std::string(name_of(l.dtype)) + to_string(l.shape);
    };
    if (other == y.end()) {
      says(path, "only in the first");
    } else if (type(leaf) != type(other->second)) {
      says(path, type(leaf) + " and " + type(other->second));
    } else {
      const auto array = [&](const std::string& folder, std::int64_t step) {
        return ts::checkpoint::restore_arrays(folder, {.step = step, .only = {path}}).at(path);
      };
      const std::string what = difference(array(first, a), array(second, b));
      if (!what.empty()) says(path, what);
    }
  }
  for (const auto& [path, leaf] : y)
    if (!x.contains(path)) says(path, "only in the second");
  sayf("steps %lld and %lld %s\n", static_cast<long long>(a), static_cast<long long>(b),
       equal ? "are equal to the bit" : "differ");
  return equal ? kWell : kWrong;
}

}  // namespace

int checkpoint(const Words& arguments) {
  const std::string verb = arguments.empty() ? "" : arguments[0];
  if (verb == "ls") return list(arguments);
  if (verb == "show") return show(arguments);
  if (verb == "verify") return verify(arguments);
  if (verb == "diff") return diff(arguments);
  throw Unusable{verb.empty()
                     ? "checkpoint takes ls, show, verify or diff"
                     : "there is no checkpoint " + verb + "; there are ls, show, verify and diff"};
}

}  // namespace command
