#include "platforms/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace tessera::inline v0::platforms {

namespace {

constexpr std::array<std::string_view, 17> kCodes{
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Since this version, every table has the functions that a client needs.
constexpr int kOldestMinor = 40;

[[noreturn]] void refuse(std::uint32_t code, const std::string& text) { throw Failure(code, text); }

// A plug-in that crashes ends the process, and the crash cannot be turned into an exception. While
// a plug-in is loaded and creates its client, a crash at least prints a message that names the
// plug-in.
constexpr std::array kCrashes{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
std::array<char, 4096> g_last_words;  // of the process, which has one handler for each signal
std::array<struct sigaction, kCrashes.size()> g_before;

void say_last_words(int signal) {
  const std::size_t length = ::strnlen(g_last_words.data(), g_last_words.size());
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, g_last_words.data(), length);
  for (std::size_t i = 0; i < kCrashes.size(); ++i)
    if (kCrashes[i] == signal) ::sigaction(signal, &g_before[i], nullptr);
  ::raise(signal);
}

}  // namespace

LastWords::LastWords(const std::string& path) {
  std::snprintf(g_last_words.data(), g_last_words.size(),
                "load_platform: the plug-in %s crashed while it was loaded\n"
                "  rule: a plug-in runs in the process that loads it, which ends with it\n"
                "  try: load it in a program of its own, and look for the libraries and drivers "
                "which it needs (ldd %s)\n",
                path.c_str(), path.c_str());
  struct sigaction own {};
  own.sa_handler = say_last_words;
  own.sa_flags = SA_NODEFER;
  for (std::size_t i = 0; i < kCrashes.size(); ++i) ::sigaction(kCrashes[i], &own, &g_before[i]);
}

LastWords::~LastWords() {
  // Handlers that the plug-in has installed are kept.
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    struct sigaction now {};
    ::sigaction(kCrashes[i], nullptr, &now);
    if (now.sa_handler == say_last_words) ::sigaction(kCrashes[i], &g_before[i], nullptr);
  }
}

std::string code_name(std::uint32_t code) {
  return code < kCodes.size() ? std::string(kCodes[code]) : "code " + std::to_string(code);
}

Plugin::Plugin(const std::string& path) : path_(path) {
  // The plug-in's symbols stay private, because it may bring libraries, such as LLVM, that this
  // process has in another version.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* text = ::dlerror();
    refuse(PJRT_Error_Code_NOT_FOUND, text ? text : "it cannot be loaded");
  }
  using GetPjrtApi = const PJRT_Api* (*)();
  const auto get = reinterpret_cast<GetPjrtApi>(::dlsym(library, "GetPjrtApi"));
  if (!get)
    refuse(PJRT_Error_Code_INVALID_ARGUMENT, "it has no function GetPjrtApi, so it is no plug-in");
  api_ = get();
  if (!api_) refuse(PJRT_Error_Code_INTERNAL, "its function GetPjrtApi returned nothing");
  const PJRT_Api_Version& version = api_->pjrt_api_version;
  if (version.major_version != 0 || version.minor_version < kOldestMinor)
    throw OtherVersion(PJRT_Error_Code_FAILED_PRECONDITION,
                       "it speaks version " + std::to_string(version.major_version) + "." +
                           std::to_string(version.minor_version) + " of PJRT");
}

void Plugin::initialize() const {
  PJRT_Plugin_Initialize_Args args{};
  call(&PJRT_Api::PJRT_Plugin_Initialize, args);
}

std::string Plugin::versions() {
  return "0." + std::to_string(kOldestMinor) + " and all later ones before 1.0";
}

std::string Plugin::identity() const {
  std::error_code error;
  const auto size = std::filesystem::file_size(path_, error);
  const auto written = static_cast<std::int64_t>(
      std::filesystem::last_write_time(path_, error).time_since_epoch().count());
  return path_ + " " + std::to_string(size) + " " + std::to_string(written);
}

Failure Plugin::failure_of(PJRT_Error* error) const {
  PJRT_Error_Message_Args message{};
  message.struct_size = sizeof message;
  message.error = error;
  api_->PJRT_Error_Message(&message);
  std::string text(message.message, message.message_size);
  PJRT_Error_GetCode_Args code{};
  code.struct_size = sizeof code;
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  if (PJRT_Error* second = api_->PJRT_Error_GetCode(&code)) {
    PJRT_Error_Destroy_Args gone{};
    gone.struct_size = sizeof gone;
    gone.error = second;
    api_->PJRT_Error_Destroy(&gone);
  }
  PJRT_Error_Destroy_Args gone{};
  gone.struct_size = sizeof gone;
  gone.error = error;
  api_->PJRT_Error_Destroy(&gone);
  return {code.code, text};
}

void Plugin::gone() const {
  refuse(PJRT_Error_Code_UNAVAILABLE,
         forked() ? "this process is the child of a fork, which has no threads of the plug-in"
                  : "the process ends, and the plug-in may have ended before");
}

void Plugin::lacks() const {
  throw OtherVersion(PJRT_Error_Code_UNIMPLEMENTED,
                     "the plug-in speaks version 0." + std::to_string(minor()) +
                         " of PJRT, which lacks a function that is needed");
}

}  // namespace tessera::inline v0::platforms
