// For tests only: a registry whose every answer is written by the test, and a client that waits without
// waiting.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "cacherim/registry/registry.h"
#include "net/scripted_server.h"

namespace gs::cacherim {

using Peer = net::ScriptedServer::Peer;

/// Moves the clock instead of waiting, and notes how long.
class NoPause final : public Pause {
 public:
  explicit NoPause(ManualClock& clock) : clock_{clock} {}
  bool wait(Duration time) override {
    waits.push_back(time);
    clock_.advance(time);
    if (onWait) { onWait(); }
    return !cancelled_;
  }
  void cancel() override { cancelled_ = true; }
  std::vector<Duration> waits;
  std::function<void()> onWait;

 private:
  ManualClock& clock_;
  std::atomic<bool> cancelled_ = false;
};

inline std::string http(int status, const net::Headers& headers, const std::string& body) {
  std::string out =
      "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) { out += name + ": " + value + "\r\n"; }
  return out + "\r\n" + body;
}

/// Answers each request by `handle`, which gets how many came before it; it says false to end the connection.
class FakeRegistry {
 public:
  using Handle = std::function<bool(Peer& peer, const net::Request& request, int count)>;
  explicit FakeRegistry(Handle handle)
      : server_{[this, handle = std::move(handle)](Peer& peer) {
          while (const auto request = peer.readRequest()) {
            if (!handle(peer, *request, count_++)) { return; }
          }
        }} {}

  [[nodiscard]] std::string name() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::vector<net::Request> requests() const { return server_.requests(); }
  /// "GET /v2/..."
  [[nodiscard]] std::vector<std::string> asked() const {
    std::vector<std::string> out;
    for (const auto& request : requests()) { out.push_back(request.method + ' ' + request.target); }
    return out;
  }
  [[nodiscard]] kcache::Reference image(const std::string& tag = "v1") const {
    return {name(), "a/b", tag, std::nullopt};
  }

 private:
  std::atomic<int> count_ = 0;
  net::ScriptedServer server_;
};

inline std::string headerOf(const net::Request& request, std::string_view name) {
  const std::string* value = net::findHeader(request.headers, name);
  return value == nullptr ? std::string{} : *value;
}

using Asked = std::vector<std::string>;
inline const char* const kManifest = R"({"schemaVersion":2})";

class RegistryTest : public ::testing::Test {
 protected:
  /// Asks without TLS.
  RegistryOptions& plain(const FakeRegistry& fake) {
    options_.plain_http.insert(fake.name());
    options_.direct = true;
    return options_;
  }
  [[nodiscard]] Registry registry() { return Registry{options_, clock_, Rng{1}, pause_}; }

  static kcache::Descriptor descriptorOf(const std::string& text) {
    return {"application/octet-stream", kcache::Digest::of(text), static_cast<std::int64_t>(text.size())};
  }
  /// Into got_.
  [[nodiscard]] ByteSink sink() {
    return [this](std::string_view piece) {
      got_ += piece;
      return true;
    };
  }

  ManualClock clock_;
  NoPause pause_{clock_};
  RegistryOptions options_;
  std::string got_;
  const std::string large_ = [] {
    std::string out;
    while (out.size() < std::size_t{300'000}) { out += std::to_string(out.size()) + ' '; }
    return out;
  }();
};

/// Of a "Range: bytes=N-" header; 0: none.
inline std::size_t rangeStart(const net::Request& request) {
  const std::string range = headerOf(request, "Range");
  return range.empty() ? 0 : std::stoul(range.substr(6));
}

inline std::string partial(const std::string& whole, std::size_t from) {
  return http(206,
              {{"Content-Range", "bytes " + std::to_string(from) + "-" + std::to_string(whole.size() - 1) +
                                     "/" + std::to_string(whole.size())}},
              whole.substr(from));
}

}  // namespace gs::cacherim
