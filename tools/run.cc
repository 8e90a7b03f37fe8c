// `tessera run` and `tessera print`.
#include "command.h"

#include <tessera/npy.h>
#include <tessera/stablehlo.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace command {

namespace {

struct Request {
  std::string file, out;
  tessera::LoadOptions options;
  Words inputs;
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
    const tessera::ArrayType& type = f.outputs()[i];
    std::cout << type.name << ": " << type.dtype << type.shape << "\n";
    if (request.out.empty()) {
      std::cout << results[i] << "\n";
      continue;
    }
    // Names of results are paths in what was exported; their numbers are the files'.
    const std::string path = request.out + "/" + std::to_string(i) + ".npy";
    tessera::save_npy(path, results[i]);
    std::cout << path << "\n";
  }
  return kWell;
}

int print(const Words& arguments) {
  const Request request = read(arguments, false);
  std::cout << tessera::stablehlo_program(request.file, request.options);
  return kWell;
}

}  // namespace command
