// A library that prints a line if it is loaded instead of the plug-in.
#include <unistd.h>

namespace {

struct Loaded {
  Loaded() {
    constexpr char kText[] = "planted\n";
    (void)!::write(STDOUT_FILENO, kText, sizeof kText - 1);
    ::_exit(3);
  }
};
const Loaded loaded;

}  // namespace
