// Export macro and version. Every public declaration that is defined in the library carries
// TESSERA_API.
#pragma once

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 1
#define TESSERA_VERSION_PATCH 0

#if defined(TESSERA_STATIC)
#define TESSERA_API
#elif defined(_WIN32)
#error "Tessera supports ELF platforms only"
#else
#define TESSERA_API __attribute__((visibility("default")))
#endif
