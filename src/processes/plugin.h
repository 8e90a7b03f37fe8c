// Finds and opens the library that joins processes.
#pragma once

#include "base/message.h"
#include "processes/transport_abi.h"

namespace tessera::inline v0::processes {

/// The plug-in is TESSERA_TRANSPORT where that is set, else libtessera_mpi.so beside this library,
/// or where it was built or installed. Error where there is none that can be loaded, or where it
/// does not join.
void open_plugin(TesseraTransport& out, const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
