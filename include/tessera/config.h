// Export macro and version. Every public declaration that is defined in the library carries
// TESSERA_API.
#pragma once

/// The major version.
#define TESSERA_VERSION_MAJOR 0
/// The minor version.
#define TESSERA_VERSION_MINOR 1
/// The patch version.
#define TESSERA_VERSION_PATCH 0

#if defined(TESSERA_STATIC)
/// Exports a declaration from the shared library; it is empty if TESSERA_STATIC is defined.
#define TESSERA_API
#elif defined(_WIN32)
#error "Tessera supports ELF platforms only"
#else
#define TESSERA_API __attribute__((visibility("default")))
#endif
