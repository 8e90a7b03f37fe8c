// std::function alone. <functional> also has searchers, which bring std::unordered_map and all
// algorithms: an eighth of the lines that tessera.h would include. libstdc++ keeps std::function in
// a file of its own, which its other headers include in the same way.
#pragma once

#if __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
