// A PJRT plug-in: the shared library of a platform, its table of functions, and the conversion of
// its errors to exceptions.
#pragma once

#include "base/process.h"
#include "platforms/abi.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::platforms {

/// A function of the interface failed, or the plug-in does not have it.
class Failure : public std::runtime_error {
 public:
  Failure(std::uint32_t code, const std::string& text) : std::runtime_error(text), code(code) {}
  /// One of PJRT_Error_Code.
  const std::uint32_t code;
};

/// The plug-in speaks a version of the interface that lacks what is needed.
class OtherVersion : public Failure {
 public:
  using Failure::Failure;
};

/// "INVALID_ARGUMENT"; the number for a code that the interface does not name.
std::string code_name(std::uint32_t code);

/// While it is alive, the message of a crash names the plug-in at `path` as its cause. Only one may
/// be alive at a time.
class LastWords {
 public:
  explicit LastWords(const std::string& path);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
};

/// A loaded plug-in. It is never unloaded, since its threads may run as long as the process.
class Plugin {
 public:
  /// Loads the library at `path`. Throws OtherVersion, and Failure with the loader's text or if the
  /// library has no PJRT.
  explicit Plugin(const std::string& path);
  /// Lets the plug-in initialise itself, once, before anything else is called.
  void initialize() const;
  /// The versions of the interface that this library speaks, for messages.
  static std::string versions();

  const std::string& path() const { return path_; }
  /// A text that changes when the library's file changes.
  std::string identity() const;
  /// The version of the interface that the plug-in was built with.
  int major() const { return api_->pjrt_api_version.major_version; }
  int minor() const { return api_->pjrt_api_version.minor_version; }

  /// Calls a function of the table. The arguments' size is set here. Throws Failure if the function
  /// fails, if the plug-in is older than the function, or if nothing may be called any more because
  /// the process ends or is the child of a fork.
  template <class Args>
  void call(PJRT_Error* (*PJRT_Api::*function)(Args*), Args& args) const {
    if (!has(function)) lacks();
    const Inside inside;
    if (!Inside::libraries() || forked()) gone();
    args.struct_size = sizeof(Args);
    if (PJRT_Error* error = (api_->*function)(&args)) fail(error);
  }
  /// Whether the plug-in has this function. It may still return an error because it does not
  /// implement it.
  template <class Args>
  bool has(PJRT_Error* (*PJRT_Api::*function)(Args*)) const {
    const auto* table = reinterpret_cast<const char*>(api_);
    const auto* slot = reinterpret_cast<const char*>(&(api_->*function));
    return static_cast<std::size_t>(slot - table) + sizeof(void*) <= api_->struct_size &&
           api_->*function;
  }
  /// The exception for an error object, which is destroyed.
  Failure failure_of(PJRT_Error* error) const;

 private:
  [[noreturn]] void fail(PJRT_Error* error) const { throw failure_of(error); }
  [[noreturn]] void lacks() const;
  [[noreturn]] void gone() const;

  std::string path_;
  const PJRT_Api* api_ = nullptr;
};

}  // namespace tessera::inline v0::platforms
