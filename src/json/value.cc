#include "json/value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace gs::json {
namespace {

const Value kNull;
const Array kNoItems;
const Object kNoMembers;

}  // namespace

Object::Object() = default;
Object::Object(std::initializer_list<Member> members) {
  reserve(members.size());
  for (const Member& m : members) { set(m.first, m.second); }
}

Object::Object(const Object& other) {
  if (other.lent_) {
    members_.write() = *other.members_.read();
  } else {
    members_ = other.members_;
  }
}

Object::Object(Object&& other) noexcept
    : members_{std::move(other.members_)}, lent_{std::exchange(other.lent_, false)} {}

Object& Object::operator=(const Object& other) { return *this = Object{other}; }

Object& Object::operator=(Object&& other) noexcept {
  lent_ = std::exchange(other.lent_, false);  // first: `other` may be one of our members
  members_ = std::move(other.members_);
  return *this;
}

Object::~Object() = default;

std::vector<Member>& Object::lend() {
  lent_ = true;
  return members_.write();
}

std::optional<std::size_t> Object::place(std::string_view key) const {
  const Member* const first = begin();
  const std::size_t count = size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = first[i].first;
    // Most names differ in length or in their last letter: comparing all of them is a call.
    if (name.size() != key.size() || (!key.empty() && name.back() != key.back())) { continue; }
    if (name == key) { return i; }
  }
  return std::nullopt;
}

const Value* Object::find(std::string_view key) const {
  const auto at = place(key);
  return at ? &begin()[*at].second : nullptr;
}

Value* Object::find(std::string_view key) {
  const auto at = place(key);
  return at ? &lend()[*at].second : nullptr;
}

Value& Object::operator[](std::string_view key) {
  if (Value* known = find(key)) { return *known; }
  return lend().emplace_back(std::string{key}, Value{}).second;
}

void Object::set(std::string_view key, Value value) {
  if (const auto at = place(key)) {
    members_.write()[*at].second = std::move(value);
  } else {
    members_.write().emplace_back(std::string{key}, std::move(value));
  }
}

bool Object::erase(std::string_view key) {
  const auto at = place(key);
  if (!at) { return false; }
  auto& members = members_.write();
  members.erase(members.begin() + static_cast<std::ptrdiff_t>(*at));
  return true;
}

void Object::append(std::string key, Value value) {
  members_.write().emplace_back(std::move(key), std::move(value));
}
void Object::reserve(std::size_t members) { members_.write().reserve(members); }
Member* Object::begin() { return empty() ? nullptr : lend().data(); }
Member* Object::end() { return empty() ? nullptr : lend().data() + size(); }

bool operator==(const Object& a, const Object& b) {
  if (a.members_.sameAs(b.members_)) { return true; }
  if (a.size() != b.size()) { return false; }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto& [key, value] = a.begin()[i];
    // Mostly the order is the same; then no search is needed.
    const Member& beside = b.begin()[i];
    const Value* other = beside.first == key ? &beside.second : b.find(key);
    if (other == nullptr || !(value == *other)) { return false; }
  }
  return true;
}

bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

Value::Value(unsigned long long v) {
  if (v <= static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max())) {
    data_ = static_cast<std::int64_t>(v);
  } else {
    data_ = static_cast<double>(v);
  }
}

const Value& Value::operator[](std::string_view key) const& {
  const Value* found = find(key);
  return found == nullptr ? kNull : *found;
}

const Value* Value::find(std::string_view key) const& {
  const auto* object = std::get_if<Object>(&data_);
  return object == nullptr ? nullptr : object->find(key);
}

const Value& Value::at(std::size_t index) const& {
  const auto* array = std::get_if<Array>(&data_);
  return array == nullptr || index >= array->size() ? kNull : (*array)[index];
}

std::string_view Value::str() const& {
  const auto* text = std::get_if<std::string>(&data_);
  return text == nullptr ? std::string_view{} : std::string_view{*text};
}

std::optional<std::int64_t> Value::integer() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) { return *whole; }
  const auto* real = std::get_if<double>(&data_);
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (real == nullptr || !(*real >= -kLimit && *real < kLimit) || std::trunc(*real) != *real) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*real);
}

std::optional<double> Value::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) { return static_cast<double>(*whole); }
  if (const auto* real = std::get_if<double>(&data_)) { return *real; }
  return std::nullopt;
}

bool Value::boolOr(bool fallback) const {
  const auto* yes = std::get_if<bool>(&data_);
  return yes == nullptr ? fallback : *yes;
}

const Array& Value::items() const& {
  const auto* array = std::get_if<Array>(&data_);
  return array == nullptr ? kNoItems : *array;
}

const Object& Value::members() const& {
  const auto* object = std::get_if<Object>(&data_);
  return object == nullptr ? kNoMembers : *object;
}

Value& Value::child(std::string_view key) { return object()[key]; }

bool Value::erase(std::string_view key) {
  auto* object = std::get_if<Object>(&data_);
  return object != nullptr && object->erase(key);
}

Array& Value::array() {
  if (isNull()) { data_ = Array{}; }
  GS_CHECK(isArray(), "json: an array was meant, this is {}", print(*this).substr(0, 80));
  return std::get<Array>(data_);
}

Object& Value::object() {
  if (isNull()) { data_ = Object{}; }
  GS_CHECK(isObject(), "json: an object was meant, this is {}", print(*this).substr(0, 80));
  return std::get<Object>(data_);
}

Value fromStrings(const std::map<std::string, std::string>& strings) {
  Object object;
  object.reserve(strings.size());
  for (const auto& [key, value] : strings) { object.append(key, value); }
  return object;
}

}  // namespace gs::json
