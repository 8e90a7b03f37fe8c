#include <gtest/gtest.h>
#include <tessera/tessera.h>
