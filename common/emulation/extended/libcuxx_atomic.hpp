#pragma once

// cuda::atomic and cuda::atomic_ref of libcu++. A change is atomic in every scope, because the
// threads of a block run on one core and blocks take their turns (atomics.hpp); memory orders make
// no difference.
// Source: CUDA C++ Core Libraries, libcu++, Synchronization Primitives.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/atomics.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cuda {

enum thread_scope {
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread = 10,
};

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

inline void atomic_thread_fence(memory_order order, thread_scope /*scope*/ = thread_scope_system) {
  ::std::atomic_thread_fence(order);
  if (order != memory_order_relaxed) convlab::emulation::observe_fence();
}

namespace detail {

/// The operations of atomic and atomic_ref, whose address() is that of the value.
template <class Self, class T>
class atomic_operations {
 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  [[nodiscard]] bool is_lock_free() const { return true; }
  [[nodiscard]] T load(memory_order order = memory_order_seq_cst) const {
    return change(order, [](T old) { return old; });
  }
  void store(T value, memory_order order = memory_order_seq_cst) const {
    change(order, [=](T) { return value; });
  }
  /// @param order  on success; that of a failure makes no difference
  bool compare_exchange_strong(T& expected, T value, memory_order order = memory_order_seq_cst,
                               memory_order /*failure*/ = memory_order_seq_cst) const {
    const T wanted = expected;
    expected = change(order, [=](T old) { return old == wanted ? value : old; });
    return expected == wanted;
  }
  bool compare_exchange_weak(T& expected, T value, memory_order order = memory_order_seq_cst,
                             memory_order /*failure*/ = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, value, order);
  }

  template <class Value = T>
  T fetch_add(Value value, memory_order order = memory_order_seq_cst) const {
    return change(order, [=](T old) { return sum(old, value); });
  }
  template <class Value = T>
  T fetch_sub(Value value, memory_order order = memory_order_seq_cst) const {
    return change(order, [=](T old) { return difference(old, value); });
  }

  operator T() const { return load(); }
  T operator+=(T value) const { return sum(fetch_add(value), value); }
  T operator-=(T value) const { return difference(fetch_sub(value), value); }
  T operator&=(T value) const { return static_cast<T>(fetch_and(value) & value); }
  T operator|=(T value) const { return static_cast<T>(fetch_or(value) | value); }
  T operator^=(T value) const { return static_cast<T>(fetch_xor(value) ^ value); }
  T operator++() const { return sum(fetch_add(1), 1); }
  T operator--() const { return difference(fetch_sub(1), 1); }
  T operator++(int) const { return fetch_add(1); }
  T operator--(int) const { return fetch_sub(1); }

 private:
  [[nodiscard]] T* address() const { return static_cast<const Self*>(this)->address(); }
  template <class Change>
  [[gnu::always_inline]] T change(memory_order order, Change change) const {
    return convlab::emulation::atomic_update(address(), change, order != memory_order_relaxed);
  }
  // Integers wrap round.
  template <class Value>
  static T sum(T old, Value value) {
    if constexpr (::std::is_integral_v<T>)
      return static_cast<T>(static_cast<::std::make_unsigned_t<T>>(old) +
                            static_cast<::std::make_unsigned_t<T>>(value));
    else
      return static_cast<T>(old + value);
  }
  template <class Value>
  static T difference(T old, Value value) {
    if constexpr (::std::is_integral_v<T>)
      return sum(old, 0 - static_cast<::std::make_unsigned_t<T>>(value));
    else
      return static_cast<T>(old - value);
  }

 public:
#define CONVLAB_FETCH(name, expression)                                                       \
  T name(T value, memory_order order = memory_order_seq_cst) const {                          \
    return change(order, [=]([[maybe_unused]] T old) { return static_cast<T>(expression); }); \
  }
  CONVLAB_FETCH(fetch_and, old& value)
  CONVLAB_FETCH(fetch_or, old | value)
  CONVLAB_FETCH(fetch_xor, old ^ value)
  CONVLAB_FETCH(fetch_min, ::std::min(old, value))
  CONVLAB_FETCH(fetch_max, ::std::max(old, value))
  CONVLAB_FETCH(exchange, value)
#undef CONVLAB_FETCH
};

}  // namespace detail

/// Atomic operations on a variable that is none.
template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public detail::atomic_operations<atomic_ref<T, Scope>, T> {
 public:
  static constexpr ::std::size_t required_alignment = sizeof(T);

  explicit atomic_ref(T& value) : value_(&value) {}
  T operator=(T value) const {
    this->store(value);
    return value;
  }

 private:
  friend detail::atomic_operations<atomic_ref, T>;
  [[nodiscard]] T* address() const { return value_; }

  T* value_;
};

/// An atomic variable. As a __shared__ variable it begins with any value, as on a GPU.
template <class T, thread_scope Scope = thread_scope_system>
class atomic : public detail::atomic_operations<atomic<T, Scope>, T> {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  T operator=(T value) {
    this->store(value);
    return value;
  }

 private:
  friend detail::atomic_operations<atomic, T>;
  [[nodiscard]] T* address() const { return &value_; }

  mutable T value_;
};

}  // namespace cuda

// NOLINTEND(readability-identifier-naming)
