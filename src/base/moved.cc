#include <tessera/detail/moved.h>

#include <tessera/message.h>

namespace tessera::inline v0::detail {

void moved_from(const char* what, std::source_location used) {
  Message(what)
      .problem(
          "it is used after it was moved away: std::move, or a move into a container, left "
          "nothing in it")
      .rule("what an object holds is in the one that it was moved to")
      .from(used)
      .advice("use what it was moved to")
      .raise<Error>();
}

}  // namespace tessera::inline v0::detail
