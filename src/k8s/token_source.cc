#include "k8s/token_source.h"

#include <utility>

#include "base/ascii.h"
#include "base/files.h"
#include "base/log.h"

namespace gs::k8s {
namespace {

constexpr auto kMaxAge = std::chrono::seconds{10};
constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

/// A token goes into a header: printable ASCII without spaces.
bool isToken(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') { return false; }
  }
  return !text.empty();
}

}  // namespace

TokenSource::TokenSource(std::string token, std::string file, const Clock& clock)
    : file_{std::move(file)}, clock_{clock}, token_{std::move(token)} {}

std::string TokenSource::current() {
  const Mono now = clock_.now().mono;
  MutexLock lock{mutex_};
  if (!file_.empty() && (!ever_read_ || now - read_at_ >= kMaxAge)) { readFile(now); }
  return token_;
}

bool TokenSource::renewed(const std::string& used) {
  const Mono now = clock_.now().mono;
  MutexLock lock{mutex_};
  if (token_ == used && !file_.empty()) { readFile(now); }
  return token_ != used;
}

void TokenSource::readFile(Mono now) {
  ever_read_ = true;
  read_at_ = now;
  const auto text = gs::readFile(file_, kMaxBytes);
  if (!text) {
    log::warn("the token file cannot be read; going on with the last token", {{"why", text.error().message}});
    return;
  }
  const std::string_view token = trim(*text);
  if (isToken(token)) {
    token_ = token;
  } else {
    log::warn("the token file holds no token; going on with the last one", {{"file", file_}});
  }
}

}  // namespace gs::k8s
