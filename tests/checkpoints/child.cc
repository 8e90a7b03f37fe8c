// A run that saves while it continues, in one process or several, for tests that kill it; and saves
// and restores by several processes together.
//
//   checkpoint_child train DIR STEPS    checks the steps in DIR, resumes from the newest one, and
//                                       ends after STEPS steps
//   checkpoint_child obey DIR MOST      carries out the lines of its input, with at most MOST saves
//                                       in progress
//   checkpoint_child leave DIR          ends with a save in progress; "fork" forks with one
//   checkpoint_child save DIR           saves a step of arrays with many placements
//   checkpoint_child load DIR           restores that step to other placements
//   checkpoint_child stamp DIR VALUE    saves a step of arrays that hold VALUE
//   checkpoint_child names DIR          saves steps of arrays whose names a terminal would obey
//   checkpoint_child haste DIR          saves many small steps, several at once, and keeps one
//   checkpoint_child ask DIR WHAT,...   saves two steps, and for each WHAT requests a restore in
//                                       which the processes differ by it
#include <tessera/tessera.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

constexpr int kDevices = 8;
constexpr std::int64_t kRows = 512, kColumns = 512;  // 1 MiB
constexpr std::uint32_t kFactor = 1664525, kTerm = 1013904223;

void say(const std::string& line) {
  if (ts::process_index() != 0) return;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

ts::Mesh mesh() { return ts::Mesh({{"i", kDevices}}); }

struct State {
  Array rows, columns;  // sharded by rows and by columns
  Array key;            // every process has its own copy; all are equal
  Array step;
};

// Each step passes every element through a generator of random numbers, whose state after t steps
// has a closed form: x * factor^t + term * (factor^t - 1) / (factor - 1).
State start() {
  const Array x = ts::arange(kRows * kColumns).reshape(kRows, kColumns).astype(ts::u32);
  return {ts::device_put(x, mesh(), P("i")), ts::device_put(x, mesh(), P(ts::none, "i")),
          ts::random::key(1), ts::zeros({}, ts::i64)};
}
State next(State s) {
  static auto f = ts::jit([](State s) {
    s.rows = s.rows * Array(kFactor).astype(ts::u32) + Array(kTerm).astype(ts::u32);
    s.columns = s.columns * Array(kFactor).astype(ts::u32) + Array(kTerm).astype(ts::u32);
    s.step = s.step + 1;
    return s;
  });
  return f(std::move(s));
}

void need(bool sound, const std::string& what) {
  if (!sound) throw std::runtime_error(what);
}

// Checks all elements of the shards that this process has.
void check(const State& s, std::int64_t step) {
  need(s.step.item<std::int64_t>() == step, "another step");
  std::uint32_t factor = 1, term = 0;
  for (std::int64_t t = 0; t < step; ++t) {
    factor *= kFactor;
    term = term * kFactor + kTerm;
  }
  for (const Array& x : {s.rows, s.columns})
    for (const ts::Shard& part : x.shards()) {
      const auto values = part.data.host<std::uint32_t>();
      const std::int64_t r0 = *part.index[0].start, c0 = *part.index[1].start;
      const std::int64_t columns = part.data.shape(1);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const auto first =
            static_cast<std::uint32_t>((r0 + at / columns) * kColumns + c0 + at % columns);
        need(values[i] == first * factor + term, "a wrong element of step " + std::to_string(step));
      }
    }
}

void train(const std::string& dir, const std::string& steps) {
  ts::CheckpointManager manager(dir, {.max_to_keep = 3});
  State s = start();
  // All existing steps are correct; the first process prints their numbers.
  std::vector<std::int64_t> there = manager.all_steps();
  while (there.size() < 8) there.insert(there.begin(), -1);
  const Array all = ts::process_allgather(ts::Array(there));
  const auto of_first = all.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 8; ++i)
    if (of_first[i] >= 0) {
      s = manager.restore(s, {.step = of_first[i]});
      check(s, of_first[i]);
    }
  // If there are several processes, any of them may be killed.
  std::printf("pid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  std::int64_t t = s.step.item<std::int64_t>();
  say("ready " + std::to_string(t));
  for (const std::int64_t end = std::stoll(steps); t < end;) {
    s = next(std::move(s));
    manager.save(++t, s);
    if (t > 1) say("made " + std::to_string(t - 1));
  }
  manager.wait();
  check(manager.restore(s), t);
  say("over " + std::to_string(t));
}

// Returns the texts of all processes, in every process.
std::vector<std::string> texts_of_all(std::string mine) {
  constexpr std::size_t kSize = 2048;
  mine.resize(kSize);
  const Array all =
      ts::process_allgather(Array(std::vector<std::uint8_t>(mine.begin(), mine.end())));
  const auto bytes = all.to_vector<std::uint8_t>();
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < bytes.size(); at += kSize)
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()) + at);
  return texts;
}

// Lines go to the first process, which passes them to the others. An answer ends with the line ".".
void obey(const std::string& dir, const std::string& most) {
  ts::CheckpointManager manager(dir, {.max_in_flight = std::stoi(most)});
  State s = start();
  if (manager.latest_step()) s = manager.restore(s);
  std::int64_t t = s.step.item<std::int64_t>();
  check(s, t);
  const auto is_right = [&] { return "step " + std::to_string(t) + " is right"; };
  const auto there = [&] {
    std::string steps;
    for (const std::int64_t step : manager.all_steps()) steps += " " + std::to_string(step);
    return steps;
  };
  const std::map<std::string, std::function<std::string()>> orders{
      {"train",
       [&] {
         for (int i = 0; i < 5; ++i) s = next(std::move(s));
         check(s, t += 5);
         return is_right();
       }},
      {"save",
       [&] {
         manager.save(t, s);
         return "saving " + std::to_string(t) + " behind" + there();
       }},
      {"save over 5",
       [&] {
         manager.save(5, s, {.overwrite = true});
         return "saving over" + there();
       }},
      {"wait",
       [&] {
         manager.wait();
         return "there are" + there();
       }},
      {"steps", [&] { return "there are" + there(); }},
      {"restore",
       [&] {
         s = manager.restore(s);
         t = s.step.item<std::int64_t>();
         check(s, t);
         return is_right();
       }},
      {"pid", [] { return std::to_string(::getpid()); }}};
  for (std::string order = "restored";;) {
    std::string answer = is_right();
    if (orders.count(order)) try {
        answer = orders.at(order)();
      } catch (const ts::Error& e) {
        answer = e.what();
      }
    for (const std::string& text : texts_of_all(answer)) say(text);
    say(".");
    if (ts::process_index() != 0 || !std::getline(std::cin, order)) order.clear();
    order = texts_of_all(order)[0];
    if (order.empty()) return;
  }
}

using Arrays = std::map<std::string, Array>;

Arrays arrays(const std::map<std::string, ts::Sharding>& places) {
  const Array x = ts::arange(16 * 24).reshape(16, 24);
  Arrays all{{"own", ts::arange(5)}, {"one", ts::array(3)}};
  for (const auto& [name, where] : places) all[name] = ts::device_put(x, where);
  return all;
}
std::map<std::string, ts::Sharding> places(bool other) {
  const ts::Mesh square({{"a", 4}, {"b", 2}}), line({{"a", 8}});
  std::map<std::string, ts::Sharding> all{{"rows", {line, P("a")}},
                                          {"columns", {square, P(ts::none, "a")}},
                                          {"both", {square, P("a", "b")}},
                                          {"minor", {square, P("b")}},
                                          {"whole", {square, P()}}};
  if (other) {
    std::swap(all.at("rows"), all.at("minor"));
    std::swap(all.at("columns"), all.at("whole"));
  }
  return all;
}

void save(const std::string& dir, const std::string&) {
  ts::checkpoint::save(dir, 1, arrays(places(false)), {.overwrite = true});
  say("saved");
}
void load(const std::string& dir, const std::string&) {
  for (const bool other : {false, true}) {
    const Arrays want = arrays(places(other));
    const Arrays back = ts::checkpoint::restore(dir, want);
    for (const auto& [name, x] : want) {
      const Array& y = back.at(name);
      need(y.shape() == x.shape() && y.shards().size() == x.shards().size(), name);
      for (std::size_t i = 0; i < x.shards().size(); ++i)
        need(x.shards()[i].data.to_vector<int>() == y.shards()[i].data.to_vector<int>(), name);
      if (name != "own" && name != "one") need(y.sharding() == x.sharding(), name + ": elsewhere");
    }
  }
  say("as saved");
}
void haste(const std::string& dir, const std::string&) {
  ts::CheckpointManager manager(dir, {.max_to_keep = 1, .max_in_flight = 4});
  const Arrays all = arrays(places(false));
  for (int i = 0; i < 60; ++i) manager.save(i, all);
  manager.wait();
  say("saved");
}
void stamp(const std::string& dir, const std::string& value) {
  Arrays all;
  for (const auto& [name, where] : places(false))
    all[name] = ts::device_put(ts::full({16, 24}, std::stoi(value)), where);
  ts::checkpoint::save(dir, 1, all, {.overwrite = true});
  say("stamped");
}
void names(const std::string& dir, const std::string&) {
  const Arrays all{{"bell\a", ts::ones({2})}, {"red\x1b[31m\r", ts::ones({2})}};
  ts::checkpoint::save(dir, 1, all, {.metadata = {{"who\n", "\x1b[2J"}}});
  ts::checkpoint::save(dir, 2, all);
}
// Process 1 requests something else than the others, and all get an error; with `same` all request
// the same thing. Steps 1 and 2 hold `two`.
void ask_for(const std::string& what, const std::string& dir, const Arrays& two) {
  const bool other = ts::process_index() == 1 && what != "same";
  Arrays like = two;
  ts::CheckpointRestoreOptions options;
  std::string from = dir;
  if (what == "step") options.step = 1 + other;
  if (what == "newest" && other) options.step = 2;
  if (what == "missing") options.step = 1 + 8 * other;
  if (what == "only") options.only = {other ? "a" : "b"};
  if (what == "lack" && other) options.may_lack = {"c"};
  if (what == "renamed" && other) options.renamed = {{"x", "y"}};
  if (what == "verify") options.verify = !other;
  if (what == "folder" && other) from += "/elsewhere";
  if (what == "tree" && other) like["c"] = ts::ones({2});
  if (what == "shape" && other) like["a"] = ts::ones({4});
  if (what == "dtype" && other) like["a"] = ts::ones({3}, ts::i32);
  if (what == "place")
    like["a"] = other ? ts::device_put(ts::ones({3}), ts::Mesh({{"i", kDevices}}), P()) : like["a"];
  if (what == "specs") {
    options.mesh = ts::Mesh({{"i", 1}});
    if (other) options.specs = P();
  }
  if (what == "save")
    ts::checkpoint::save(other ? dir + "/elsewhere" : dir, 3, two);
  else if (what == "arrays")
    (void)ts::checkpoint::restore_arrays(dir, {.step = 1 + other});
  else
    (void)ts::checkpoint::restore(from, like, options);
  say("as asked");
}
// Makes one request after the other. Each process writes its errors into a file of its own, because
// launchers mix the lines of processes.
void ask(const std::string& dir, const std::string& whats) {
  const Arrays two{{"a", ts::ones({3})}, {"b", ts::ones({2})}};
  for (const int step : {1, 2}) ts::checkpoint::save(dir, step, two);
  std::ofstream told(dir + "/told-" + std::to_string(ts::process_index()));
  std::istringstream all(whats);
  std::string what;
  while (std::getline(all, what, ',')) try {
      ask_for(what, dir, two);
    } catch (const ts::Error& e) {
      told << what << ": " << e.what() << "\n";
    }
}
// The end of the process waits for saves in progress, whichever thread runs them.
void leave(const std::string& dir, const std::string&) {
  static auto* kept = new ts::CheckpointSaving(ts::checkpoint::save_async(dir, 1, start()));
  say(kept->is_done() ? "done" : "under way");
}
// A child of fork has none of its parent's saves, and can save by itself.
void fork_away(const std::string& dir, const std::string&) {
  const State s = start();
  ts::CheckpointSaving saving = ts::checkpoint::save_async(dir, 1, s);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      saving.wait();
    } catch (const ts::Error& e) {
      say(e.what());
    }
    ts::checkpoint::save(dir, 2, s);
    ::_exit(0);  // otherwise memory of threads that the child lacks would be reported as a leak
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  saving.wait();
  for (const std::int64_t step : {1, 2}) check(ts::checkpoint::restore(dir, s, {.step = step}), 0);
  say("child " + std::to_string(status));
}
// Requests that all processes must refuse.
void differ(const std::string& dir, const std::string&) {
  Arrays tree = arrays(places(false));
  if (ts::process_index() == 1) tree["more"] = ts::ones({2});
  ts::checkpoint::save(dir, 2, tree);
}
void own(const std::string& dir, const std::string&) {
  ts::checkpoint::save(dir, 2, Arrays{{"key", ts::random::key(ts::process_index())}});
}
// Each process saves to a folder of its own, as if only a relative path were the same.
void apart(const std::string& dir, const std::string&) {
  ts::checkpoint::save(dir + "/" + std::to_string(ts::process_index()), 2, ts::ones({2}));
}
void fail(const std::string& dir, const std::string&) {
  const Array x = ts::process_index() == 1 ? ts::abstract(ts::f32, {2}) : ts::ones({2});
  ts::checkpoint::save(dir, 2, x);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, std::function<void(const std::string&, const std::string&)>> modes{
      {"train", train}, {"obey", obey},     {"leave", leave}, {"fork", fork_away}, {"save", save},
      {"load", load},   {"differ", differ}, {"own", own},     {"fail", fail},      {"stamp", stamp},
      {"ask", ask},     {"haste", haste},   {"apart", apart}, {"names", names}};
  if (argc < 3 || !modes.count(argv[1])) return 2;
  if (argv[1] == std::string("apart")) ts::distributed::initialize({.timeout = 1});
  ts::set_device_count(kDevices);
  modes.at(argv[1])(argv[2], argc > 3 ? argv[3] : "");
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "process %d: %s\n", ts::process_index(), e.what());
  return 1;
}
