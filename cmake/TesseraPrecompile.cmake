# tessera_precompile(TARGET...) precompiles tessera.h for targets that link Tessera: their files begin with it, and each
# takes only the time of its own code. A target's first build precompiles the header once for its flags.
function(tessera_precompile)
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} PRIVATE <tessera/tessera.h>)
  endforeach()
endfunction()
