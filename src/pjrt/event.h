// Events: what callers wait for. An event shares the state of a call or transfer, so the caller may
// destroy the event at any time.
#pragma once

#include "pjrt/error.h"
#include "runtime/completion.h"

#include <memory>

struct PJRT_Event {
  std::shared_ptr<tessera::runtime::Completion> done;  // null: it is ready
};

namespace tessera::inline v0::pjrt {

/// An event for the end of a call; null stands for a call that has ended.
PJRT_Event* make_event(std::shared_ptr<runtime::Completion> done);

PJRT_Error* event_destroy(PJRT_Event_Destroy_Args* args);
PJRT_Error* event_is_ready(PJRT_Event_IsReady_Args* args);
PJRT_Error* event_error(PJRT_Event_Error_Args* args);
PJRT_Error* event_await(PJRT_Event_Await_Args* args);
PJRT_Error* event_on_ready(PJRT_Event_OnReady_Args* args);
PJRT_Error* event_create(PJRT_Event_Create_Args* args);
PJRT_Error* event_set(PJRT_Event_Set_Args* args);

}  // namespace tessera::inline v0::pjrt
