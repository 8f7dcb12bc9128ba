#!/bin/sh
# Builds a program like m1 or m2 from a custom submission, with the commands that CMake used for the
# workbook's own programs (record_command.sh). FOLDER takes all files that it makes.
#
#     build_custom_submission.sh compile BUILD DEVICE FILE FOLDER [CAPABILITY | traced | edited | sized]
#         makes FOLDER/source.o and FOLDER/symbols; CAPABILITY is that of the GPU, such as 90;
#         traced: emulated, each access to memory calls common/emulation/trace; on the CPU it calls
#         openmp_races.cpp; edited: it lists all errors; sized: emulated, sums and products tell if
#         their type cannot hold them
#     build_custom_submission.sh precompile BUILD DEVICE KIND [traced]
#         makes BUILD/custom_submission/KIND-DEVICE.hpp.gch: the headers that every file of a KIND
#         includes, for gcc, which reads them so in a third of the time; traced: for files compiled so.
#         KIND is stages, or alone: files that include nothing of the workbook's
#     build_custom_submission.sh link BUILD DEVICE FOLDER [adapter] [LIBRARY…]
#         makes FOLDER/program of FOLDER/source*.o, each made by compile; adapter: one of them
#         implements the course interface ('' if not); LIBRARY: of the GPU, such as cublas
#
# DEVICE is cpu, gpu or emulated. No flag comes from the file. A file that includes nothing of the
# workbook's is compiled as C++17, which nvcc takes unless told otherwise; if that fails and may be due
# to the standard, as C++20, like the workbook's stages. Between the steps a grader looks at the
# symbols. The linked object keeps none of its own symbols but the entry points of the course's
# interface and what chooses an edit, so no function of the file can replace one of the workbook.
set -eu
export LC_ALL=C  # sorted lists are compared, and messages read
step=$1 build=$2 device=$3
commands=$build/custom_submission
# For tests that compile many files: -O1.
optimise=${CONVLAB_SUBMISSION_OPTIMISE:-}
# With a named format nm does not load LLVM, where that is installed, for other ones.
symbols_of() { nm --target=elf64-little "$@"; }

not_traced='no_sanitize no_sanitize_thread no_sanitize_undefined no_sanitize_coverage'
not_traced="$not_traced disable_sanitizer_instrumentation"
not_traced="$not_traced $(echo "$not_traced" | sed 's/[a-z_][a-z_]*/__&__/g')"

# Names of record_command.sh, as they are for this file.
source=
object=
program=
adapter=
capability=
traced=
standard=
precompiled=
# Words come from a file into "$@", so no shell interprets them.
run_recorded() {
  list=$1
  more=${2:-}
  set --
  while IFS= read -r word; do
    case $word in
      @SOURCE@) word=$source ;;
      @OBJECT@)
        word=$object
        if [ "$step" = link ]; then set -- "$@" "$folder"/submission-*.o && continue; fi
        ;;
      @PROGRAM@) word=$program ;;
      @ADAPTER@*) [ -n "$adapter" ] || continue && word=${word#@ADAPTER@} ;;
      --generate-code=* | -arch=*) [ -z "$capability" ] || continue ;;
      # nvcc leaves assert alone, and so do we.
      -DNDEBUG) continue ;;
      -std=*) [ -z "$standard" ] || word=-std=$standard ;;
      c++) if [ "$step" = precompile ]; then word=c++-header; fi ;;
    esac
    set -- "$@" "$word"
  done <"$list"
  if [ -n "$capability" ]; then
    set -- "$@" "-gencode=arch=compute_$capability,code=sm_$capability"
  fi
  # What the rewrite moved still finds what lies beside the file; what the grader has copied is found
  # from its folder on.
  if [ "$device" = emulated ] && [ -n "$source" ]; then
    set -- "$@" -iquote "$(dirname "$file")"
    if [ -d "${folder:-}/files" ]; then set -- "$@" -iquote "$folder/files"; fi
  fi
  # Where lanes wait for each other they go on from the smallest address, so the code must stay in its
  # order.
  if [ -n "$source" ] && [ -n "$traced" ]; then
    set -- "$@" -fsanitize=thread -O1 -U__SANITIZE_THREAD__
    if "$1" --version | grep -q clang; then
      [ "$device" = cpu ] || set -- "$@" -fsanitize-coverage=bb,no-prune,trace-pc
      set -- "$@" -mllvm -disable-block-placement -mllvm -tsan-instrument-func-entry-exit=0 \
        -mllvm -tsan-instrument-atomics=0 -mllvm -tsan-instrument-memintrinsics=0 \
        -mllvm -tsan-distinguish-volatile=1
    else
      [ "$device" = cpu ] || set -- "$@" -fsanitize-coverage=trace-pc
      # Otherwise one load of a float4 would be four: its parts, before accesses are marked.
      ! grep -q note_wide_accesses "$source" || set -- "$@" -fno-tree-sra
      set -- "$@" -fno-reorder-blocks -Wno-tsan --param tsan-instrument-func-entry-exit=0 \
        --param tsan-distinguish-volatile=1
    fi
  fi
  # The runtime tells of a float4 at a misaligned address, whatever the optimiser made of it.
  if [ "$device" = emulated ] && [ -n "$source" ] && ! grep -q fsanitize=address "$list"; then
    ! grep -q note_wide_accesses "$source" || set -- "$@" -fsanitize=alignment
  fi
  [ -z "$sized" ] || set -- "$@" -fsanitize=signed-integer-overflow
  most_errors=-fmax-errors
  if "$1" --version | grep -q clang; then most_errors=-ferror-limit; fi
  # Those warnings of which a mistake may follow; none of them ends the compilation.
  if [ -n "$source" ] && [ "$device" != gpu ]; then
    set -- "$@" -Wno-error -Wno-pedantic -Wno-conversion -Wno-shadow -Wno-float-conversion \
      -Wno-unused-parameter -Wno-unknown-pragmas -Wno-sign-compare "$most_errors=50" \
      -fdiagnostics-parseable-fixits
  fi
  if [ -n "$source" ] && [ -n "$edited" ]; then
    set -- "$@" -w -Wno-uninitialized -Wno-maybe-uninitialized "$most_errors=0" \
      -fno-diagnostics-show-caret -O0 -g0
  fi
  # A local variable without a value is the same on every machine, and never right by luck. A call at
  # the end of a function stays one, so that a report about it finds the line.
  if [ -n "$source" ] && [ "$device" = emulated ]; then
    set -- "$@" -ftrivial-auto-var-init=pattern -fno-optimize-sibling-calls
  fi
  if [ -n "$source" ] && [ "$device" != gpu ] && [ -n "$optimise" ] && [ -z "$edited" ]; then
    set -- "$@" "$optimise"
  fi
  if [ -n "$precompiled" ]; then set -- "$@" -include "$precompiled"; fi
  # A function does not ask to be left out of what is traced, by whatever macro; and the program has
  # its main.
  if [ "$step" = compile ] && [ "$device" != gpu ]; then
    { echo "#pragma GCC poison $not_traced"; sed -n '/^#define/,$p' "$(cat "$commands/root")/common/stage/own_main.hpp"; } \
      >"$folder/poisoned.h"
    set -- "$@" -include "$folder/poisoned.h"
  fi
  if [ -n "$more" ]; then set -- "$@" "$more"; fi
  for library in ${libraries:-}; do
    path=$(cat "$commands/$library.library")
    set -- "$@" "$path" "-Wl,-rpath,$(dirname "$path")"
  done
  "$@"
}

# Whether the files are traced, and whether nothing but OpenMP's regions, loops, barriers and critical parts orders the threads of a
# traced file.
is_traced() {
  undefined=$(symbols_of --undefined-only --format=posix "$folder"/source*.o)
  case $undefined in *__tsan_init*) ;; *) return 1 ;; esac
}
has_plain_openmp() {
  is_traced || return 1
  ! echo "$undefined" |
    grep -Ev '^(GOMP_(parallel|barrier|loop_.*|sections_.*|critical_.*|atomic_.*|single_start|task|taskwait)|omp_get_.*|omp_set_num_threads) U' |
    grep -Eq '^(GOMP_|omp_|pthread_|sem_|mtx_|cnd_|thrd_|syscall|pipe|socketpair|eventfd|_ZNSt6thread|_ZNSt18condition)'
}

# The external symbols of the object, for the grader. Kernels run in the program of who wrote them,
# who might talk with the grader in its place: that takes a system call.
list_symbols() {
  # In place of the code, nm and the linker would read what is kept for optimising at link time.
  objcopy --wildcard --remove-section='.gnu.lto_*' "$object"
  symbols_of --extern-only --format=posix "$object" >"$folder/symbols"
  [ "$device" != cpu ] || return 0
  # Of an edited file the one that was checked has shown what it may call.
  [ -z "$edited" ] || return 0
  if grep -q '^syscall U' "$folder/symbols" || has_system_call; then
    echo "system-call-instruction U" >>"$folder/symbols"
  fi
  # Neither the compiler nor a disassembler sees what such data do when they run.
  if [ "$device" = emulated ] && readelf --sections --symbols --wide "$object" | awk '
    /^ *\[ *[0-9]+\]/ { sub(/^ *\[ */, ""); sub(/\]/, ""); code[$1] = $(NF - 3) ~ /X/; next }
    $4 == "OBJECT" && code[$7] { found = 1 }
    END { exit !found }'; then
    echo "error: it keeps data among its code (a section of its own), which cannot be emulated" >&2
    exit 1
  fi
}
# The bytes of the instruction may stand anywhere, so who has them is looked at closely.
has_system_call() {
  case $(uname -m) in
    x86_64) LC_ALL=C grep -q "$(printf '\017\005')" "$object" || return 1 ;;
  esac
  objdump --disassemble "$object" | grep -Eq '[[:space:]](syscall|sysenter|int +.0x80|svc)([[:space:]]|$)'
}

# The loader, what it runs first, and functions that the loader chooses.
first_code() {
  readelf --program-headers --dynamic --relocs --wide "$1" |
    sed -n '/interpreter:/p; /PREINIT_ARRAYSZ/p; s/.*IRELATIV.*/chosen/p'
}

# What comes behind the device: of a file to compile the file and the folder come first.
variant=
case $step in
  precompile) kind=$4 variant=${5:-} ;;
  compile) variant=${6:-} ;;
esac
edited=
sized=
case $variant in
  traced) traced=yes ;;
  sized) sized=yes ;;
  edited) edited=yes ;;
  *) capability=$variant ;;
esac
# Optimised, an access would move to another line.
if [ -n "$traced" ] && [ "$device" = cpu ]; then optimise=-O0; fi
# A precompiled header is one for the flags that it was made with. Traced it is always -O1.
headers_of() {
  if [ -n "$traced" ]; then headers=$commands/$1-$device-traced.hpp; else headers=$commands/$1-$device$optimise.hpp; fi
}

case $step in
  precompile)
    headers_of "$kind"
    [ "$kind" = stages ] || standard=gnu++17
    file=$headers source=$headers object=$headers.gch
    run_recorded "$commands/$device.compile" "-Wp,-MD,$headers.d,-MT,$headers.gch"
    ;;
  compile)
    file=$4 folder=$5
    source=$file object=$folder/source.o
    if [ "$device" = emulated ]; then
      source=$folder/rewritten.cpp
      # The grader puts what it has copied there.
      mkdir -p "$folder/files"
      rewrite() {
        "$build/bin/convlab-rewrite" "$file" --output "$source" --include "$(cat "$commands/root")" \
          --include "$folder/files" --include "$(cat "$commands/interface")" \
          --exclude "$(cat "$commands/toolkit")" "$@"
      }
      rewrite ${traced:+--traced}
    fi
    # nvcc knows no gnu++17; the host compiler that it calls has its extensions all the same.
    headers_of none
    if ! grep -Eq '^[[:space:]]*#[[:space:]]*include[[:space:]]*"common/' "$file"; then
      standard=gnu++17
      [ "$device" != gpu ] || standard=c++17
      headers_of alone
    elif grep -q '^ *# *include *"common/stage/' "$file" &&
      { [ "$device" = cpu ] || grep -Eq '^ *# *include *"common/(device/cuda_check|stage/device_convolution)' "$file"; }; then
      # Only then: a file that forgets one of them gets the compiler's error.
      headers_of stages
    fi
    words=$folder/words
    # What fails is compiled again without the header: its messages are then those of any compiler.
    if [ -z "$capability$edited$sized" ] && [ -f "$headers.gch" ]; then
      precompiled=$headers
      if run_recorded "$commands/$device.compile" >"$words" 2>&1; then
        cat "$words" >&2
        list_symbols
        exit
      fi
      precompiled=
      # Nor would one end that has taken all its time.
      ! grep -q 'signal terminated program' "$words" || { cat "$words" >&2 && exit 1; }
    fi
    # Headers of older editions brought names of std along. Who counts on them gets them.
    compile() { run_recorded "$commands/$device.compile" "$@"; }
    again() { compile "$@" >"$words.again" 2>&1; }
    with_names() {
      grep -Eq 'declared|is undefined|not a member|no member|no type named|not name a type' "$words" &&
        again -DCONVLAB_NAMES_OF_STD
    }
    # What counts indices of arrays must not break what compiles without it.
    if [ -n "$traced" ] && [ "$device" = emulated ]; then again || rewrite; fi
    if ! compile >"$words" 2>&1; then
      [ -z "$edited" ] || { cat "$words" >&2 && exit 1; }
      if ! with_names; then
        seventeen=$standard
        standard=
        if [ -z "$seventeen" ] || ! { again || with_names; }; then
          cat "$words" >&2
          exit 1
        fi
      fi
      mv "$words.again" "$words"
    fi
    cat "$words" >&2
    list_symbols
    ;;
  link)
    folder=$4
    adapter=${5:-}
    libraries=
    if [ $# -gt 5 ]; then
      shift 5
      libraries=$*
    fi
    program=$folder/program
    set -- --wildcard '--keep-global-symbol=_ZN12GPUInterface*' \
      '--keep-global-symbol=_Z16conv_forward_cpu*' \
      '--keep-global-symbol=_Z21conv_forward_gpu_full*' "--redefine-syms=$folder/older" \
      '--keep-global-symbol=_ZN7convlab4mend*'
    # The grader knows what memory of the GPU the file has asked for (recorded_allocations.cu).
    if [ "$device" = gpu ]; then set -- "$@" "--redefine-syms=${0%/*}/recorded_calls"; fi
    # Then openmp_races.cpp stands between the file and libgomp; otherwise it finds nothing.
    if [ "$device" = cpu ] && has_plain_openmp; then
      set -- "$@" "--redefine-syms=${0%/*}/traced_calls"
    fi
    # Accesses of the C library's functions are observed, too.
    if [ "$device" = emulated ] && is_traced; then
      set -- "$@" "--redefine-syms=${0%/*}/traced_kernel_calls"
    fi
    for object in "$folder"/source*.o; do
      name=${object##*/}
      # A group is a function that several objects may bring; the first one wins. So no groups, and no
      # common symbols, which objects share.
      ld -r -d --force-group-allocation "$object" -o "$folder/whole-$name"
      # Of several older forms, which would all get one name, those that the file has.
      symbols_of --defined-only --format=posix "$object" |
        awk 'NR == FNR { new[$1] = $2; next } $1 in new { print $1, new[$1] }' \
          "${0%/*}/course_interface/older_forms" - >"$folder/older"
      # A symbol that must be unique in the whole program would stay global: make it weak first.
      symbols_of --defined-only --format=posix "$folder/whole-$name" |
        awk 'BEGIN { print "none" } $2 == "u" { print $1 }' >"$folder/unique"  # must not be empty
      objcopy --weaken-symbols="$folder/unique" "$folder/whole-$name"
      objcopy "$@" "$folder/whole-$name" "$folder/submission-$name"
    done
    for library in $libraries; do
      if ! [ -f "$commands/$library.library" ]; then
        echo "error: this machine had no library $library when the workbook was configured" >&2
        exit 1
      fi
    done
    run_recorded "$commands/$device.link"
    # Nobody has looked at code that the program writes itself.
    if readelf --program-headers --wide "$program" | grep -q ' RWE '; then
      echo "error: a part of the program may be written and executed" >&2
      exit 1
    fi
    # The emulated device forbids its system calls before any other code runs.
    if [ "$device" = emulated ] &&
      [ "$(first_code "$program")" != "$(first_code "$commands/custom-submission-emulated")" ]; then
      echo "error: its own code would run before the program starts (ifunc, target_clones, .preinit_array, .interp), which cannot be emulated" >&2
      exit 1
    fi
    ;;
esac
