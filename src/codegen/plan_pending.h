// Stand-ins for rooms that are being written.
#pragma once
#include "codegen/calls.h"
#include "codegen/fuse.h"
#include "codegen/kernel.h"
#define TESSERA_CODEGEN_LANDED 0
