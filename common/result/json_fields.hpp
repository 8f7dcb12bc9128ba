#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"

// One declaration per struct, for writing and for reading:
//
//     void json_fields(JsonFields& fields, Extent& extent) {
//       fields("width", extent.width, "height", extent.height).optional("depth", extent.depth);
//     }
//
// nlohmann-json then converts the struct, and vectors of it, by itself. An enum needs only a
// to_string that returns "unknown" for a value that does not exist.

/// The same for a struct whose fields have the names of its members, and are in every file.
#define CONVLAB_FIELD(name) fields(#name, value.name);
#define CONVLAB_FIELDS(Struct, ...)                                       \
  void json_fields(JsonFields& fields, Struct& value) {                   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CONVLAB_FIELD, __VA_ARGS__)) \
  }

namespace convlab {

/// Writes the fields of a struct to a JSON object, or reads them from one.
class JsonFields {
 public:
  static JsonFields writer(Json& to) { return {nullptr, &to}; }
  static JsonFields reader(const Json& from) { return {&from, nullptr}; }

  [[nodiscard]] bool reads() const { return from_ != nullptr; }

  // These take any number of pairs of a name and a value.

  /// Fields that every file has.
  /// @throws nlohmann::json::exception if a file lacks one, or one has another type
  template <class T, class... More>
  JsonFields& operator()(const char* name, T& value, More&... more) {
    if (reads()) {
      read(from_->at(name), value);
    } else {
      (*to_)[name] = value;
    }
    if constexpr (sizeof...(more) > 0) (*this)(more...);
    return *this;
  }

  /// Fields that are always written; if a file lacks one, its value stays unchanged.
  template <class T, class... More>
  JsonFields& defaulted(const char* name, T& value, More&... more) {
    if (!reads() || from_->contains(name)) (*this)(name, value);
    if constexpr (sizeof...(more) > 0) defaulted(more...);
    return *this;
  }

  /// Fields that are written only if their values are not empty or zero.
  template <class T, class... More>
  JsonFields& optional(const char* name, T& value, More&... more) {
    unless(T{}, name, value);
    if constexpr (sizeof...(more) > 0) optional(more...);
    return *this;
  }

  /// A field that is written only if it has another value than the usual one.
  template <class T>
  void unless(const T& usual, const char* name, T& value) {
    if (reads()) {
      if (from_->contains(name)) (*this)(name, value);
    } else if (Json json = value; differs<Json>(json, usual)) {
      (*to_)[name] = std::move(json);
    }
  }
  template <class T>
  void unless(const std::optional<T>& /*usual*/, const char* name, std::optional<T>& value) {
    if (reads() && from_->contains(name)) value.emplace();
    if (value) (*this)(name, *value);
  }

 private:
  JsonFields(const Json* from, Json* to) : from_(from), to_(to) {}

  // JSON has no NaN and no infinity; null stands for them.
  template <class T>
  static void read(const Json& from, T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (from.is_null()) {
        value = std::numeric_limits<T>::quiet_NaN();
        return;
      }
    }
    from.get_to(value);
  }

  // A template: `!=` shall be looked up when the types that JSON converts to are known.
  template <class T>
  static bool differs(const T& one, const T& other) {
    return one != other;
  }

  const Json* from_;
  Json* to_;
};

template <class T>
concept HasJsonFields = requires(JsonFields& fields, T& value) {
  json_fields(fields, value);
};

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  { to_string(value) } -> std::convertible_to<std::string_view>;
};

template <HasJsonFields T>
void to_json(Json& json, const T& value) {
  json = Json::object();
  JsonFields fields = JsonFields::writer(json);
  json_fields(fields, const_cast<T&>(value));  // a writer changes nothing
}

template <HasJsonFields T>
void from_json(const Json& json, T& value) {
  JsonFields fields = JsonFields::reader(json);
  json_fields(fields, value);
}

template <NamedEnum T>
void to_json(Json& json, const T& value) {
  json = to_string(value);
}

/// @throws EnvironmentError for a name that no value has
template <NamedEnum T>
void from_json(const Json& json, T& value) {
  const auto name = json.get<std::string>();
  for (int i = 0; std::string_view(to_string(static_cast<T>(i))) != "unknown"; ++i) {
    if (name != to_string(static_cast<T>(i))) continue;
    value = static_cast<T>(i);
    return;
  }
  throw EnvironmentError("'" + name + "' is not a known value");
}

}  // namespace convlab
