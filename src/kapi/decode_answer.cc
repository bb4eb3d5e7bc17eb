#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/paths.h"
#include "kapi/retry_wait.h"

namespace gs::kapi {
namespace {

using json::View;

constexpr std::array kRefusals = {400, 401, 403, 404, 405, 409, 413, 415, 422, 429};
constexpr int kUnusable =
    500;  // how a watch ends whose lines make no sense: not by itself, and trying again may help
constexpr std::size_t kShown = 300;  // bytes of a body that is no Status

/// What follows the first bytes of a body in a message: printable, one line.
std::string shown(std::string_view body) {
  std::string out{body.substr(0, kShown)};
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  while (!out.empty() && out.back() == ' ') { out.pop_back(); }
  return out;
}

void readList(const Call& call, const View& body, Outcome& out) {
  const auto items = body["items"].items();
  out.items.reserve(items.size());
  for (const View item : items) { out.items.push_back(decodeObject(call.kind, item)); }
  out.list_revision = objectRevision(body);
  out.continue_token = text(body["metadata"]["continue"]);
}

/// The body of a 2xx answer.
void readBody(const Call& call, const View& body, Outcome& out) {
  const std::string_view kind = body["kind"].str();
  if (kind == "Status") {
    out.reason = text(body["reason"]);
    out.message = text(body["message"]);
  } else if (call.verb == Verb::List) {
    readList(call, body, out);
  } else if (kind.empty() || kind == call.kind->name) {
    out.object = decodeObject(call.kind, body);
  }
}

/// A read is of use only when its answer is what was asked for.
bool isUsable(const Call& call, const View& body, const Outcome& out) {
  if (call.verb == Verb::List) {
    return body["kind"].str() != "Status" && body["items"].isArray() && out.list_revision != 0;
  }
  return call.verb != Verb::Get || call.kind->decode == nullptr || !out.object.empty();
}

/// An answer's body.
struct Body {
  std::optional<View> json;
  std::string_view text;    // "": json printed
  std::string_view reason;  // why there is no json
  [[nodiscard]] std::string shown() const {
    return kapi::shown(text.empty() && json ? json::print(json->value()) : text);
  }
};

void readSuccess(const Call& call, const Body& body, Outcome& out) {
  out.result = CallResult::Applied;
  if (body.json) { readBody(call, *body.json, out); }
  if (isRead(call.verb) && (!body.json || !isUsable(call, *body.json, out))) {
    out.result = CallResult::Unknown;
    out.object = {};
    out.items.clear();
    out.message =
        body.json ? "the answer is not what was asked for: " + body.shown() : std::string{body.reason};
  }
}

void readFailure(const Body& body, Outcome& out) {
  out.result = std::find(kRefusals.begin(), kRefusals.end(), out.http) != kRefusals.end()
                   ? CallResult::Refused
                   : CallResult::Unknown;
  if (!body.json || (*body.json)["kind"].str() != "Status") {
    out.message = body.shown();
    return;
  }
  out.is_status = true;
  out.reason = text((*body.json)["reason"]);
  out.message = text((*body.json)["message"]);
  if (out.retry_after == Duration{}) {
    const auto seconds =
        bounded((*body.json)["details"]["retryAfterSeconds"], std::numeric_limits<std::int32_t>::max());
    out.retry_after = std::min<Duration>(std::chrono::seconds{seconds}, kMostRetryAfter);
  }
}

bool succeeded(int status) { return status >= 200 && status < 300; }

void read(const Call& call, const Body& body, Outcome& out) {
  if (succeeded(out.http)) {
    readSuccess(call, body, out);
  } else {
    readFailure(body, out);
  }
}

WatchEnded ended(Token stream, int http, std::string message) { return {stream, http, std::move(message)}; }

}  // namespace

Outcome decodeAnswer(const Call& call, int status, std::string_view body, Duration retry_after) {
  Outcome out;
  out.token = call.token;
  out.http = status;
  out.retry_after = std::min(retry_after, kMostRetryAfter);
  if (status == 0) {
    out.result = CallResult::Unknown;
    out.message = shown(body);
    return out;
  }
  const auto json = json::Document::read(body);
  read(call, json ? Body{json->root(), body, {}} : Body{std::nullopt, body, json.error().message}, out);
  return out;
}

Outcome decodeAnswerValue(const Call& call, int status, const View& body) {
  Outcome out;
  out.token = call.token;
  out.http = status;
  read(call, {body, {}, {}}, out);
  return out;
}

std::variant<WatchEvent, WatchEnded> decodeWatchLine(Token stream, Kind kind, std::string_view line) {
  const auto json = json::Document::read(line);
  if (!json) {
    return ended(stream, kUnusable, "a line of the watch cannot be read: " + json.error().message);
  }
  return decodeWatchValue(stream, kind, json->root());
}

std::variant<WatchEvent, WatchEnded> decodeWatchValue(Token stream, Kind kind, const View& line) {
  const std::string_view type = line["type"].str();
  const View object = line["object"];
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
                             shown(json::print(line.value()))));
  }
  if (event.type != WatchType::Bookmark) { event.object = decodeObject(kind, object); }
  return event;
}

}  // namespace gs::kapi
