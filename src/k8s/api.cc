#include "k8s/api.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "json/value.h"
#include "kapi/decode.h"
#include "kapi/paths.h"
#include "net/http_client.h"

namespace gs::k8s {
namespace {

constexpr std::size_t kMaxList = std::size_t{64} << 20;
constexpr std::size_t kMaxOther = std::size_t{16} << 20;
/// How much later than it promised (timeoutSeconds) a server may end a watch before we do.
constexpr auto kWatchGrace = std::chrono::seconds{30};

/// Zero: no limit.
Duration watchLimit(std::string_view query) {
  const auto promised = kapi::timeoutOf(query);
  return promised ? *promised + kWatchGrace : Duration::zero();
}

/// The message of a Status body, or the beginning of whatever else came.
std::string messageOf(const net::Answer& answer) {
  const auto body = json::parse(answer.body);
  if (body && !(*body)["message"].str().empty()) { return std::string{(*body)["message"].str()}; }
  return fmt::format("HTTP {} {}", answer.status, std::string_view{answer.body}.substr(0, 200));
}

}  // namespace

class Api::HttpApiClient final : public Client {
 public:
  explicit HttpApiClient(Api& api) : api_{api}, http_{{.tls = api.access_.tls, .proxy = api.access_.proxy}} {}

  kapi::Outcome run(const kapi::Call& call, const std::function<bool()>& may_send) override {
    net::ClientRequest request;
    request.method = kapi::httpMethod(call.verb);
    request.url = api_.access_.server + kapi::target(call);
    request.timeout = call.timeout;
    request.max_body = call.verb == kapi::Verb::List ? kMaxList : kMaxOther;
    request.before_send = may_send;
    if (!kapi::isRead(call.verb) && !call.body.isNull()) { request.body = json::print(call.body); }
    const char* content_type = kapi::isRead(call.verb) ? "" : kapi::contentType(call.verb);
    const net::Answer answer = send(request, content_type, kapi::isRead(call.verb));
    if (answer.status != 0) {
      return kapi::decodeAnswer(call, answer.status, answer.body, answer.retry_after);
    }
    kapi::Outcome outcome;
    outcome.token = call.token;
    outcome.result = answer.sent ? kapi::CallResult::Unknown : kapi::CallResult::NotSent;
    outcome.too_large = answer.failure == net::Failure::TooLarge;
    outcome.message = describe(request, answer);
    return outcome;
  }

  kapi::WatchEnded watch(const kapi::OpenWatch& watch,
                         const std::function<bool(kapi::WatchEvent)>& on_event) override {
    net::ClientRequest request;
    request.url = api_.access_.server + kapi::target(watch);
    request.timeout = watchLimit(watch.query);
    request.max_body = kMaxOther;
    request.headers = headers(api_.token_.current(), "");
    std::optional<kapi::WatchEnded> ended;
    const net::Answer answer = http_.stream(request, [&](std::string_view line) {
      auto read = kapi::decodeWatchLine(watch.stream, watch.kind, line);
      if (auto* end = std::get_if<kapi::WatchEnded>(&read)) {
        ended = std::move(*end);
        return false;
      }
      return on_event(std::move(std::get<kapi::WatchEvent>(read)));
    });
    note(answer);
    if (ended) { return std::move(*ended); }
    if (answer.status == 200) { return {watch.stream, 200, ""}; }
    if (answer.status == 401) { static_cast<void>(api_.token_.renewed(used_)); }
    return {watch.stream, answer.status, answer.status != 0 ? messageOf(answer) : describe(request, answer)};
  }

  void cancel() override { http_.cancel(); }
  [[nodiscard]] bool cancelled() const override { return http_.cancelled(); }

 private:
  net::Headers headers(std::string token, const char* content_type) {
    net::Headers made{{"Accept", "application/json"}, {"User-Agent", api_.user_agent_}};
    if (*content_type != '\0') { made.emplace_back("Content-Type", content_type); }
    if (!token.empty()) { made.emplace_back("Authorization", "Bearer " + token); }
    used_ = std::move(token);
    return made;
  }

  /// A read that is answered 401 is sent once more when the token has changed;
  /// a write is the caller's business.
  net::Answer send(net::ClientRequest& request, const char* content_type, bool is_read) {
    request.headers = headers(api_.token_.current(), content_type);
    net::Answer answer = http_.send(request);
    if (answer.status == 401 && api_.token_.renewed(used_) && is_read) {
      request.headers = headers(api_.token_.current(), content_type);
      answer = http_.send(request);
    }
    note(answer);
    return answer;
  }

  void note(const net::Answer& answer) {
    if (answer.status != 0) { api_.health_.answered(answer.status); }
  }

  static std::string describe(const net::ClientRequest& request, const net::Answer& answer) {
    if (answer.failure == net::Failure::Withheld) { return "not sent: we do not lead any more"; }
    return fmt::format("{} {}: {}", request.method, request.url, answer.message);
  }

  Api& api_;
  net::HttpClient http_;
  std::string used_;  // the token of the last request
};

Api::Api(Access access, std::string user_agent, const Clock& clock)
    : access_{std::move(access)},
      user_agent_{std::move(user_agent)},
      token_{access_.token, access_.token_file, clock} {}

std::unique_ptr<Client> Api::connect() { return std::make_unique<HttpApiClient>(*this); }

}  // namespace gs::k8s
