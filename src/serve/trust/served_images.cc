#include "serve/trust/served_images.h"

#include <algorithm>

#include "base/hash.h"

namespace gs::serve {

std::string ServedImages::keyOf(const kcache::Reference& image, const cacherim::Credentials& credentials) {
  Sha256 hash;
  const auto add = [&hash](const std::string& text) {  // each with its end, so that none reads as two
    hash.update(std::to_string(text.size()) + ':');
    hash.update(text);
  };
  for (const cacherim::Credential& one : credentials.of(image.registry, image.repository)) {
    for (const auto* text : {&one.username, &one.password, &one.identity_token, &one.registry_token}) {
      add(*text);
    }
  }
  return image.pinned(*image.digest).text() + ' ' + hash.hex();
}

void ServedImages::add(const std::string& key, Mono now) {
  const MutexLock lock{mutex_};
  when_.insert_or_assign(key, now);
  if (when_.size() <= options_.most) { return; }
  when_.erase(std::min_element(when_.begin(), when_.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; }));
}

bool ServedImages::has(const std::string& key, Mono now) const {
  const MutexLock lock{mutex_};
  const auto it = when_.find(key);
  return it != when_.end() && now - it->second < options_.age;
}

}  // namespace gs::serve
