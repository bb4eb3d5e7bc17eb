// The labels of a pod in one piece of memory, which pods with equal labels may share: very many pods are
// known, and each is asked for its labels again and again by what others say of them. Never changes.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/label_selector.h"

namespace gs::model {

class PodLabels {
 public:
  PodLabels() = default;
  /// What has a byte 0 in it is left out: no label may have one.
  PodLabels(const Labels& labels);  // NOLINT(google-explicit-constructor)
  PodLabels(std::initializer_list<Labels::value_type> labels) : PodLabels{Labels{labels}} {}

  [[nodiscard]] bool empty() const { return text_ == nullptr; }
  /// Its value. A walk over the text, which is short.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const;
  /// Calls visit(key, value) for each, by key.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::string_view rest = text(); !rest.empty();) {
      const std::string_view key = take(rest);
      visit(key, take(rest));
    }
  }
  [[nodiscard]] Labels all() const;
  [[nodiscard]] std::size_t hash() const { return std::hash<std::string_view>{}(text()); }
  friend bool operator==(const PodLabels& a, const PodLabels& b) {
    return a.text_ == b.text_ || a.text() == b.text();
  }

 private:
  [[nodiscard]] std::string_view text() const {
    return text_ == nullptr ? std::string_view{} : std::string_view{*text_};
  }
  /// Cuts off what stands before the next byte 0.
  static std::string_view take(std::string_view& rest) {
    const std::size_t end = rest.find('\0');
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return part;
  }

  std::shared_ptr<const std::string> text_;  // key, 0, value, 0 for each, by key; nullptr: none
};

/// Lets pods that are read one soon after another share equal labels. Remembers a bounded number of them.
class SharedPodLabels {
 public:
  [[nodiscard]] PodLabels share(const Labels& labels);

 private:
  static constexpr std::size_t kMost = 1024;
  std::vector<PodLabels> last_;  // by hash
};

}  // namespace gs::model
