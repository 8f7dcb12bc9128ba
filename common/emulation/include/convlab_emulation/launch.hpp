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
#include <exception>
#include <functional>
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
cudaError_t submit_kernel(KernelCall call, const PointerArgument* pointers, int pointer_count);

/// Ends a kernel that has thrown an exception. (A GPU knows none.)
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

/// Binds the kernel to what make() returns, a BoundKernel.
template <typename Make>
auto& hold_arguments(KernelCall& call, const Make& make) {
  using Bound = decltype(make());
  auto* const bound = new Bound(make());
  call.run_thread = &Bound::run_thread;
  call.arguments = bound;
  call.argument_bytes = sizeof(Bound);
  call.parameter_bytes = sizeof(bound->arguments);
  call.destroy = [](void* arguments) { delete static_cast<Bound*>(arguments); };
  return *bound;
}

/// A reference among the arguments. No class of std: a call of a kernel named `apply` would find
/// std::apply by it, too.
template <typename T>
class KeptReference {
 public:
  KeptReference(T& object) : object_(&object) {}
  operator T&() const { return *object_; }
  [[nodiscard]] T& get() const { return *object_; }

 private:
  T* object_;
};

/// How a launch keeps an argument for a parameter of this type: of a reference, the address.
template <typename Parameter>
using Kept =
    std::conditional_t<std::is_reference_v<Parameter>,
                       KeptReference<std::remove_reference_t<Parameter>>, std::decay_t<Parameter>>;

template <typename T>
constexpr bool is_kept_reference = false;
template <typename T>
constexpr bool is_kept_reference<KeptReference<T>> = true;

/// Notes the pointers among the arguments. @return how many
template <typename... Arguments>
int find_pointers(PointerArgument* pointers, const Arguments&... arguments) {
  int count = 0;
  int position = 0;
  [[maybe_unused]] const auto note = [&](const auto& argument) {
    ++position;
    using Argument = Plain<decltype(argument)>;
    if constexpr (std::is_pointer_v<Argument> &&
                  !std::is_function_v<std::remove_pointer_t<Argument>>)
      pointers[count++] = {position, argument};
    else if constexpr (is_kept_reference<Argument>)
      pointers[count++] = {position, &argument.get()};
  };
  (note(arguments), ...);
  return count;
}

template <typename Callable, typename... Arguments>
cudaError_t start_kernel(KernelCall call, const Callable& callable, const Arguments&... arguments) {
  using Bound = BoundKernel<Callable, Arguments...>;
  PointerArgument pointers[sizeof...(Arguments) + 1];
  const int pointer_count = find_pointers(pointers, arguments...);
  hold_arguments(call, [&] { return Bound{callable, {arguments...}}; });
  return submit_kernel(call, pointers, pointer_count);
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
  using Kernel = void (*)(Parameters...);
  using Bound = BoundKernel<Kernel, Kept<Parameters>...>;
  const auto& bound = hold_arguments(call, [&] {
    return Bound{reinterpret_cast<Kernel>(const_cast<void*>(function)),
                 {kept<Parameters>(arguments[Index])...}};
  });
  return find_pointers(pointers, std::get<Index>(bound.arguments)...);
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
  void operator()(Arguments&&... arguments) const {
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
  void start(const Arguments&... arguments) const {
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
void push_launch(PendingLaunch launch);
PendingLaunch pop_launch();

template <typename Callable, typename... Parameters>
void start_pending(Parameters... arguments) {
  const PendingLaunch launch = pop_launch();
  if constexpr (std::is_pointer_v<Callable>)
    start_kernel<Callable, Kept<Parameters>...>(
        launch.call, reinterpret_cast<Callable>(const_cast<void*>(launch.call.function)),
        arguments...);
  else
    start_kernel<Callable, Kept<Parameters>...>(
        launch.call, *static_cast<const Callable*>(launch.callable), arguments...);
}

template <typename Callable, typename Result, typename... Parameters>
auto launch_function(Result (*function)(Parameters...), const Callable& callable, const char* name,
                     const Configuration& configuration) -> void (*)(Parameters...) {
  static_assert(std::is_void_v<Result>, "a kernel must return void");
  push_launch(
      {KernelCall{configuration, name, reinterpret_cast<const void*>(function)}, &callable});
  return &start_pending<Callable, Parameters...>;
}

/// For an expression whose value is a pointer to a kernel, such as table[i].
template <typename Result, typename... Parameters>
auto launch_pointer(Result (*function)(Parameters...), const char* name,
                    const Configuration& configuration) {
  return launch_function(function, function, name, configuration);
}

}  // namespace convlab::emulation
