#include "apiserver/patch/patch.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMaxOperations = 10'000;
constexpr std::size_t kMaxCopied = std::size_t{3} << 20;
constexpr std::size_t kMaxPathDepth = 100;

Refused rejected() {
  return Refused{ApiError{422,
                          "Invalid",
                          "the server rejected our request due to an error in our request",
                          json::Object{},
                          {},
                          false}};
}

/// "/a~1b/0" -> {"a/b", "0"}; nothing when malformed.
std::optional<std::vector<std::string>> splitPointer(std::string_view text) {
  std::vector<std::string> out;
  if (text.empty()) { return out; }
  if (text.front() != '/') { return std::nullopt; }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      out.emplace_back();
    } else if (text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      out.back() += text[++i] == '0' ? '~' : '/';
    } else {
      out.back() += text[i];
    }
  }
  if (out.size() > kMaxPathDepth) { return std::nullopt; }
  return out;
}

std::optional<std::size_t> indexOf(const std::string& token, std::size_t limit) {
  if (token.empty() || token.size() > 9) { return std::nullopt; }
  std::size_t value = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') { return std::nullopt; }
    value = value * 10 + static_cast<std::size_t>(c - '0');
  }
  return value < limit ? std::optional{value} : std::nullopt;
}

Value* step(Value& at, const std::string& token) {
  if (at.isArray()) {
    const auto i = indexOf(token, at.items().size());
    return i ? &at.array()[*i] : nullptr;
  }
  return at.isObject() ? at.object().find(token) : nullptr;
}

/// The parent of what `path` names; nullptr when there is none.
Value* parentOf(Value& root, const std::vector<std::string>& path) {
  Value* at = &root;
  for (std::size_t i = 0; at != nullptr && i + 1 < path.size(); ++i) { at = step(*at, path[i]); }
  return at;
}

/// Values stay shallow enough to be walked by recursion, whatever moves and copies pile up.
bool isAtMostDeep(const Value& v, std::size_t limit) {
  if (limit == 0) { return false; }
  for (const Value& item : v.items()) {
    if (!isAtMostDeep(item, limit - 1)) { return false; }
  }
  for (const auto& member : v.members()) {
    if (!isAtMostDeep(member.second, limit - 1)) { return false; }
  }
  return true;
}

class JsonPatcher {
 public:
  explicit JsonPatcher(Value& root) : root_{root} {}

  bool run(const Value& op) {
    const auto path = splitPointer(op["path"].str());
    const std::string_view name = op["op"].str();
    if (!path || op.find("path") == nullptr) { return false; }
    if (name == "add") { return op.find("value") != nullptr && add(*path, op["value"]); }
    if (name == "remove") { return take(*path).has_value(); }
    if (name == "replace") { return op.find("value") != nullptr && replace(*path, op["value"]); }
    if (name == "test") { return test(*path, op["value"]); }
    if (name != "copy" && name != "move") { return false; }
    const auto from = splitPointer(op["from"].str());
    if (!from || op.find("from") == nullptr) { return false; }
    return name == "copy" ? copy(*from, *path) : move(*from, *path);
  }

 private:
  bool add(const std::vector<std::string>& path, Value value) {
    if (!isAtMostDeep(value, kMaxPathDepth + 1 - path.size())) { return false; }
    if (path.empty()) {
      root_ = std::move(value);
      return true;
    }
    Value* parent = parentOf(root_, path);
    if (parent == nullptr) { return false; }
    if (parent->isArray()) {
      auto& items = parent->array();
      if (path.back() == "-") {
        items.push_back(std::move(value));
        return true;
      }
      const auto i = indexOf(path.back(), items.size() + 1);
      if (!i) { return false; }
      items.insert(items.begin() + static_cast<std::ptrdiff_t>(*i), std::move(value));
      return true;
    }
    if (!parent->isObject()) { return false; }
    parent->set(path.back(), std::move(value));
    return true;
  }

  bool replace(const std::vector<std::string>& path, const Value& value) {
    if (!isAtMostDeep(value, kMaxPathDepth + 1 - path.size())) { return false; }
    if (path.empty()) {
      root_ = value;
      return true;
    }
    Value* parent = parentOf(root_, path);
    if (parent == nullptr) { return false; }
    if (Value* at = step(*parent, path.back())) {
      *at = value;
      return true;
    }
    return parent->isObject() && add(path, value);  // the server's library adds what is not there
  }

  std::optional<Value> take(const std::vector<std::string>& path) {
    Value* parent = path.empty() ? nullptr : parentOf(root_, path);
    Value* at = parent == nullptr ? nullptr : step(*parent, path.back());
    if (at == nullptr) { return std::nullopt; }
    Value out = std::move(*at);
    if (parent->isArray()) {
      auto& items = parent->array();
      items.erase(items.begin() + (at - items.data()));
    } else {
      parent->erase(path.back());
    }
    return out;
  }

  const Value* find(const std::vector<std::string>& path) {
    if (path.empty()) { return &root_; }
    Value* parent = parentOf(root_, path);
    return parent == nullptr ? nullptr : step(*parent, path.back());
  }

  bool test(const std::vector<std::string>& path, const Value& expected) {
    const Value* at = find(path);
    return at == nullptr ? expected.isNull() : *at == expected;
  }

  bool copy(const std::vector<std::string>& from, const std::vector<std::string>& path) {
    const Value* at = find(from);
    if (at == nullptr) { return false; }
    copied_ += json::print(*at).size();
    return copied_ <= kMaxCopied && add(path, *at);
  }

  bool move(const std::vector<std::string>& from, const std::vector<std::string>& path) {
    auto value = take(from);
    return value && add(path, *std::move(value));
  }

  Value& root_;
  std::size_t copied_ = 0;
};

}  // namespace

Done applyJsonPatch(json::Value& target, const json::Value& patch) {
  if (patch.items().size() > kMaxOperations) {
    return refuse(
        413, "RequestEntityTooLarge",
        fmt::format("Request entity too large: The allowed maximum operations in a JSON patch is {}, got {}",
                    kMaxOperations, patch.items().size()));
  }
  JsonPatcher patcher{target};
  for (const Value& op : patch.items()) {
    if (!patcher.run(op)) { return rejected(); }
  }
  return {};
}

void applyMergePatch(json::Value& target, const json::Value& patch) {
  if (!target.isObject()) { target = json::Object{}; }
  for (const auto& [name, value] : patch.members()) {
    if (value.isNull()) {
      target.erase(name);
    } else if (value.isObject()) {
      applyMergePatch(target.child(name), value);
    } else {
      target.set(name, value);
    }
  }
}

}  // namespace gs::apiserver
