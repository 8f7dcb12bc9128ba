#pragma once

/// 1 in builds with AddressSanitizer, which takes over the heap and reserves terabytes of address
/// space.
#if defined(__SANITIZE_ADDRESS__)
#define CONVLAB_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONVLAB_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef CONVLAB_ADDRESS_SANITIZER
#define CONVLAB_ADDRESS_SANITIZER 0
#endif

/// Before a function that reads and writes what it has marked as nobody's.
#define CONVLAB_UNCHECKED __attribute__((no_sanitize("address")))

/// Once in a program that may run isolated, outside namespaces: LeakSanitizer's search at the end
/// traces the process, which the isolation forbids. There is none if [condition] holds then.
#if CONVLAB_ADDRESS_SANITIZER
#define CONVLAB_NO_SEARCH_FOR_LEAKS_IF(condition) \
  extern "C" int __lsan_is_turned_off() {         \
    return (condition) ? 1 : 0;                   \
  }  // NOLINT: it asks this
#else
#define CONVLAB_NO_SEARCH_FOR_LEAKS_IF(condition)
#endif
