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

// The options of both.
std::vector<Option> options_of(Request& r) {
  return {{"--function", [&r](const std::string& v) { r.options.function = v; }}};
}

Request read_run(const Words& arguments) {
  Request r;
  std::vector<Option> options = options_of(r);
  options.push_back({"--arg", [&](const std::string& v) { r.inputs.push_back(v); }});
  options.push_back({"--out", [&](const std::string& v) { r.out = v; }});
  options.push_back({"--evaluate", nullptr});
  r.file = only_file("run", read_options("run", arguments, options));
  if (r.out.empty()) return r;
  std::error_code ec;
  if (std::filesystem::exists(r.out, ec) && !std::filesystem::is_directory(r.out, ec))
    throw Unusable{"--out takes a folder, and '" + r.out + "' is none"};
  std::filesystem::create_directories(r.out, ec);
  if (ec) throw Unusable{"the folder '" + r.out + "' cannot be made: " + ec.message()};
  return r;
}

Request read_print(const Words& arguments) {
  Request r;
  std::vector<Option> options = options_of(r);
  options.push_back({"--size", [&](const std::string& v) { r.size = positive("--size", v); }});
  r.file = only_file("print", read_options("print", arguments, options));
  return r;
}

}  // namespace

int run(const Words& arguments) {
  const Request request = read_run(arguments);
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
  const Request request = read_print(arguments);
  say(tessera::stablehlo_program(request.file, request.options, request.size));
  return kWell;
}

}  // namespace command
