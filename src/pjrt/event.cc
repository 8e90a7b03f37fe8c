#include "pjrt/event.h"

namespace tessera::inline v0::pjrt {

PJRT_Event* make_event(std::shared_ptr<runtime::Completion> done) {
  return new PJRT_Event{std::move(done)};
}

PJRT_Error* event_destroy(PJRT_Event_Destroy_Args* args) {
  delete args->event;
  return nullptr;
}

PJRT_Error* event_is_ready(PJRT_Event_IsReady_Args* args) {
  args->is_ready = !args->event->done || args->event->done->done();
  return nullptr;
}

PJRT_Error* event_error(PJRT_Event_Error_Args* args) {
  return guarded([&] {
    const auto& done = args->event->done;
    if (!done) return;
    if (!done->done()) throw Failure(PJRT_Error_Code_FAILED_PRECONDITION, "the event is not ready");
    done->wait();
  });
}

PJRT_Error* event_await(PJRT_Event_Await_Args* args) {
  return guarded([&] {
    // Several callers may wait, and one of them may destroy the event.
    if (const auto done = args->event->done) done->wait();
  });
}

PJRT_Error* event_on_ready(PJRT_Event_OnReady_Args* args) {
  return guarded([&] {
    const auto callback = args->callback;
    void* const user = args->user_arg;
    const auto done = args->event->done;
    if (!done) return callback(nullptr, user);
    done->then([callback, user](const std::exception_ptr& error) {
      callback(error ? error_of(error) : nullptr, user);
    });
  });
}

PJRT_Error* event_create(PJRT_Event_Create_Args* args) {
  return guarded([&] { args->event = make_event(std::make_shared<runtime::Event>()); });
}

PJRT_Error* event_set(PJRT_Event_Set_Args* args) {
  return guarded([&] {
    auto* const event = dynamic_cast<runtime::Event*>(args->event->done.get());
    if (!event) refuse("only an event that PJRT_Event_Create made can be set");
    if (event->done())
      throw Failure(PJRT_Error_Code_FAILED_PRECONDITION, "the event was set before");
    if (!args->error_code) return event->end();
    const auto code = static_cast<PJRT_Error_Code>(args->error_code);
    event->end(std::make_exception_ptr(
        Failure(code, std::string(args->error_message, args->error_message_size))));
  });
}

}  // namespace tessera::inline v0::pjrt
