// Reports that processes reached different programs.
//
// A process that detects a mismatch publishes the text of its program and waits briefly for the
// peer's text, so that both can report the two programs and the first equation that differs. On one
// machine the text is published in shared memory, otherwise in a message. A process that waits
// checks from time to time whether its text is requested. There is no cost while all agree.
#pragma once

#include "processes/patience.h"

namespace tessera::inline v0::processes {

/// Throws CollectiveError because process `rank` published a round of a different program, titled
/// `theirs`.
[[noreturn]] void fail_for_difference(Group& group, const Subject& subject, int rank,
                                      const Title& theirs);

/// Throws CollectiveError that lists the differing inputs, because process `rank` made the same
/// call with other inputs.
[[noreturn]] void fail_for_values(Group& group, const Subject& subject, int rank,
                                  const Title& theirs);

/// Whether process `rank` of this machine found that this process reached a different program.
bool is_asked_by(Group& group, int rank);
/// Publishes the program text that process `rank` asked for.
void show_asked(Group& group, int rank);
/// Calls show_asked(), then throws the same CollectiveError that fail_for_difference throws in
/// process `rank`.
[[noreturn]] void answer(Group& group, const Subject& subject, int rank);

/// The process whose message asks for the program text, if messages come from other machines; else
/// -1.
int asking_by_message(Group& group);
/// Sends the program text that process `rank` asked for.
void tell_asked(Group& group, const Subject& subject, int rank);
/// Calls tell_asked, then throws the same CollectiveError that fail_for_difference throws in
/// process `rank`.
[[noreturn]] void answer_by_message(Group& group, const Subject& subject, int rank);

}  // namespace tessera::inline v0::processes
