// `tessera new`: the files of a project that trains a small network; and where CMake finds Tessera.
#include "command.h"
#include "output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace command {

namespace {

namespace fs = std::filesystem;

struct ProjectFile {
  std::string_view path, text;
};
#include "project_files.h"

// The folder of the CMake package that was installed with this program, or nothing if the program
// runs from a build folder.
std::optional<fs::path> package_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return std::nullopt;
  const fs::path folder = (program.parent_path() / TESSERA_PACKAGE_FROM_COMMAND).lexically_normal();
  if (!fs::exists(folder / "tesseraConfig.cmake", failed)) return std::nullopt;
  return folder;
}

// CMake searches these prefixes by default.
bool is_found_by_cmake(const fs::path& folder) {
  const std::string text = folder.string();
  return text.starts_with("/usr/lib") || text.starts_with("/usr/local/lib");
}

// The project's name is also that of a target and of a program.
void check_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_fine = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || !is_letter(name[0]) || !std::ranges::all_of(name, is_fine))
    throw Unusable{
        "a project's name begins with a letter and consists of letters, digits, '_' and "
        "'-', and '" +
        name + "' does not"};
  // Targets that CMake, Tessera or the project itself defines.
  for (std::string_view taken : {"all", "clean", "depend", "edit_cache", "help", "install",
                                 "model_test", "package", "rebuild_cache", "tessera", "test"})
    if (name == taken) throw Unusable{"'" + name + "' is the name of another CMake target"};
}

std::string with_name(std::string_view text, const std::string& name) {
  constexpr std::string_view kPlace = "@project@";
  std::string made;
  for (std::size_t at; (at = text.find(kPlace)) != text.npos;
       text.remove_prefix(at + kPlace.size()))
    made.append(text.substr(0, at)).append(name);
  return made.append(text);
}

void write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw Unusable{"the file '" + path.string() + "' cannot be written: " + std::strerror(errno)};
}

}  // namespace

int make_project(const Words& arguments) {
  const Words others = read_options("new", arguments, {});
  if (others.size() != 1)
    throw Unusable{"new takes the folder of the project, and gets " +
                   std::to_string(others.size()) + " arguments"};
  const fs::path folder = fs::path(others[0] + "/").parent_path();
  const std::string name = folder.filename().string();
  check_name(name);
  std::error_code failed;
  if (fs::exists(folder, failed) &&
      !(fs::is_directory(folder, failed) && fs::is_empty(folder, failed)))
    throw Unusable{"'" + folder.string() + "' exists already; nothing was written"};
  for (const ProjectFile& file : kProjectFiles) {
    const fs::path path = folder / file.path;
    fs::create_directories(path.parent_path(), failed);
    if (failed)
      throw Unusable{"the folder '" + path.parent_path().string() +
                     "' cannot be made: " + failed.message()};
    write_file(path, with_name(file.text, name));
  }
  const std::optional<fs::path> package = package_folder();
  const std::string where =
      package && !is_found_by_cmake(*package) ? " -Dtessera_DIR='" + package->string() + "'" : "";
  say("Made " + folder.string() + ". To build it, run it and test it:\n\n    cd " +
      folder.string() + "\n    cmake -B build" + where + "\n    cmake --build build\n    ./build/" +
      name + "\n    ctest --test-dir build\n");
  return kWell;
}

int print_package_folder() {
  const std::optional<fs::path> package = package_folder();
  if (!package)
    throw Unusable{"there is no CMake package beside this program, which is not an installed one"};
  say(package->string() + "\n");
  return kWell;
}

}  // namespace command
