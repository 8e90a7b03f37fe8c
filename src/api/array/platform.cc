#include "api/array/platform.h"

namespace tessera::inline v0::detail {

runtime::Backend& need_backend(const char* function, std::string_view platform,
                               const SourceLoc& loc) {
  if (runtime::Backend* b = runtime::find_backend(platform)) return *b;
  std::string names;
  for (const std::string& name : runtime::platforms())
    names += (names.empty() ? "'" : ", '") + name + "'";
  Message(function)
      .problem("there is no platform '" + std::string(platform) + "'")
      .rule("this process has " + names)
      .from(loc)
      .advice("take one of devices()")
      .raise<DeviceError>();
}

}  // namespace tessera::inline v0::detail
