// Files of the tests in this folder, as bytes.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace checkpoint_test {

/// A path in a folder of this process, which is removed at its end, because several processes run
/// this suite at once.
inline std::string path_of(const char* name) {
  struct Folder {
    std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) / ("tessera-files-" + std::to_string(::getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return (folder.path / name).string();
}
inline void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

}  // namespace checkpoint_test
