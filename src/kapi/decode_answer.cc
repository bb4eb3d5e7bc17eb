#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/paths.h"

namespace gs::kapi {
namespace {

using json::Value;

constexpr std::array kRefusals = {400, 401, 403, 404, 405, 409, 413, 415, 422, 429};
constexpr std::int64_t kMostRetrySeconds = 3600;
constexpr int kUnusable =
    500;  // how a watch ends whose lines make no sense: not by itself, and trying again may help
constexpr std::size_t kShown = 300;  // bytes of a body that is no Status

/// No decoder looks at these, and they are half of a pod and most of a node.
constexpr auto kUnread = std::to_array<std::string_view>(
    {"managedFields", "env", "volumeMounts", "command", "args", "projected", "configMap", "securityContext",
     "livenessProbe", "readinessProbe", "podIPs", "hostIPs", "images"});

/// What follows the first bytes of a body in a message: printable, one line.
std::string shown(std::string_view body) {
  std::string out{body.substr(0, kShown)};
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  while (!out.empty() && out.back() == ' ') { out.pop_back(); }
  return out;
}

/// All but the items, which were decoded as they were read.
void readList(const Value& body, Outcome& out) {
  out.list_revision = objectRevision(body);
  out.continue_token = text(body["metadata"]["continue"]);
}

/// The body of a 2xx answer.
void readBody(const Call& call, const Value& body, Outcome& out) {
  const std::string_view kind = body["kind"].str();
  if (kind == "Status") {
    out.reason = text(body["reason"]);
    out.message = text(body["message"]);
  } else if (call.verb == Verb::List) {
    readList(body, out);
  } else if (kind.empty() || kind == kindInfo(call.kind).name) {
    out.object = decodeObject(call.kind, body);
  }
}

/// A read is of use only when its answer is what was asked for.
bool isUsable(const Call& call, const Value& body, const Outcome& out) {
  if (call.verb == Verb::List) {
    return body["kind"].str() != "Status" && body["items"].isArray() && out.list_revision != 0;
  }
  return call.verb != Verb::Get || call.kind == model::Kind::Event ||
         !std::holds_alternative<std::monostate>(out.object);
}

void readSuccess(const Call& call, std::string_view body, Outcome& out) {
  out.fate = Fate::Applied;
  json::Reading reading{kUnread, "", nullptr};
  if (call.verb == Verb::List) {
    reading.elements_of = "items";
    reading.on_element = [&](const Value& item) { out.items.push_back(decodeObject(call.kind, item)); };
  }
  const auto json = json::parse(body, reading);
  if (json) { readBody(call, *json, out); }
  if (isRead(call.verb) && (!json || !isUsable(call, *json, out))) {
    out.fate = Fate::Unknown;
    out.object = {};
    out.items.clear();
    out.message =
        json ? fmt::format("the answer is not what was asked for: {}", shown(body)) : json.error().message;
  }
}

void readFailure(std::string_view body, Outcome& out) {
  out.fate = std::find(kRefusals.begin(), kRefusals.end(), out.http) != kRefusals.end() ? Fate::Refused
                                                                                        : Fate::Unknown;
  const auto json = json::parse(body);
  if (!json || json->operator[]("kind").str() != "Status") {
    out.message = shown(body);
    return;
  }
  out.reason = text((*json)["reason"]);
  out.message = text((*json)["message"]);
  if (out.retry_after == Duration{}) {
    out.retry_after =
        std::chrono::seconds{bounded((*json)["details"]["retryAfterSeconds"], kMostRetrySeconds)};
  }
}

WatchEnded ended(Token stream, int http, std::string message) { return {stream, http, std::move(message)}; }

}  // namespace

Outcome decodeAnswer(const Call& call, int status, std::string_view body, Duration retry_after) {
  Outcome out;
  out.token = call.token;
  out.http = status;
  out.retry_after = retry_after;
  if (status == 0) {
    out.fate = Fate::Unknown;
    out.message = shown(body);
  } else if (status >= 200 && status < 300) {
    readSuccess(call, body, out);
  } else {
    readFailure(body, out);
  }
  return out;
}

std::variant<WatchEvent, WatchEnded> decodeWatchLine(Token stream, model::Kind kind, std::string_view line) {
  const auto json = json::parse(line, {kUnread, "", nullptr});
  if (!json) {
    return ended(stream, kUnusable, "a line of the watch cannot be read: " + json.error().message);
  }
  return decodeWatchValue(stream, kind, *json);
}

std::variant<WatchEvent, WatchEnded> decodeWatchValue(Token stream, model::Kind kind, const Value& line) {
  const std::string_view type = line["type"].str();
  const Value& object = line["object"];
  if (type == "ERROR") {
    const auto code = bounded(object["code"], 599);
    return ended(stream, code == 0 ? 500 : static_cast<int>(code), text(object["message"]));
  }
  WatchEvent event;
  event.stream = stream;
  event.key = objectKey(object);
  event.revision = objectRevision(object);
  if (type == "BOOKMARK") {
    event.type = WatchType::Bookmark;
  } else if (type == "ADDED") {
    event.type = WatchType::Added;
  } else if (type == "MODIFIED") {
    event.type = WatchType::Modified;
  } else if (type == "DELETED") {
    event.type = WatchType::Deleted;
  } else {
    return ended(stream, kUnusable,
                 fmt::format("the watch brought an event of the unknown type '{}'", shown(type)));
  }
  if (event.revision == 0 || (event.type != WatchType::Bookmark && event.key.name.empty())) {
    return ended(stream, kUnusable,
                 fmt::format("the watch brought an event without name or resourceVersion: {}",
                             shown(json::print(line))));
  }
  if (event.type != WatchType::Bookmark) { event.object = decodeObject(kind, object); }
  return event;
}

}  // namespace gs::kapi
