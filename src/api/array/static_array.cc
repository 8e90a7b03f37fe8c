#include <tessera/static_array.h>

#include "api/array/array_impl.h"
#include "base/message.h"

#include <tessera/device.h>

#include <fmt/format.h>
#include <xxhash.h>

namespace tessera::inline v0 {

StaticArray::StaticArray(const Array& x) {
  if (!x.is_concrete())
    Message("StaticArray")
        .problem("the array " + (x.is_empty() ? "is empty"
                                              : detail::visible_text(x.impl()->type) + " is " +
                                                    (x.is_traced() ? "traced" : "abstract")))
        .rule("a static array is known when a function is traced: it needs values")
        .advice("make the parameter an Array, or pass values from outside the traced function")
        .raise<TraceError>();
  array_ = device_get(x);
  bytes_ = array_.nbytes();
  runtime::BufferPtr hold;
  const detail::Reading read(array_, "StaticArray");
  const std::byte* bytes = runtime::dense_bytes(*read, hold);
  const XXH128_hash_t h =
      XXH3_128bits(bytes, static_cast<std::size_t>(array_.impl()->type.bytes()));
  content_ = fmt::format("{} #{:016x}{:016x}", to_string(array_.impl()->type), h.high64, h.low64);
}

}  // namespace tessera::inline v0
