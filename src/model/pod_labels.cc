#include "model/pod_labels.h"

namespace gs::model {

PodLabels::PodLabels(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    if (key.find('\0') != std::string::npos || value.find('\0') != std::string::npos) { continue; }
    text.append(key).push_back('\0');
    text.append(value).push_back('\0');
  }
  if (text.empty()) { return; }
  text.shrink_to_fit();
  text_ = std::make_shared<const std::string>(std::move(text));
}

std::optional<std::string_view> PodLabels::find(std::string_view key) const {
  for (std::string_view rest = text(); !rest.empty();) {
    const std::string_view at = take(rest);
    const std::string_view value = take(rest);
    if (at == key) { return value; }
  }
  return std::nullopt;
}

Labels PodLabels::all() const {
  Labels out;
  each([&](std::string_view key, std::string_view value) { out.emplace(key, value); });
  return out;
}

PodLabels SharedPodLabels::share(const Labels& labels) {
  PodLabels fresh{labels};
  if (fresh.empty()) { return fresh; }
  if (last_.empty()) { last_.resize(kMost); }
  PodLabels& known = last_[fresh.hash() % kMost];
  if (!(known == fresh)) { known = std::move(fresh); }
  return known;
}

}  // namespace gs::model
