// What processes that came to different programs say of them.
//
// Whoever finds that another one laid out something of another program shows its own, so that the
// other one can compare as well, and waits a little for the other's: each of them names both and the
// first equation that differs. On one machine it is shown in memory, else by a message, and whoever
// waits for something looks now and then whether it is asked. Nothing of it costs anything while
// they agree.
#pragma once

#include "processes/patience.h"

namespace tessera::inline v0::processes {

/// What this process comes to, kept for others that came to something else at that time.
void remember(const Subject& subject);

/// Process `rank` laid out something else, of the title `theirs`: a CollectiveError.
[[noreturn]] void fail_for_difference(const Subject& subject, int rank, const Title& theirs);

/// Process `rank` came to the same call with other inputs: a CollectiveError that lists those.
[[noreturn]] void fail_for_values(const Subject& subject, int rank, const Title& theirs);

/// Whether process `rank`, of this machine, found that this process came to something else.
bool is_asked_by(int rank);
/// Shows it what it asks for.
void show_asked(int rank);
/// Does that, and says what fail_for_difference says there.
[[noreturn]] void answer(const Subject& subject, int rank);

/// The process whose message says so, where messages come from other machines; or -1.
int asking_by_message();
/// Sends it what it asks for.
void tell_asked(const Subject& subject, int rank);
/// Does that, and says what fail_for_difference says there.
[[noreturn]] void answer_by_message(const Subject& subject, int rank);

}  // namespace tessera::inline v0::processes
