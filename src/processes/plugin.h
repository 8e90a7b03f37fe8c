// Finds and opens the plug-in library that connects processes.
#pragma once

#include "base/message.h"
#include "processes/transport_abi.h"

namespace tessera::inline v0::processes {

/// Opens TESSERA_TRANSPORT if it is set, else libtessera_mpi.so beside this library or where it was
/// built or installed. Throws Error if no plug-in can be loaded or if it cannot join the processes.
void open_plugin(TesseraTransport& out, const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
