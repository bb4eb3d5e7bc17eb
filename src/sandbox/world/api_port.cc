#include "sandbox/world/api_port.h"

#include "apiserver/handlers/api.h"
#include "kapi/decode.h"
#include "kapi/paths.h"

namespace gs::sandbox {

kapi::Outcome ApiPort::call(const kapi::Call& call, Now now) {
  apiserver::Request request{kapi::httpMethod(call.verb), kapi::target(call), kapi::contentType(call.verb),
                             call.body};
  const apiserver::Response response = api_.handle(request, now);
  return kapi::decodeAnswerValue(call, response.code, response.body);
}

std::optional<kapi::WatchEnded> ApiPort::open(int client, const kapi::OpenWatch& watch, Now) {
  const auto id = api_.watch(kapi::target(watch));
  if (!id) { return kapi::WatchEnded{watch.stream, id.error().code, id.error().message}; }
  streams_[{client, watch.stream}] = {*id, watch.kind};
  return std::nullopt;
}

void ApiPort::close(int client, kapi::Token stream) {
  const auto it = streams_.find({client, stream});
  if (it == streams_.end()) { return; }
  api_.close(it->second.id);
  streams_.erase(it);
}

void ApiPort::closeAll(int client) {
  for (auto it = streams_.begin(); it != streams_.end();) {
    if (it->first.first != client) {
      ++it;
      continue;
    }
    api_.close(it->second.id);
    it = streams_.erase(it);
  }
}

std::optional<ApiPort::StreamEvent> ApiPort::poll(int client, kapi::Token stream) {
  const auto it = streams_.find({client, stream});
  if (it == streams_.end()) { return std::nullopt; }
  const auto line = api_.poll(it->second.id);
  if (!line) { return std::nullopt; }
  auto event = decode(stream, it->second.kind, *line);
  if (std::holds_alternative<kapi::WatchEnded>(event)) { streams_.erase(it); }
  return event;
}

ApiPort::StreamEvent ApiPort::decode(kapi::Token stream, kapi::Kind kind, const json::Value& line) {
  const json::Value& object = line["object"];
  const std::string_view type = line["type"].str();
  const bool is_change = type == "ADDED" || type == "MODIFIED";
  if (!is_change) { return kapi::decodeWatchValue(stream, kind, line); }
  Known& known = known_[kapi::objectRevision(object) % kKnown];
  if (known.kind != kind || !object.members().isCopyOf(known.object.members())) {
    auto event = kapi::decodeWatchValue(stream, kind, line);
    if (!std::holds_alternative<kapi::WatchEvent>(event)) { return event; }
    known = {kind, object, std::get<kapi::WatchEvent>(std::move(event))};
  }
  kapi::WatchEvent event = known.event;
  event.stream = stream;
  event.type = type == "ADDED" ? kapi::WatchType::Added : kapi::WatchType::Modified;
  return event;
}

void ApiPort::bookmark(int client, kapi::Token stream) {
  if (const auto it = streams_.find({client, stream}); it != streams_.end()) { api_.bookmark(it->second.id); }
}

}  // namespace gs::sandbox
