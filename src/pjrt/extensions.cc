#include "pjrt/extensions.h"

#include "pjrt/executable.h"
#include "pjrt/profiler.h"

namespace tessera::inline v0::pjrt {

namespace {

PJRT_Layouts_MemoryLayout* new_layout(const Shape& order) {
  return new PJRT_Layouts_MemoryLayout{order, true};
}

PJRT_Error* layout_destroy(PJRT_Layouts_MemoryLayout_Destroy_Args* args) {
  if (args->layout->is_callers) delete args->layout;
  return nullptr;
}

// XLA writes layouts as text: "{2,1,0}", the minor dimension first.
PJRT_Error* layout_serialize(PJRT_Layouts_MemoryLayout_Serialize_Args* args) {
  return guarded([&] {
    auto text = std::make_unique<std::string>("{");
    for (const std::int64_t d : args->layout->order)
      *text += (text->size() > 1 ? "," : "") + std::to_string(d);
    *text += "}";
    args->serialized_bytes = text->data();
    args->serialized_bytes_size = text->size();
    args->serialized_layout = text.release();
    args->serialized_layout_deleter = [](void* made) { delete static_cast<std::string*>(made); };
  });
}

PJRT_Error* layout_of_client(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args) {
  return guarded([&] { args->layout = new_layout(row_major_order(args->num_dims)); });
}
PJRT_Error* layout_of_topology(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args) {
  return guarded([&] { args->layout = new_layout(row_major_order(args->num_dims)); });
}
PJRT_Error* layout_of_buffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args) {
  return guarded([&] { args->layout = new_layout(args->buffer->order); });
}

// The layouts of an executable live as long as it does.
PJRT_Error* layouts_of_outputs(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args) {
  args->num_outputs = args->executable->output_layouts.size();
  args->layouts = args->executable->output_layouts.data();
  return nullptr;
}
PJRT_Error* layouts_of_parameters(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args* args) {
  args->num_parameters = args->executable->parameter_layouts.size();
  args->layouts = args->executable->parameter_layouts.data();
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* extensions() {
  static PJRT_Shardings_Extension shardings{
      {sizeof(PJRT_Shardings_Extension), PJRT_Extension_Type_Shardings, profiler_extension()},
      executable_parameter_shardings,
      executable_output_shardings};
  static PJRT_MemoryDescriptions_Extension memories{
      {sizeof(PJRT_MemoryDescriptions_Extension), PJRT_Extension_Type_MemoryDescriptions,
       &shardings.base},
      description_memories,
      memory_description_kind};
  static PJRT_Layouts_Extension layouts{
      {sizeof(PJRT_Layouts_Extension), PJRT_Extension_Type_Layouts, &memories.base},
      layout_destroy,
      layout_serialize,
      layout_of_client,
      layout_of_buffer,
      layout_of_topology,
      layouts_of_outputs,
      layouts_of_parameters};
  return &layouts.base;
}

}  // namespace tessera::inline v0::pjrt
