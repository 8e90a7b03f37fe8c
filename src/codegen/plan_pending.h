// Stand-ins for rooms that are being written.
#pragma once
#include "codegen/calls.h"
#include "codegen/fuse.h"
#include "codegen/kernel.h"
#define TESSERA_FUSE_LANDED 0
#define TESSERA_CALLS_LANDED 1
