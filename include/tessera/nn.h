// Neural networks in Equinox's manner: a layer is a plain struct of arrays with a call operator,
// made by a function that takes a key. Structs of layers are models; trees of arrays are all that
// the rest of the library sees. All of nn at once.
#pragma once

#include <tessera/nn/activations.h>
#include <tessera/nn/attention.h>
#include <tessera/nn/initializers.h>
#include <tessera/nn/layers.h>
#include <tessera/nn/losses.h>
#include <tessera/nn/normalization.h>
#include <tessera/nn/recurrent.h>
