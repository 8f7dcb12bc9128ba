#pragma once

namespace convlab::emulation {

/// Owns an object of any type together with its copies. It is a std::shared_ptr<const void> without
/// <memory>, which would cost the compilation of every .cu file half a second.
class SharedObject {
 public:
  SharedObject() = default;
  SharedObject(const SharedObject& other) : owner_(other.owner_), object_(other.object_) {
    if (owner_ != nullptr) __atomic_fetch_add(&owner_->count, 1, __ATOMIC_RELAXED);
  }
  SharedObject& operator=(SharedObject other) {
    swap(owner_, other.owner_);
    swap(object_, other.object_);
    return *this;
  }
  ~SharedObject() {
    if (owner_ != nullptr && __atomic_sub_fetch(&owner_->count, 1, __ATOMIC_ACQ_REL) == 0)
      owner_->destroy(owner_);
  }

  /// Owns what make() returns.
  template <typename Make>
  static SharedObject made_by(Make make) {
    using Object = decltype(make());
    struct Holder : Owner {
      explicit Holder(Make& make_object) : object(make_object()) {}
      Object object;
    };
    auto* const holder = new Holder(make);
    holder->destroy = [](Owner* owner) { delete static_cast<Holder*>(owner); };
    SharedObject result;
    result.owner_ = holder;
    result.object_ = &holder->object;
    return result;
  }

  [[nodiscard]] const void* get() const { return object_; }

 private:
  struct Owner {
    long count = 1;
    void (*destroy)(Owner*) = nullptr;
  };
  template <typename T>
  static void swap(T& a, T& b) {
    T former = a;
    a = b;
    b = former;
  }

  Owner* owner_ = nullptr;
  const void* object_ = nullptr;
};

}  // namespace convlab::emulation
