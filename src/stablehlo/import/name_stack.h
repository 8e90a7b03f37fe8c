// JAX's name stacks, such as "jit(step)/transpose(jvp(model))/layer_0/dot_general".
#pragma once

#include <string>
#include <string_view>

namespace tessera::inline v0::stablehlo {

/// The stack without its last name, which is the operation's. Many operations have it in common.
std::string_view names_around(std::string_view stack);

/// The named scopes in the name of an operation: "model/layer_0" for the stack above. The operation
/// itself is left out, and so is what JAX adds for transformations, calls and control flow, because
/// our named scopes have nothing for these either.
std::string scopes_in(std::string_view stack);

}  // namespace tessera::inline v0::stablehlo
