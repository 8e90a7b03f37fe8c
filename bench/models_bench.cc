// Runs the models that bench/models/models.py exported: a row "resnet50/8" is the folder of that
// name below the folder given first.
//
//     models_bench FOLDER --serve
//
//   --serve: reads "time ROW SECONDS" lines and answers "ok WALL_US CPU_US" or "error TEXT". The
//     error of a row whose results differ from the stored ones says by how much;
//   --first ROW: loads the row, runs it once and prints the microseconds of loading and that call;
//   --peak ROW: loads the row and runs it five times, to show its peak memory;
//   --profile ROW FILE: profiles the third call, for chrome://tracing and Perfetto;
//   --schedule ROW: prints the tape.
#include "rows_timing.h"

#include <algorithm>
#include <iostream>
#include <sstream>

namespace {

std::vector<Array> tensors(const std::string& file) {
  std::vector<Array> all;
  for (auto& [name, array] : ts::load_safetensors(file).tensors) all.push_back(array);
  return all;
}

auto jitted(ts::LoadedFunction f) {
  return ts::jit(
      [f = std::move(f)](const std::vector<Array>& fixed, const std::vector<Array>& states) {
        std::vector<Array> all = fixed;
        all.insert(all.end(), states.begin(), states.end());
        return f(all);
      },
      {.donate = {1}});
}

// A module whose arguments are weights, inputs and, last, states. Each call donates the states and
// takes their new values, which are the last results.
class Model {
 public:
  explicit Model(const std::string& folder)
      : function_(ts::load_stablehlo(folder + "/module.mlir")),
        fixed_(tensors(folder + "/../weights.safetensors")) {
    std::vector<Array> inputs = tensors(folder + "/inputs.safetensors");
    const std::size_t weights = fixed_.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool state = function_.inputs().at(weights + i).donated;
      (state ? states_ : fixed_).push_back(inputs[i]);
    }
  }

  std::vector<Array> call() {
    std::vector<Array> results = jitted_(fixed_, states_);
    ts::block_until_ready(results);
    std::copy(results.end() - static_cast<std::ptrdiff_t>(states_.size()), results.end(),
              states_.begin());
    return results;
  }

  std::string schedule() const { return jitted_.lower(fixed_, states_).schedule(); }

 private:
  ts::LoadedFunction function_;
  std::vector<Array> fixed_, states_;
  decltype(jitted(ts::LoadedFunction())) jitted_ = jitted(function_);
};

// Throws if a result differs from the stored one by more than the file's tolerance, which is a share
// of the result's largest absolute value.
void check(const std::vector<Array>& results, const std::string& file) {
  const ts::SafeTensors expected = ts::load_safetensors(file);
  const float tolerance = std::stof(expected.metadata.at("tolerance"));
  const auto largest = [](const Array& x) { return ts::max(ts::abs(x)).item<float>(); };
  std::size_t i = 0;
  for (const auto& [name, array] : expected.tensors) {
    const Array want = array.astype(ts::f32), got = results.at(i++).astype(ts::f32);
    const float difference = largest(got - want) / largest(want);
    if (!(difference <= tolerance))
      throw std::runtime_error("values differ by " + std::to_string(difference));
  }
}

// One row is kept between requests, so that repeated rounds need no setup.
int serve(const std::string& folder) {
  std::string current, line;
  std::unique_ptr<Model> model;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, name;
    double budget = 0;
    words >> verb >> name >> budget;
    try {
      if (name != current) {
        model.reset();
        current.clear();
        model = std::make_unique<Model>(folder + "/" + name);
        check(model->call(), folder + "/" + name + "/expected.safetensors");
        model->call();
        current = name;
      }
      const auto [wall, cpu] = bench::time_calls([&] { model->call(); }, budget);
      std::cout << "ok " << wall * 1e6 << " " << cpu * 1e6 << std::endl;
    } catch (const std::exception& e) {
      std::string text = e.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "error " << text << std::endl;
    }
  }
  return 0;
}

int once(const std::string& folder, int calls) {
  const auto start = bench::Clock::now();
  Model model(folder);
  model.call();
  std::cout << "ok " << bench::seconds_since(start) * 1e6 << std::endl;
  for (int i = 1; i < calls; ++i) model.call();
  return 0;
}

int profile(const std::string& folder, const std::string& file) {
  Model model(folder);
  model.call();
  model.call();
  ts::Profile recorded(file);
  model.call();
  recorded.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string mode = words.size() > 1 ? words[1] : "";
  const std::string row = words.size() > 2 ? words[0] + "/" + words[2] : "";
  if (mode == "--serve" && words.size() == 2) return serve(words[0]);
  if (mode == "--first" && words.size() == 3) return once(row, 1);
  if (mode == "--peak" && words.size() == 3) return once(row, 5);
  if (mode == "--profile" && words.size() == 4) return profile(row, words[3]);
  if (mode == "--schedule" && words.size() == 3) return std::cout << Model(row).schedule(), 0;
  std::cerr << "models_bench FOLDER --serve | --first ROW | --peak ROW | --profile ROW FILE | "
               "--schedule ROW\n";
  return 2;
} catch (const std::exception& e) {
  std::cerr << "error: " << e.what() << "\n";
  return 1;
}
