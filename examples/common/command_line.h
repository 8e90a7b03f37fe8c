// The frame of an example's main(): the command line, and errors that end it with exit code 2.
#pragma once

#include <tessera/device.h>

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

/// Explains a mistake to the user; returns the exit code for it.
inline int refuse(const std::string& why) {
  std::cerr << "error: " << why << "\n";
  return 2;
}

/// Parses the command line, to which --platform is added. Returns an exit code if the program should
/// end at once: 0 after --help, 2 after a mistake, which is explained to the user.
inline std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  std::string platform;
  app.add_option("--platform", platform,
                 "where to run: cpu, cuda, rocm, tpu, or the path of a plug-in");
  try {
    app.parse(argc, argv);
    // The library reads this variable when it needs a device for the first time.
    if (platform.find('/') != std::string::npos)
      platform = std::filesystem::absolute(platform).string();
    if (!platform.empty()) ::setenv("TESSERA_PLATFORM", platform.c_str(), 1);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    return refuse(std::string(e.what()) + " (--help lists the options)");
  }
}

/// The text that the user gave for an option, or its default.
inline std::string given(const CLI::App& app, const std::string& name) {
  const auto texts = app.get_option(name)->results();
  return texts.empty() ? app.get_option(name)->get_default_str() : texts.back();
}

/// Refuses a number that as a float32 is not positive and finite.
inline std::optional<int> need_positive(const CLI::App& app, const std::string& name,
                                        double value) {
  const auto number = static_cast<float>(value);
  if (number > 0 && std::isfinite(number)) return std::nullopt;
  return refuse(name + " is " + given(app, name) + "; a positive float32 is needed");
}

/// Refuses an option that was given as an empty text; `instead` says what it names.
inline std::optional<int> need_text(const CLI::App& app, const std::string& name,
                                    const std::string& instead) {
  if (app.count(name) == 0 || !app.get_option(name)->as<std::string>().empty()) return std::nullopt;
  return refuse(name + " is empty; name " + instead);
}

/// Adds --devices, the number of virtual devices, from 1 to `most`.
inline CLI::Option* add_devices(CLI::App& app, int& devices, int most,
                                const std::string& what = "virtual devices") {
  return app.add_option("--devices", devices, what)
      ->capture_default_str()
      ->check(CLI::Range(1, most));
}

/// Makes as many virtual devices of the CPU; another platform must have this number.
inline void use_devices(int devices) {
  if (tessera::default_backend() == "cpu") {
    tessera::set_device_count(devices);
  } else if (tessera::device_count() != devices) {
    throw std::runtime_error("the platform has " + std::to_string(tessera::device_count()) +
                             " devices, and this example uses " + std::to_string(devices));
  }
}

/// Returns the exit code that `body` returns, or explains its exception and returns 2.
template <class Body>
int report_errors(Body&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    return refuse(e.what());
  }
}

/// Parses the command line and runs `body`, which returns the exit code.
template <class Body>
int run_example(CLI::App& app, int argc, char** argv, Body&& body) {
  if (const std::optional<int> code = parse(app, argc, argv)) return *code;
  return report_errors(body);
}
