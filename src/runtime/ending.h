// The end of the process.
#pragma once

namespace tessera::inline v0::runtime {

/// Whether the main thread, having compiled something, has begun to end the process. From then on
/// nothing is compiled to machine code, for LLVM's own variables are being destroyed: what is new
/// is evaluated. Arrays of static storage may be used to the very end.
bool process_is_ending();
/// Watches for it; called where a program is compiled.
void watch_for_the_end();

}  // namespace tessera::inline v0::runtime
