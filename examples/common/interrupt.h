// Ending early, by Ctrl-C or by whoever manages this process.
#pragma once

/// From here on SIGINT, SIGTERM and SIGHUP set a mark instead of ending the process, so that what
/// is trained can be saved; a second one ends it. Output that nobody reads any more is no reason to
/// end.
void watch_for_interrupts();
bool interrupted();
/// What a process that was asked to end gives.
inline constexpr int kInterrupted = 130;
