// Loaded before a program: libraries stay where they are. What was allocated by one that is gone has
// no name, and a report of leaks cannot tell whose it is.
extern "C" int dlclose(void* library) noexcept;
extern "C" int dlclose(void*) noexcept { return 0; }
