#include <tessera/tessera.h>
#include <gtest/gtest.h>
