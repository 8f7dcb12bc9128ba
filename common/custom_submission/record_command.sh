#!/bin/sh
# Stands before a compiler's command (CMake's COMPILER_LAUNCHER and LINKER_LAUNCHER): writes the words
# of the command to FILE, one a line, and runs it. So a file that is given later is compiled and linked
# with exactly what CMake uses for the workbook's own programs.
#
#     record_command.sh FILE COMMAND…
#
# What changes from file to file becomes a name: @SOURCE@, @OBJECT@, @ADAPTER@ (the object that calls
# the course interface) and @PROGRAM@. Paths become absolute. Left out: dependency files and
# "warnings are errors", which are the build's own business.
set -eu
list=$1
shift
{
  previous=
  linking=yes
  for word in "$@"; do
    [ "$word" = -c ] && linking=no
  done
  for word in "$@"; do
    case $previous in
      -MT | -MF) previous= && continue ;;
      -o)
        if [ $linking = yes ]; then echo @PROGRAM@; else echo @OBJECT@; fi
        previous= && continue
        ;;
      -c) echo @SOURCE@ && previous= && continue ;;
    esac
    previous=$word
    case $word in
      -MD | -MT | -MF | -Werror* | --Werror*) ;;
      -Xlinker) ;; # CMake 3.27 and newer ask the linker for a dependency file
      --dependency-file=* | -Wl,--dependency-file*) ;;
      *template.*.o) echo @OBJECT@ ;;
      *_interface_stage.*.o) echo "@ADAPTER@$PWD/$word" ;;
      /* | -*) echo "$word" ;;
      *) if [ -e "$word" ]; then echo "$PWD/$word"; else echo "$word"; fi ;;
    esac
  done
} >"$list.$$"
mv "$list.$$" "$list"
exec "$@"
