// A plug-in with a symbol that no library has.
extern "C" const void* tessera_test_nowhere();
extern "C" const void* GetPjrtApi() { return tessera_test_nowhere(); }
