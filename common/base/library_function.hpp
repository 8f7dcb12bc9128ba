#pragma once

#include <dlfcn.h>

namespace convlab {

/// A function of a library that this machine may lack; null then. The library is loaded at run
/// time, so that neither building nor starting a program needs it, and stays loaded.
template <class Function>
Function* library_function(const char* library, const char* name) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle, name));
}

}  // namespace convlab
