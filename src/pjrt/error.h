// Errors at the interface: exceptions inside become error objects, which the caller destroys.
#pragma once

#include "platforms/abi.h"

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string text;
};

namespace tessera::inline v0::pjrt {

/// An error with a code of its own.
class Failure : public std::runtime_error {
 public:
  Failure(PJRT_Error_Code code, const std::string& text) : std::runtime_error(text), code(code) {}
  const PJRT_Error_Code code;
};

/// Throws a Failure with the code INVALID_ARGUMENT.
[[noreturn]] void refuse(const std::string& text);
/// Throws a Failure with the code UNIMPLEMENTED.
[[noreturn]] void unimplemented(const std::string& text);

/// The error object of an exception. The code follows from its type: wrong arguments for what users
/// cause, exhausted resources for memory, an internal error for our own mistakes.
PJRT_Error* error_of(const std::exception_ptr& thrown) noexcept;

/// Runs the body of a function of the interface, which no exception may leave.
template <class F>
PJRT_Error* guarded(F&& body) noexcept {
  try {
    std::forward<F>(body)();
    return nullptr;
  } catch (...) {
    return error_of(std::current_exception());
  }
}

/// Whether a caller's struct has this field; callers of earlier versions have shorter structs.
template <class Args, class Field>
bool has_field(const Args& args, Field Args::*field) {
  const auto* begin = reinterpret_cast<const char*>(&args);
  const auto* end = reinterpret_cast<const char*>(&(args.*field)) + sizeof(Field);
  return static_cast<std::size_t>(end - begin) <= args.struct_size;
}

/// Gives callers a text that lives as long as its owner.
template <class Text>
void give(const Text& text, const char*& data, std::size_t& size) {
  data = text.data();
  size = text.size();
}

PJRT_Error* make_error(PJRT_Error_Code code, std::string text);

void error_destroy(PJRT_Error_Destroy_Args* args);
void error_message(PJRT_Error_Message_Args* args);
PJRT_Error* error_get_code(PJRT_Error_GetCode_Args* args);
PJRT_Error* error_for_each_payload(PJRT_Error_ForEachPayload_Args* args);

}  // namespace tessera::inline v0::pjrt
