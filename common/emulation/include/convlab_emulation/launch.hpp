#pragma once

// What the rewrite makes of a launch:
//
//     scale<<<blocks, 256>>>(data, 2.0f, n);
//     ::convlab::emulation::launch_function(
//         scale, [=](auto... a) { scale(a...); }, "scale",
//         ::convlab::emulation::configuration(blocks, 256))(data, 2.0f, n);
//
// launch_function returns a plain function with the kernel's parameters, so that a compiler speaks
// of wrong arguments as it does for any call. A template whose parameters are deduced has no such
// function: launch returns an object that takes any arguments, and the compiler speaks of the call
// in the lambda.

#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/runtime_types.hpp"

/// A kernel's name as a string, after macros that make it of parts.
#define CONVLAB_TEXT(...) CONVLAB_TEXT_AS_IS(__VA_ARGS__)
#define CONVLAB_TEXT_AS_IS(...) #__VA_ARGS__

namespace convlab::emulation {

inline Configuration configuration(dim3 grid, dim3 block, std::size_t dynamic_shared = 0,
                                   cudaStream_t stream = nullptr, CONVLAB_CALL_SITE) {
  return {grid, block, dynamic_shared, stream, site, false};
}

/// A pointer among the arguments of a launch, to be checked.
struct PointerArgument {
  int position;  ///< from 1
  const volatile void* value;
};

/// Checks the configuration as a GPU would and puts the kernel into its stream.
/// Errors of the configuration are returned and become the last error.
cudaError_t submit_kernel(const KernelCall& call, const PointerArgument* pointers,
                          int pointer_count);

/// A kernel and its arguments: what an emulated thread runs.
template <typename Thread>
struct BoundKernel {
#if !defined(__clang__)
  [[gnu::no_icf]]  // Merged with that of an equal launch it would lose its line numbers.
#endif
  static void
  run(const void* thread) {
    (*static_cast<const Thread*>(thread))();
  }
  static void destroy(void* thread) {
    delete static_cast<Thread*>(thread);
  }
};

/// The bytes that parameters of these sizes take, each at its alignment.
template <typename... Arguments>
constexpr std::size_t parameter_bytes() {
  std::size_t bytes = 0;
  ((bytes = (bytes + alignof(Arguments) - 1) / alignof(Arguments) * alignof(Arguments) +
            sizeof(Arguments)),
   ...);
  return bytes;
}

/// Copies the arguments into the call.
template <typename Callable, typename... Arguments>
void hold_arguments(KernelCall& call, const Callable& callable, const Arguments&... arguments) {
  auto* const thread = new auto([callable, arguments...] { callable(arguments...); });
  using Thread = std::remove_pointer_t<decltype(thread)>;
  call.arguments = thread;
  call.run_thread = &BoundKernel<Thread>::run;
  call.destroy = &BoundKernel<Thread>::destroy;
  call.argument_bytes = sizeof(Thread);
  call.parameter_bytes = parameter_bytes<Arguments...>();
}

/// A parameter that is a reference: the address, copied as such. No class of std: a call of a
/// kernel named `apply` would find std::apply by it, too.
template <typename T>
struct Reference {
  T* address;
  Reference(T& object) : address(&object) {}
  operator T&() const { return *address; }
};

/// An object of a class with a copy constructor or a destructor of its own: CUDA copies its bytes
/// to the device, where neither runs.
template <typename T>
struct ObjectBytes {
  alignas(T) unsigned char bytes[sizeof(T)];
  ObjectBytes(const T& object) { std::memcpy(bytes, &object, sizeof(T)); }
  operator T&() { return reinterpret_cast<T&>(bytes); }
};

template <typename T>
inline constexpr bool is_copied_by_bytes =
    std::is_class_v<T> &&
    !(std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>);

/// How a launch keeps an argument for a parameter of this type.
template <typename Parameter>
using Kept = std::conditional_t<
    std::is_reference_v<Parameter>, Reference<std::remove_reference_t<Parameter>>,
    std::conditional_t<is_copied_by_bytes<std::decay_t<Parameter>>,
                       ObjectBytes<std::decay_t<Parameter>>, std::decay_t<Parameter>>>;

/// Calls a kernel with what a launch has kept. Functions take such objects by their address (so
/// says the ABI of C++ on both processors): here that of the thread's own copy of the bytes.
template <typename... Parameters>
struct CallByAddress {
  void (*kernel)(std::conditional_t<is_copied_by_bytes<Parameters>, Parameters&, Parameters>...);
  void operator()(Kept<Parameters>... arguments) const { kernel(arguments...); }
};

template <typename... Parameters>
auto kernel_at(const void* function) {
  if constexpr ((is_copied_by_bytes<Parameters> || ...)) {
    using Call = CallByAddress<Parameters...>;
    return Call{reinterpret_cast<decltype(Call::kernel)>(const_cast<void*>(function))};
  } else {
    return reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(function));
  }
}

inline void note_pointer(PointerArgument*& next, int position, const volatile void* pointer) {
  *next++ = {position, pointer};
}
template <typename T>
void note_pointer(PointerArgument*& next, int position, const T& argument) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>)
    note_pointer(next, position, static_cast<const volatile void*>(argument));
}
template <typename T>
void note_pointer(PointerArgument*& next, int position, const Reference<T>& argument) {
  note_pointer(next, position, static_cast<const volatile void*>(argument.address));
}

/// Notes the pointers among the arguments. @return how many
template <typename... Arguments>
int find_pointers(PointerArgument* pointers, const Arguments&... arguments) {
  PointerArgument* next = pointers;
  [[maybe_unused]] int position = 0;
  (note_pointer(next, ++position, arguments), ...);
  return static_cast<int>(next - pointers);
}

template <typename Callable, typename... Arguments>
void start_kernel(KernelCall& call, const Callable& callable, const Arguments&... arguments) {
  PointerArgument pointers[sizeof...(Arguments) + 1];
  const int pointer_count = find_pointers(pointers, arguments...);
  hold_arguments(call, callable, arguments...);
  submit_kernel(call, pointers, pointer_count);
}

/// A kernel that is known by its address only, with its name and parameters.
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
cudaError_t launch_untyped(const void* function, void** arguments,
                           const Configuration& configuration);

/// What a pointer to an argument points to; to an address, for a reference.
template <typename Parameter>
Kept<Parameter> kept(void* argument) {
  if constexpr (std::is_reference_v<Parameter>)
    return **static_cast<std::remove_reference_t<Parameter>**>(argument);
  else
    return *static_cast<std::remove_cv_t<Parameter>*>(argument);
}

template <typename... Parameters, std::size_t... Index>
int bind_in_order(std::index_sequence<Index...> /*order*/, const void* function, void** arguments,
                  KernelCall& call, PointerArgument* pointers) {
  hold_arguments(call, kernel_at<Parameters...>(function), kept<Parameters>(arguments[Index])...);
  return find_pointers(pointers, kept<Parameters>(arguments[Index])...);
}

template <typename... Parameters>
int bind_arguments(const void* function, void** arguments, KernelCall& call,
                   PointerArgument* pointers) {
  return bind_in_order<Parameters...>(std::index_sequence_for<Parameters...>{}, function, arguments,
                                      call, pointers);
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

// ---- templates whose parameters are deduced -----------------------------------------------------

/// A launch that waits for its arguments; they are evaluated once, on the host, and copied.
template <typename Callable>
class Launch {
 public:
  Launch(const KernelCall& call, Callable callable) : call_(call), callable_(std::move(callable)) {}

  template <typename... Arguments>
  void operator()(Arguments&&... arguments) {
    if constexpr ((std::is_same_v<std::decay_t<Arguments>, Zero> || ...) &&
                  std::is_invocable_v<const Callable&, decltype(zero_as_int(arguments))...>) {
      start(zero_as_int(arguments)...);
    } else {
      // Here the compiler finds out whether the kernel takes the arguments; without this line it
      // would do so deep in the runtime and name every function on the way.
      static_assert(
          std::is_void_v<decltype(callable_(std::declval<std::decay_t<Arguments>&>()...))>);
      start<std::decay_t<Arguments>...>(arguments...);
    }
  }

 private:
  template <typename... Arguments>
  void start(const Arguments&... arguments) {
    start_kernel<Callable, Arguments...>(call_, callable_, arguments...);
  }

  KernelCall call_;
  Callable callable_;
};

template <typename Callable>
Launch<Callable> launch(Callable callable, const char* name, const Configuration& configuration) {
  return {KernelCall{configuration, name}, std::move(callable)};
}

// ---- kernels of known parameters ----------------------------------------------------------------

/// A launch between its <<<…>>> and its (…), which stand in one expression: the callable lives so
/// long.
struct PendingLaunch {
  KernelCall call;
  const void* callable;
};

/// The calling thread's pending launches are a stack: arguments may themselves launch kernels.
void push_launch(const Configuration& configuration, const char* name, const void* function,
                 const void* callable);
PendingLaunch pop_launch();

template <typename Callable, typename... Parameters>
void start_pending(Parameters... arguments) {
  PendingLaunch launch = pop_launch();
  if constexpr (std::is_pointer_v<Callable> || (is_copied_by_bytes<Parameters> || ...))
    start_kernel<decltype(kernel_at<Parameters...>(nullptr)), Kept<Parameters>...>(
        launch.call, kernel_at<Parameters...>(launch.call.function), arguments...);
  else
    start_kernel<Callable, Kept<Parameters>...>(
        launch.call, *static_cast<const Callable*>(launch.callable), arguments...);
}

template <typename Callable, typename Result, typename... Parameters>
auto launch_function(Result (*function)(Parameters...), const Callable& callable, const char* name,
                     const Configuration& configuration) -> void (*)(Parameters...) {
  static_assert(std::is_void_v<Result>, "a kernel must return void");
  push_launch(configuration, name, reinterpret_cast<const void*>(function), &callable);
  return &start_pending<Callable, Parameters...>;
}

/// For an expression whose value is a pointer to a kernel, such as table[i].
template <typename Result, typename... Parameters>
auto launch_pointer(Result (*function)(Parameters...), const char* name,
                    const Configuration& configuration) {
  return launch_function(function, function, name, configuration);
}

}  // namespace convlab::emulation
