#include "common/outputs.h"

#include <tessera/distributed.h>
#include <tessera/error.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

// Writes to a temporary file beside the target, which is opened exclusively, so that it neither
// replaces a file nor follows a link.
void write_file(const std::string& path, const std::string& text) {
  std::FILE* file = nullptr;
  std::string beside;
  for (int i = 0; i < 100 && !file; ++i) {
    beside = path + "." + std::to_string(getpid()) + "." + std::to_string(i) + ".tmp";
    file = std::fopen(beside.c_str(), "wx");
    if (!file && errno != EEXIST) break;
  }
  if (!file) throw tessera::IoError("cannot write " + path + ": " + std::strerror(errno));
  bool done = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  done = (std::fclose(file) == 0) && done;
  done = done && std::rename(beside.c_str(), path.c_str()) == 0;
  if (done) return;
  const std::string why = std::strerror(errno);
  std::remove(beside.c_str());
  throw tessera::IoError("cannot write " + path + ": " + why);
}

Outputs::Outputs(std::string folder, const std::vector<std::string>& files,
                 const std::vector<std::string>& folders)
    : folder_(std::move(folder)) {
  namespace fs = std::filesystem;
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw tessera::IoError(what + ": " + why + "; nothing was trained yet; choose another --out");
  };
  std::error_code ec;
  const auto make = [&](const std::string& of) {
    fs::create_directories(of, ec);
    if (ec) refuse("the folder " + of + " cannot be made", ec.message());
    if (access(of.c_str(), W_OK | X_OK) != 0)
      refuse("the folder " + of + " cannot be written", std::strerror(errno));
  };
  make(folder_);
  for (const std::string& name : folders) make(path(name));
  for (const std::string& name : files) {
    const std::string file = path(name);
    const fs::file_status found = fs::status(file, ec);
    if (!fs::exists(found)) continue;
    if (!fs::is_regular_file(found))
      refuse(file + " cannot be written",
             fs::is_directory(found) ? "it is a folder" : "it is not a file");
    if (access(file.c_str(), W_OK) != 0) refuse(file + " cannot be written", std::strerror(errno));
  }
}

bool reports() { return tessera::process_index() == 0; }
void leave_reports_to_the_first() {
  if (!reports() && !std::freopen("/dev/null", "w", stdout))
    throw tessera::IoError(std::string("cannot open /dev/null: ") + std::strerror(errno));
}

void Outputs::write(const std::string& name, const std::function<void()>& write) {
  if (reports()) write_together(name, write);
}
void Outputs::write_together(const std::string& name, const std::function<void()>& write) {
  try {
    write();
    if (std::find(written_.begin(), written_.end(), name) == written_.end())
      written_.push_back(name);
  } catch (const std::exception& e) {
    failed_ = true;
    std::cerr << "error: " << e.what() << "\n";
  }
}

std::string Outputs::report() const {
  if (written_.empty()) return "wrote nothing to " + folder_;
  std::string s = "wrote ";
  for (std::size_t i = 0; i < written_.size(); ++i)
    s += (i == 0 ? "" : i + 1 == written_.size() ? " and " : ", ") + written_[i];
  return s + " to " + folder_;
}

void Trace::before_step(std::int64_t done) {
  constexpr std::int64_t kUntraced = 2, kTraced = 20;  // steps that compile; steps in the trace
  if (done == kUntraced + kTraced) return end();
  try {
    if (done == kUntraced) profile_.emplace(path_);
  } catch (...) {
    problem_ = std::current_exception();  // the training continues
  }
}

void Trace::end() {
  if (problem_ || !profile_) return;
  try {
    profile_->finish();
  } catch (...) {
    problem_ = std::current_exception();
  }
}

void Trace::finish() const {
  if (problem_) std::rethrow_exception(problem_);
}
