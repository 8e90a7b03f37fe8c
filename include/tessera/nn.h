// Neural networks in the style of Equinox: a layer is a plain struct of arrays with a call
// operator, made by a function that takes a key. Models are structs of layers; the rest of the
// library sees only trees of arrays. This header includes all of nn.
#pragma once

#include <tessera/nn/activations.h>
#include <tessera/nn/attention.h>
#include <tessera/nn/initializers.h>
#include <tessera/nn/layers.h>
#include <tessera/nn/losses.h>
#include <tessera/nn/normalization.h>
#include <tessera/nn/recurrent.h>
