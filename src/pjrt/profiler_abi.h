// The C interface of a plug-in's profiler, which the extension of type 1 carries.
#pragma once

#include "platforms/abi.h"

struct PLUGIN_Profiler;
struct PLUGIN_Profiler_Error;

struct PLUGIN_Profiler_Error_Destroy_Args {
  std::size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;
};
struct PLUGIN_Profiler_Error_Message_Args {
  std::size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;
  const char* message;
  std::size_t message_size;
};
struct PLUGIN_Profiler_Error_GetCode_Args {
  std::size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;
  std::int32_t code;
};
struct PLUGIN_Profiler_Create_Args {
  std::size_t struct_size;
  const char* options;  // a message ProfileOptions
  std::size_t options_size;
  PLUGIN_Profiler* profiler;
};
struct PLUGIN_Profiler_Destroy_Args {
  std::size_t struct_size;
  PLUGIN_Profiler* profiler;
};
struct PLUGIN_Profiler_Start_Args {
  std::size_t struct_size;
  PLUGIN_Profiler* profiler;
};
struct PLUGIN_Profiler_Stop_Args {
  std::size_t struct_size;
  PLUGIN_Profiler* profiler;
};
/// If the caller passes no buffer, it gets the plug-in's, which lives as long as the profiler.
struct PLUGIN_Profiler_CollectData_Args {
  std::size_t struct_size;
  PLUGIN_Profiler* profiler;
  std::uint8_t* buffer;
  std::size_t buffer_size_in_bytes;
};

/// The functions of the interface's first version; later ones append to them.
struct PLUGIN_Profiler_Api {
  std::size_t struct_size;
  void* priv;
  void (*error_destroy)(PLUGIN_Profiler_Error_Destroy_Args* args);
  void (*error_message)(PLUGIN_Profiler_Error_Message_Args* args);
  PLUGIN_Profiler_Error* (*error_get_code)(PLUGIN_Profiler_Error_GetCode_Args* args);
  PLUGIN_Profiler_Error* (*create)(PLUGIN_Profiler_Create_Args* args);
  PLUGIN_Profiler_Error* (*destroy)(PLUGIN_Profiler_Destroy_Args* args);
  PLUGIN_Profiler_Error* (*start)(PLUGIN_Profiler_Start_Args* args);
  PLUGIN_Profiler_Error* (*stop)(PLUGIN_Profiler_Stop_Args* args);
  PLUGIN_Profiler_Error* (*collect_data)(PLUGIN_Profiler_CollectData_Args* args);
};

struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api* profiler_api;
  std::int64_t traceme_context_id;
};
