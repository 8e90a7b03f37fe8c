#include "base/warning.h"

#include "base/process.h"

#include <cstdio>
#include <mutex>

namespace tessera::inline v0 {
namespace {

struct Handler {
  std::mutex lock;
  WarningHandler call;
};
Handler& handler() {
  static Handler* h =
      new Handler;  // lives until the process ends: warnings may come from exiting threads
  return *h;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler next) {
  Handler& h = handler();
  Locked lock(h.lock);
  std::swap(h.call, next);
  return next;
}

void warn(const Message& message) {
  Handler& h = handler();
  WarningHandler call;
  {
    Locked lock(h.lock);
    call = h.call;
  }
  const std::string text = message.str();
  if (call)
    call(text);
  else
    std::fprintf(stderr, "tessera warning: %s\n", text.c_str());
}

}  // namespace tessera::inline v0
