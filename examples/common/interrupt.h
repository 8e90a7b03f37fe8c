// Ending early, by Ctrl-C or by whoever manages this process.
#pragma once

/// From here on SIGINT, SIGTERM and SIGHUP set a mark instead of ending the process, so that what
/// is trained can be saved; a second one ends it. Output that nobody reads any more is no reason to
/// end.
void watch_for_interrupts();
bool interrupted();
/// Whether one of the processes is to end: all of them ask, at the same place.
bool any_interrupted();
/// What a process that was asked to end gives.
inline constexpr int kInterrupted = 130;
