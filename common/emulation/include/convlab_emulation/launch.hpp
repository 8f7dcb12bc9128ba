#pragma once

// What the rewrite makes of a launch:
//
//     scale<<<blocks, 256>>>(data, 2.0f, n);
//     ::convlab::emulation::launch([=](auto... a) -> decltype(void(scale(a...))) { scale(a...); },
//                                  "scale", blocks, 256)(data, 2.0f, n);
//
// A template kernel cannot be passed as a pointer, hence the generic lambda. Where the rewrite
// knows that the name before <<< is one function (or a pointer), launch_function also passes that:
// then 0, NULL and {} can stand for any parameter, and function attributes find their kernel.

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/include/convlab_emulation/runtime_types.hpp"

namespace convlab::emulation {

/// Everything about a launch but the kernel's body and arguments.
struct LaunchSetup {
  const char* name;
  CallSite site;
  const void* function;  ///< null where it is not known
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared = 0;
};

/// A pointer among the arguments of a launch, to be checked.
struct PointerArgument {
  int position;  ///< from 1
  const volatile void* value;
};

/// Checks the configuration as a GPU would and puts the kernel into its stream.
/// Errors of the configuration are returned and become the last error.
cudaError_t submit_kernel(KernelCall call, const PointerArgument* pointers, int pointer_count,
                          cudaStream_t stream);

/// Ends a kernel out of which an exception came; a GPU has none.
[[noreturn]] void fail_with_exception(std::exception_ptr thrown);

template <typename Callable, typename... Arguments>
struct BoundKernel {
  Callable callable;
  std::tuple<Arguments...> arguments;

#if !defined(__clang__)
  [[gnu::no_icf]]  // Merged with that of an equal launch it would lose its line numbers.
#endif
  static void
  run_thread(const void* self) {
    std::exception_ptr thrown;
    try {
      const auto& bound = *static_cast<const BoundKernel*>(self);
      std::apply(bound.callable, bound.arguments);
      return;
    } catch (...) {
      thrown = std::current_exception();
    }
    fail_with_exception(std::move(thrown));
  }
};

template <typename Argument>
constexpr bool is_data_pointer() {
  return std::is_pointer_v<Argument> && !std::is_function_v<std::remove_pointer_t<Argument>>;
}

/// Notes the pointers among the arguments. @return how many
template <typename... Arguments>
int find_pointers(PointerArgument* pointers, const Arguments&... arguments) {
  int count = 0;
  int position = 0;
  [[maybe_unused]] const auto note = [&](const auto& argument) {
    ++position;
    if constexpr (is_data_pointer<std::remove_cvref_t<decltype(argument)>>())
      pointers[count++] = {position, argument};
  };
  (note(arguments), ...);
  return count;
}

template <typename Callable, typename... Arguments>
cudaError_t start_kernel(const LaunchSetup& setup, cudaStream_t stream, const Callable& callable,
                         const Arguments&... arguments) {
  using Bound = BoundKernel<Callable, Arguments...>;
  PointerArgument pointers[sizeof...(Arguments) + 1];
  const int pointer_count = find_pointers(pointers, arguments...);
  KernelCall call;
  call.name = setup.name;
  call.site = setup.site;
  call.function = setup.function;
  call.grid = setup.grid;
  call.block = setup.block;
  call.dynamic_shared_bytes = setup.dynamic_shared;
  call.run_thread = &Bound::run_thread;
  call.arguments = std::shared_ptr<const Bound>(new Bound{callable, {arguments...}});
  return submit_kernel(std::move(call), pointers, pointer_count, stream);
}

/// A kernel of which only the address is left, with what the address no longer tells.
struct UntypedKernel {
  const char* name;
  int parameters;
  /// Copies *arguments[0], *arguments[1], … into the call and notes the pointers among them in an
  /// array of `parameters`. @return how many those are
  int (*bind)(const void* function, void** arguments, KernelCall& call, PointerArgument* pointers);
};

/// Makes the kernel known to launch_untyped.
void register_kernel(const void* function, const UntypedKernel& kernel);

/// Launches a registered kernel with pointers to its arguments; any other address is refused.
/// @param setup  its name and function are not used
cudaError_t launch_untyped(const void* function, void** arguments, const LaunchSetup& setup,
                           cudaStream_t stream);

template <typename... Parameters>
int bind_arguments(const void* function, void** arguments, KernelCall& call,
                   PointerArgument* pointers) {
  using Kernel = void (*)(Parameters...);
  using Bound = BoundKernel<Kernel, std::remove_cv_t<Parameters>...>;
  const auto bind = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    call.run_thread = &Bound::run_thread;
    const auto bound = std::shared_ptr<const Bound>(
        new Bound{reinterpret_cast<Kernel>(const_cast<void*>(function)),
                  {*static_cast<std::remove_cv_t<Parameters>*>(arguments[Index])...}});
    call.arguments = bound;
    return find_pointers(pointers, std::get<Index>(bound->arguments)...);
  };
  return bind(std::index_sequence_for<Parameters...>{});
}

/// What the rewrite makes of (void*)kernel: cudaLaunchKernel and graph nodes take that.
template <typename... Parameters>
void* untyped_kernel(void (*kernel)(Parameters...), const char* name) {
  auto* const address = reinterpret_cast<void*>(kernel);
  register_kernel(address, {name, sizeof...(Parameters), &bind_arguments<Parameters...>});
  return address;
}
/// A variable that bears a kernel's name.
template <typename T>
void* untyped_kernel(T* pointer, const char* /*name*/) {
  return const_cast<void*>(static_cast<const volatile void*>(pointer));
}

/// Literal 0 or NULL as the argument of a deduced kernel: an int if the kernel takes that,
/// otherwise a null pointer or whatever else 0 converts to.
struct Zero {
  template <typename T>
  operator T() const {
    return static_cast<T>(0);
  }
};

template <typename T>
using ZeroAsInt = std::conditional_t<std::is_same_v<T, Zero>, int, T>;

template <typename T>
auto zero_as_int(const T& argument) {
  if constexpr (std::is_same_v<T, Zero>)
    return 0;
  else
    return argument;
}

/// An argument in braces: converts to any type that takes such an initialiser.
template <typename... Values>
struct Braces {
  std::tuple<Values...> values;

  template <typename T>
  operator T() const {
    return std::apply([](const auto&... value) { return T{value...}; }, values);
  }
};

template <typename... Values>
Braces<Values...> braces(Values... values) {
  return {{values...}};
}

/// A launch that waits for its arguments; they are evaluated once, on the host, and copied.
template <typename Callable>
class Launch {
 public:
  Launch(const LaunchSetup& setup, cudaStream_t stream, Callable callable)
      : setup_(setup), stream_(stream), callable_(std::move(callable)) {}

  template <typename... Arguments>
  requires(std::invocable<const Callable&, std::decay_t<Arguments>...> ||
           std::invocable<const Callable&, ZeroAsInt<std::decay_t<Arguments>>...>) void
  operator()(Arguments&&... arguments) const {
    if constexpr (std::invocable<const Callable&, ZeroAsInt<std::decay_t<Arguments>>...>)
      start_kernel<Callable, ZeroAsInt<std::decay_t<Arguments>>...>(
          setup_, stream_, callable_, zero_as_int<std::decay_t<Arguments>>(arguments)...);
    else
      start_kernel<Callable, std::decay_t<Arguments>...>(setup_, stream_, callable_, arguments...);
  }

 private:
  LaunchSetup setup_;
  cudaStream_t stream_;
  Callable callable_;
};

/// The same for a kernel of known parameters, which also takes what converts to them.
template <typename Callable, typename... Parameters>
class TypedLaunch : public Launch<Callable> {
 public:
  TypedLaunch(const LaunchSetup& setup, cudaStream_t stream, Callable callable)
      : Launch<Callable>(setup, stream, callable) {}

  using Launch<Callable>::operator();
  void operator()(Parameters... arguments) const {
    Launch<Callable>::template operator()<Parameters&...>(arguments...);
  }
};

template <typename Callable>
Launch<Callable> launch(Callable callable, const char* name, dim3 grid, dim3 block,
                        std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                        CallSite site = Here::current()) {
  return {{name, site, nullptr, grid, block, dynamic_shared}, stream, std::move(callable)};
}

template <typename... Parameters, typename Callable>
TypedLaunch<Callable, Parameters...> launch_function(void (*function)(Parameters...),
                                                     Callable callable, const char* name, dim3 grid,
                                                     dim3 block, std::size_t dynamic_shared = 0,
                                                     cudaStream_t stream = nullptr,
                                                     CallSite site = Here::current()) {
  return {{name, site, reinterpret_cast<const void*>(function), grid, block, dynamic_shared},
          stream,
          std::move(callable)};
}

/// For an expression whose value is a pointer to a kernel, such as table[i].
template <typename... Parameters>
auto launch_pointer(void (*function)(Parameters...), const char* name, dim3 grid, dim3 block,
                    std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                    CallSite site = Here::current()) {
  return launch_function(function, function, name, grid, block, dynamic_shared, stream, site);
}

}  // namespace convlab::emulation
