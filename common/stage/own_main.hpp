#pragma once

// What a student's file is compiled with: its main would meet that of the program which runs it.
// The compiler tells this sentence and the line.
#define main(...)                                                                               \
  _Pragma("GCC error \"the file has a main of its own, but the program that runs it has one\"") \
      main(__VA_ARGS__)
