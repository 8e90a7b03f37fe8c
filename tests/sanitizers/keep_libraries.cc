// This library is loaded before a program and keeps libraries loaded. Otherwise memory that an
// unloaded library allocated has no name in a report of leaks.
extern "C" int dlclose(void* library) noexcept;
extern "C" int dlclose(void*) noexcept { return 0; }
