// Ending a run early, by Ctrl-C or by the program that manages this process.
#pragma once

/// From this call on, SIGINT, SIGTERM and SIGHUP set a flag instead of ending the process, so that
/// the trained parameters can be saved; a second signal ends it. SIGPIPE is ignored, so a reader
/// that closes the output does not end the process.
void watch_for_interrupts();
bool interrupted();
/// Whether any process was asked to end. All processes call it at the same place.
bool any_interrupted();
/// The exit code of a process that was asked to end.
inline constexpr int kInterrupted = 130;
