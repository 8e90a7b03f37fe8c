// `tessera run` and `tessera print`.
#include "command.h"
#include "output.h"

#include <tessera/npy.h>
#include <tessera/stablehlo.h>

#include <filesystem>
#include <sstream>
#include <system_error>

namespace command {

namespace {

struct Request {
  std::string file, out;
  tessera::LoadOptions options;
  Words inputs;
  std::int64_t size = 1;
};

Request read(const Words& arguments, bool runs) {
  Request r;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& w = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (++i == arguments.size()) throw Unusable{w + " takes a value"};
      return arguments[i];
    };
    if (w == "--function")
      r.options.function = value();
    else if (runs && w == "--arg")
      r.inputs.push_back(value());
    else if (runs && w == "--out")
      r.out = value();
    else if (!runs && w == "--size")
      r.size = positive(w, value());
    else if (runs && w == "--evaluate")
      continue;
    else if (w.starts_with("--"))
      throw Unusable{std::string(runs ? "run" : "print") + " has no option " + w};
    else if (!r.file.empty())
      throw Unusable{"one file is taken, and '" + w + "' is a second"};
    else
      r.file = w;
  }
  if (r.file.empty()) throw Unusable{std::string(runs ? "run" : "print") + " takes a file"};
  if (r.out.empty()) return r;
  std::error_code ec;
  if (std::filesystem::exists(r.out, ec) && !std::filesystem::is_directory(r.out, ec))
    throw Unusable{"--out takes a folder, and '" + r.out + "' is none"};
  std::filesystem::create_directories(r.out, ec);
  if (ec) throw Unusable{"the folder '" + r.out + "' cannot be made: " + ec.message()};
  return r;
}

}  // namespace

int run(const Words& arguments) {
  const Request request = read(arguments, true);
  const tessera::LoadedFunction f = tessera::load_stablehlo(request.file, request.options);
  std::vector<tessera::Array> inputs;
  for (const std::string& path : request.inputs) inputs.push_back(tessera::load_npy(path));
  const std::vector<tessera::Array> results = f(inputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    // The result's own type is shown, because the function may leave dimensions open until a call.
    std::ostringstream text;
    text << name_text(f.outputs()[i].name) << ": " << results[i].dtype() << results[i].shape()
         << "\n";
    if (request.out.empty()) {
      text << results[i] << "\n";
      say(text.str());
      continue;
    }
    // Results are named by their paths in the exported function, so files are named by their
    // numbers.
    const std::string path = request.out + "/" + std::to_string(i) + ".npy";
    tessera::save_npy(path, results[i]);
    say(text.str() + name_text(path) + "\n");
  }
  return kWell;
}

int print(const Words& arguments) {
  const Request request = read(arguments, false);
  say(tessera::stablehlo_program(request.file, request.options, request.size));
  return kWell;
}

}  // namespace command
