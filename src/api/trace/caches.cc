#include <tessera/cache.h>

#include "api/trace/cache.h"
#include "base/message.h"
#include "runtime/forms.h"
#include "runtime/kept.h"

namespace tessera::inline v0 {

void clear_caches() {
  detail::forget_composites();
  runtime::drop_kept();
  runtime::drop_forms();
}

std::int64_t cache_limit() { return runtime::kept_limit(); }

void set_cache_limit(std::int64_t bytes, std::source_location loc) {
  if (bytes < 0)
    Message("set_cache_limit")
        .problem("programs cannot take " + std::to_string(bytes) + " bytes")
        .rule("the limit is 0 or more bytes; 0 keeps nothing that is not in use")
        .from(loc)
        .advice("set_cache_limit(std::int64_t{256} << 20)")
        .raise<Error>();
  runtime::set_kept_limit(bytes);
}

CacheStats cache_stats() {
  const runtime::KeptStats s = runtime::kept_stats();
  return {s.bytes, s.items, s.evicted};
}

std::int64_t operand_cache_limit() { return runtime::forms_limit(); }

void set_operand_cache_limit(std::int64_t bytes, std::source_location loc) {
  if (bytes < 0)
    Message("set_operand_cache_limit")
        .problem("packed operands cannot take " + std::to_string(bytes) + " bytes")
        .rule("the limit is 0 or more bytes; with 0, none are kept")
        .from(loc)
        .advice("set_operand_cache_limit(std::int64_t{1} << 30)")
        .raise<Error>();
  runtime::set_forms_limit(bytes);
}

OperandCacheStats operand_cache_stats() {
  const runtime::FormsStats s = runtime::forms_stats();
  return {s.bytes, s.forms, s.evicted};
}

}  // namespace tessera::inline v0
