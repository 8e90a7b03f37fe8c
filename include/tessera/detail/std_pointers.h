// std::shared_ptr and std::unique_ptr alone. <memory> also has atomic operations on shared pointers
// and algorithms on uninitialised memory, a twentieth of the lines that tessera.h would include.
// libstdc++ keeps the pointers in files of their own, which its other headers include in the same
// way.
#pragma once

#if __has_include(<bits/shared_ptr.h>) && __has_include(<bits/unique_ptr.h>)
#include <bits/shared_ptr.h>
#include <bits/unique_ptr.h>
#else
#include <memory>
#endif
