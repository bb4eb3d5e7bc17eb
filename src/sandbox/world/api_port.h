// The World's door to the API server in memory: calls and watches of the machines (kapi/call.h) in, outcomes
// and events out.
// The same requests that the HTTP client sends, without text and sockets. One thread; time is an argument.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "kapi/call.h"

namespace gs::apiserver {
class Api;
}

namespace gs::sandbox {

class ApiPort {
 public:
  explicit ApiPort(apiserver::Api& api) : api_{api} {}

  /// Carries the call out at once and answers as the server would.
  [[nodiscard]] kapi::Outcome call(const kapi::Call& call, Now now);

  using StreamEvent = std::variant<kapi::WatchEvent, kapi::WatchEnded>;
  /// The stream is known by `client` (one process) and watch.stream. Nullopt: open;
  /// else why the server refused it.
  [[nodiscard]] std::optional<kapi::WatchEnded> open(int client, const kapi::OpenWatch& watch, Now now);
  void close(int client, kapi::Token stream);
  void closeAll(int client);
  /// The next event of this stream that has not been taken yet.
  [[nodiscard]] std::optional<StreamEvent> poll(int client, kapi::Token stream);
  void bookmark(int client, kapi::Token stream);

 private:
  struct Stream {
    std::uint64_t id = 0;
    kapi::Kind kind{};
  };
  /// What an event's object was decoded to: each replica that reads this kind gets the same event.
  struct Known {
    kapi::Kind kind;
    json::Value object;
    kapi::WatchEvent event;
  };
  [[nodiscard]] StreamEvent decode(kapi::Token stream, kapi::Kind kind, const json::Value& line);

  static constexpr std::size_t kKnown = 32;
  std::array<Known, kKnown> known_;  // by revision
  apiserver::Api& api_;
  std::map<std::pair<int, kapi::Token>, Stream> streams_;
};

}  // namespace gs::sandbox
