#include "pjrt/error.h"

#include <tessera/error.h>

#include <new>

namespace tessera::inline v0::pjrt {

void refuse(const std::string& text) { throw Failure(PJRT_Error_Code_INVALID_ARGUMENT, text); }
void unimplemented(const std::string& text) { throw Failure(PJRT_Error_Code_UNIMPLEMENTED, text); }

PJRT_Error* make_error(PJRT_Error_Code code, std::string text) {
  return new PJRT_Error{code, std::move(text)};
}

PJRT_Error* error_of(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& e) {
    return make_error(e.code, e.what());
  } catch (const DeviceError& e) {
    const bool is_memory = e.problem().starts_with("there is no memory");
    return make_error(is_memory ? PJRT_Error_Code_RESOURCE_EXHAUSTED : PJRT_Error_Code_NOT_FOUND,
                      e.what());
  } catch (const Error& e) {
    return make_error(PJRT_Error_Code_INVALID_ARGUMENT, e.what());
  } catch (const std::bad_alloc& e) {
    return make_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, e.what());
  } catch (const std::exception& e) {
    return make_error(PJRT_Error_Code_INTERNAL, e.what());
  } catch (...) {
    return make_error(PJRT_Error_Code_UNKNOWN, "an exception of an unknown type");
  }
}

void error_destroy(PJRT_Error_Destroy_Args* args) { delete args->error; }
void error_message(PJRT_Error_Message_Args* args) {
  args->message = args->error->text.data();
  args->message_size = args->error->text.size();
}
PJRT_Error* error_get_code(PJRT_Error_GetCode_Args* args) {
  args->code = args->error->code;
  return nullptr;
}
// Our errors carry nothing but code and text.
PJRT_Error* error_for_each_payload(PJRT_Error_ForEachPayload_Args*) { return nullptr; }

}  // namespace tessera::inline v0::pjrt
