// A plug-in that fails as it is told, for the tests of faults. Otherwise it is Tessera's own plug-in:
// its table of functions with a few replaced.
//
// The environment variable TESSERA_TEST_FAULT names the fault. Those of loading are read when the
// table is asked for, and the others at each call, so that a test can change them in between.
#include "platforms/abi.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

namespace {

bool is(const char* fault) {
  const char* now = std::getenv("TESSERA_TEST_FAULT");
  return now && std::string(now) == fault;
}

struct OwnError {
  std::string text;
  std::uint32_t code;
};
std::mutex g_mutex;
std::set<const void*>& own_errors() {
  static auto* all = new std::set<const void*>;
  return *all;
}
bool is_own(const PJRT_Error* error) {
  const std::lock_guard lock(g_mutex);
  return own_errors().contains(error);
}
PJRT_Error* failed(std::uint32_t code, std::string text) {
  auto* error = new OwnError{std::move(text), code};
  const std::lock_guard lock(g_mutex);
  own_errors().insert(error);
  return reinterpret_cast<PJRT_Error*>(error);
}
PJRT_Error* no_memory() {
  return failed(PJRT_Error_Code_RESOURCE_EXHAUSTED, "Out of memory allocating 4096 bytes.");
}
PJRT_Error* lost() {
  return failed(PJRT_Error_Code_UNAVAILABLE, "The device has fallen off the bus.");
}

const PJRT_Api* g_real = nullptr;

PJRT_Error* initialize(PJRT_Plugin_Initialize_Args* args) {
  if (is("initialize")) return failed(PJRT_Error_Code_INTERNAL, "The driver is too old.");
  return g_real->PJRT_Plugin_Initialize(args);
}
PJRT_Error* create(PJRT_Client_Create_Args* args) {
  if (is("create")) return failed(PJRT_Error_Code_UNAVAILABLE, "No device is visible.");
  if (is("crash")) std::abort();
  return g_real->PJRT_Client_Create(args);
}
PJRT_Error* devices(PJRT_Client_Devices_Args* args) {
  PJRT_Error* error = g_real->PJRT_Client_Devices(args);
  if (is("no_devices")) args->num_devices = 0;
  return error;
}
PJRT_Error* from_host(PJRT_Client_BufferFromHostBuffer_Args* args) {
  if (is("memory")) return no_memory();
  return g_real->PJRT_Client_BufferFromHostBuffer(args);
}
PJRT_Error* to_host(PJRT_Buffer_ToHostBuffer_Args* args) {
  if (is("lost_at_reading")) return lost();
  return g_real->PJRT_Buffer_ToHostBuffer(args);
}
PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  if (is("compile")) return failed(PJRT_Error_Code_INTERNAL, "The compiler has lost its way.");
  return g_real->PJRT_Client_Compile(args);
}
PJRT_Error* execute(PJRT_LoadedExecutable_Execute_Args* args) {
  if (is("memory_of_call")) return no_memory();
  if (is("lost")) return lost();
  return g_real->PJRT_LoadedExecutable_Execute(args);
}
PJRT_Error* stats(PJRT_Device_MemoryStats_Args* args) {
  PJRT_Error* error = g_real->PJRT_Device_MemoryStats(args);
  if (error || !is("memory")) return error;
  // Figures that do not depend on what ran before.
  args->bytes_in_use = 3 << 20;
  args->bytes_limit = 4 << 20;
  args->bytes_limit_is_set = true;
  return nullptr;
}

struct Later {
  void (*callback)(PJRT_Error* error, void* user_arg);
  void* user_arg;
};
void later(PJRT_Error* error, void* given) {
  auto* what = static_cast<Later*>(given);
  if (error) {
    PJRT_Error_Destroy_Args gone{};
    gone.struct_size = sizeof gone;
    gone.error = error;
    g_real->PJRT_Error_Destroy(&gone);
  }
  what->callback(lost(), what->user_arg);
  delete what;
}
PJRT_Error* on_ready(PJRT_Event_OnReady_Args* args) {
  if (!is("lost_later")) return g_real->PJRT_Event_OnReady(args);
  PJRT_Event_OnReady_Args own = *args;
  own.callback = later;
  own.user_arg = new Later{args->callback, args->user_arg};
  return g_real->PJRT_Event_OnReady(&own);
}

void error_destroy(PJRT_Error_Destroy_Args* args) {
  if (!is_own(args->error)) return g_real->PJRT_Error_Destroy(args);
  {
    const std::lock_guard lock(g_mutex);
    own_errors().erase(args->error);
  }
  delete reinterpret_cast<OwnError*>(args->error);
}
void error_message(PJRT_Error_Message_Args* args) {
  if (!is_own(args->error)) return g_real->PJRT_Error_Message(args);
  const auto* own = reinterpret_cast<const OwnError*>(args->error);
  args->message = own->text.data();
  args->message_size = own->text.size();
}
PJRT_Error* error_code(PJRT_Error_GetCode_Args* args) {
  if (!is_own(args->error)) return g_real->PJRT_Error_GetCode(args);
  args->code = reinterpret_cast<const OwnError*>(args->error)->code;
  return nullptr;
}

}  // namespace

extern "C" const PJRT_Api* GetPjrtApi() {
  if (is("nothing")) return nullptr;
  if (!g_real) {
    void* library = ::dlopen(TESSERA_PJRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) return nullptr;
    g_real = reinterpret_cast<const PJRT_Api* (*)()>(::dlsym(library, "GetPjrtApi"))();
  }
  // Never freed, like a plug-in's table.
  auto* table = new PJRT_Api(*g_real);
  table->PJRT_Error_Destroy = error_destroy;
  table->PJRT_Error_Message = error_message;
  table->PJRT_Error_GetCode = error_code;
  table->PJRT_Plugin_Initialize = initialize;
  table->PJRT_Client_Create = create;
  table->PJRT_Client_Devices = devices;
  table->PJRT_Client_Compile = compile;
  table->PJRT_Client_BufferFromHostBuffer = from_host;
  table->PJRT_Buffer_ToHostBuffer = to_host;
  table->PJRT_LoadedExecutable_Execute = execute;
  table->PJRT_Device_MemoryStats = stats;
  table->PJRT_Event_OnReady = on_ready;
  if (is("other_version")) table->pjrt_api_version.major_version = 1;
  if (is("old")) table->pjrt_api_version.minor_version = 20;
  if (is("short")) table->struct_size = 200;
  return table;
}
