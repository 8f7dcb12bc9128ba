# CUDA sources, for a GPU and for device emulation.
#
# Emulated code sees common/emulation/include as its CUDA Toolkit, is rewritten by convlab-rewrite
# before the host compiler reads it, and needs nothing of a CUDA installation. Sources that are no
# .cu file (a test's main, say) are compiled as they are.

# convlab_add_cuda_executable(NAME SOURCES… [LINK LIBRARIES…])
#
# Two programs from the same sources: build/bin/NAME for a GPU, where a CUDA compiler was found,
# and build/bin/NAME-emulated for any machine.

# convlab_add_emulated_test(NAME SOURCES… [LINK LIBRARIES…] [LABELS LABELS…] [TIMEOUT SECONDS])
#
# convlab_add_test for sources of which some are .cu files, run emulated. Catch2's header may be
# included from the .cu file; every TEST_CASE becomes one ctest test called NAME/CASE.

# convlab_add_emulated_sources(TARGET SOURCES…)
#
# What both are made of: rewrites .cu SOURCES, compiles them into TARGET and links the runtime.
