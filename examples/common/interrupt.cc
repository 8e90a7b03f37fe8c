#include "common/interrupt.h"

#include <tessera/creation.h>
#include <tessera/distributed.h>
#include <tessera/reductions.h>

#include <csignal>
#include <initializer_list>

namespace {
volatile std::sig_atomic_t asked = 0;
}

void watch_for_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // nohup and shells ask for this
    struct sigaction mark {};
    mark.sa_handler = [](int) { asked = 1; };
    mark.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(signal, &mark, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return asked != 0; }
bool any_interrupted() {
  if (tessera::process_count() == 1) return interrupted();
  const tessera::Array asks = tessera::process_allgather(tessera::Array(interrupted() ? 1 : 0));
  return tessera::item<int>(tessera::max(asks)) != 0;
}
