#include "cacherim/registry/registry_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/percent.h"
#include "cacherim/registry/token_answer.h"
#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr int kMostRedirects = 5;
constexpr Duration kTokenMargin = std::chrono::seconds{5};
constexpr std::size_t kMostTried = 16;  // credentials of a request: a Secret must not guess passwords
constexpr std::size_t kMostOfATokenAnswer = std::size_t{1} << 20;

net::HttpClient::Options clientOptions(const RegistryOptions& options) {
  return {.tls = {.ca_file = options.ca_file, .system_too = true},
          .proxy = options.proxy,
          .direct = options.direct};
}

bool isRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool mayHelpLater(int status) { return status == 408 || status == 429 || status >= 500; }

/// What a registry calls its error ("MANIFEST_UNKNOWN"). Its message is not shown: it may repeat a secret.
std::string errorCode(const std::string& body) {
  const auto parsed = json::parse(body, net::kMostOfARefusal);
  if (!parsed) { return {}; }
  const std::string code{(*parsed)["errors"].at(0)["code"].str()};
  const auto isPlain = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  return code.size() <= 64 && std::all_of(code.begin(), code.end(), isPlain) ? code : std::string{};
}

/// Without the query, which may hold a secret; of another host its name only.
std::string shown(const RegistryAsk& ask, const net::Url& at, bool elsewhere) {
  if (elsewhere) { return fmt::format("{} {} (redirected to {})", ask.method, ask.target, at.origin()); }
  return fmt::format("{} {}{}", ask.method, at.origin(), at.target.substr(0, at.target.find('?')));
}

std::vector<Challenge> challengesOf(const net::Answer& answer) {
  std::vector<Challenge> out;
  for (const auto& [name, value] : answer.headers) {
    if (!equalInAnyCase(name, "WWW-Authenticate")) { continue; }
    for (Challenge& one : parseChallenges(value)) { out.push_back(std::move(one)); }
  }
  return out;
}

const Challenge* findScheme(const std::vector<Challenge>& all, std::string_view scheme) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.scheme == scheme; });
  return it == all.end() ? nullptr : &*it;
}

std::string basicHeader(const Credential& who) {
  return "Basic " + encodeBase64(who.username + ':' + who.password);
}

/// "service=...&scope=...", one scope= for each, or all in one as a form has it.
std::string tokenQuery(const Challenge& challenge, const RegistryAsk& ask, bool is_form) {
  std::string out = "service=" + percentEncode(challenge.parameter("service"));
  std::string scopes{challenge.parameter("scope")};
  if (scopes.empty()) { scopes = scopeOf(ask); }
  if (is_form) { return out + "&scope=" + percentEncode(scopes); }
  for (std::size_t at = 0; at < scopes.size();) {
    const std::size_t end = std::min(scopes.find(' ', at), scopes.size());
    if (end > at) { out += "&scope=" + percentEncode(scopes.substr(at, end - at)); }
    at = end + 1;
  }
  return out;
}

Refusal denied(const std::string& what, const std::string& registry) {
  return {{Code::Invalid,
           fmt::format("{}: not allowed; the pull secret or docker's config.json needs an entry for "
                       "{} that may do this",
                       what, registry)}};
}

}  // namespace

std::string scopeOf(const RegistryAsk& ask) {
  return ask.repository.empty() ? std::string{} : fmt::format("repository:{}:{}", ask.repository, ask.rights);
}

RegistryHost::RegistryHost(RegistryContext& context, net::Url base, bool may_be_plain)
    : context_{context},
      base_{std::move(base)},
      settled_{!may_be_plain},
      own_{clientOptions(context.options)},
      elsewhere_{clientOptions(context.options)} {
  prefix_ = base_.target.substr(1, base_.target.find('?') - 1);
  if (!prefix_.empty() && !prefix_.ends_with('/')) { prefix_ += '/'; }
  base_.target = "/";
}

std::string RegistryHost::targetOf(const std::string& repository, const std::string& rest) const {
  return "/v2/" + prefix_ + repository + '/' + rest;
}

void RegistryHost::cancel() {
  own_.cancel();
  elsewhere_.cancel();
}

Duration RegistryHost::left(Mono deadline) const {
  return std::max<Duration>(std::chrono::milliseconds{1}, deadline - context_.clock.now().mono);
}

bool RegistryHost::hasUsualPort() const { return base_.port == (base_.encrypted() ? "443" : "80"); }

std::string RegistryHost::registryName() const {
  return hasUsualPort() ? base_.host : base_.host + ':' + base_.port;
}

std::string RegistryHost::known(const std::string& scope) const {
  const auto it = authorizations_.find(scope);
  const bool good = it != authorizations_.end() && context_.clock.now().mono < it->second.until;
  return good ? it->second.header : std::string{};
}

/// This machine is asked with TLS first; without, when nothing there speaks it.
std::optional<Refusal> RegistryHost::settleScheme(Mono deadline) {
  if (settled_) { return std::nullopt; }
  const RegistryAsk ping{.target = "/v2/"};
  Followed with_tls{.answer = {}, .at = base_};
  with_tls.at.target = ping.target;
  with_tls.answer = send(ping, with_tls.at, false, "", deadline);
  if (with_tls.answer.failure != net::Failure::Unreachable) {
    settled_ = true;
    return std::nullopt;
  }
  net::Url plain = with_tls.at;
  plain.scheme = "http";
  if (plain.port == "443") { plain.port = "80"; }
  const net::Answer answer = send(ping, plain, false, "", deadline);
  if (answer.status != 200 && answer.status != 401) { return judge(ping, with_tls).error(); }
  base_ = plain;
  base_.target = "/";
  settled_ = true;
  return std::nullopt;
}

net::Answer RegistryHost::send(const RegistryAsk& ask, const net::Url& at, bool elsewhere,
                               const std::string& authorization, Mono deadline) {
  net::ClientRequest request;
  request.method = ask.method;
  request.url = at.text();
  request.headers = ask.headers;
  if (!authorization.empty() && !elsewhere) { request.headers.emplace_back("Authorization", authorization); }
  request.body = ask.body;
  if (ask.upload) { request.upload = ask.upload(); }
  const bool is_long = ask.take != nullptr || ask.upload;
  request.timeout = is_long ? left(deadline) : std::min(left(deadline), context_.options.request);
  request.idle = is_long ? context_.options.idle : Duration{};
  request.max_body = ask.max_body;
  net::HttpClient& client = elsewhere ? elsewhere_ : own_;
  return ask.take != nullptr ? client.download(request, *ask.take) : client.send(request);
}

RegistryHost::Followed RegistryHost::follow(const RegistryAsk& ask, const std::string& authorization,
                                            Mono deadline) {
  Followed out{.answer = {}, .at = ask.at.value_or(base_)};
  if (!ask.at) { out.at.target = ask.target; }
  out.elsewhere = out.at.origin() != base_.origin();
  const auto refuse = [&](const char* why) {
    out.refusal = Refusal{{Code::Invalid, fmt::format("{}: {}", shown(ask, out.at, out.elsewhere), why)}};
    return out;
  };
  if (base_.encrypted() && !out.at.encrypted()) { return refuse("it would go on without TLS"); }
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    out.answer = send(ask, out.at, out.elsewhere, authorization, deadline);
    const std::string* location = net::findHeader(out.answer.headers, "Location");
    const bool follows = isRedirect(out.answer.status) && (ask.method == "GET" || ask.method == "HEAD");
    if (!follows) { return out; }
    if (location == nullptr) { return refuse("a redirect to nowhere"); }
    const auto next = net::resolveUrl(out.at, *location);
    if (!next) { return refuse("a redirect to what is no URL of http or https"); }
    if (out.at.encrypted() && !next->encrypted()) { return refuse("a redirect from https to http"); }
    out.elsewhere = out.elsewhere || next->origin() != base_.origin();
    out.at = *next;
  }
  return refuse("too many redirects");
}

Reply RegistryHost::judge(const RegistryAsk& ask, Followed followed) const {
  if (followed.refusal) { return tl::unexpected<Refusal>(*followed.refusal); }
  const net::Answer& answer = followed.answer;
  const std::string what = shown(ask, followed.at, followed.elsewhere);
  const auto refuse = [&](Code code, std::string_view why, bool again) -> Reply {
    return tl::unexpected<Refusal>(
        Refusal{{code, fmt::format("{}: {}", what, why)}, again, answer.retry_after});
  };
  switch (answer.failure) {
    case net::Failure::None: break;
    case net::Failure::TooLarge:
    case net::Failure::Cut: return refuse(Code::Invalid, answer.message, false);
    case net::Failure::Cancelled: return refuse(Code::Unavailable, answer.message, false);
    case net::Failure::Timeout: return refuse(Code::Deadline, answer.message, true);
    default: return refuse(Code::Unavailable, answer.message, true);
  }
  const std::string code = errorCode(answer.body);
  const std::string status = fmt::format("status {}{}{}", answer.status, code.empty() ? "" : " ", code);
  // Where it sent us to; a link to a blob may have been too old, but what is not there is not there.
  const bool is_told = answer.status / 100 == 2 || answer.status == 416 || ask.any_end ||
                       (answer.status == 404 && ask.take == nullptr);
  const bool odd = followed.elsewhere && !is_told;
  if (mayHelpLater(answer.status) || odd) { return refuse(Code::Unavailable, status, true); }
  if (answer.status == 401 || answer.status == 403) {
    return tl::unexpected<Refusal>(denied(what, registryName()));
  }
  return std::move(followed.answer);
}

Reply RegistryHost::once(const RegistryAsk& ask, Mono deadline) {
  if (auto refusal = settleScheme(deadline)) { return tl::unexpected<Refusal>(std::move(*refusal)); }
  Followed first = follow(ask, known(scopeOf(ask)), deadline);
  if (first.answer.status != 401 || first.elsewhere || first.refusal) { return judge(ask, std::move(first)); }
  authorizations_.erase(scopeOf(ask));
  return authenticate(ask, first.answer, deadline);
}

/// Each credential once; nobody's, when there is none.
Reply RegistryHost::authenticate(const RegistryAsk& ask, const net::Answer& asked, Mono deadline) {
  const std::vector<Challenge> challenges = challengesOf(asked);
  std::vector<Credential> all =
      context_.options.credentials.of(base_.host, base_.port, hasUsualPort(), prefix_ + ask.repository);
  if (all.empty()) { all.emplace_back(); }
  const std::size_t fit = all.size();
  all.resize(std::min(fit, kMostTried));
  std::optional<Refusal> last;
  for (const Credential& who : all) {
    Authorized authorized = authorize(challenges, who, ask, deadline);
    if (!authorized) {
      if (authorized.error().again) { return tl::unexpected<Refusal>(std::move(authorized.error())); }
      last = std::move(authorized.error());
      continue;
    }
    Followed followed = follow(ask, authorized->header, deadline);
    const int status = followed.answer.status;
    const bool refused = !followed.elsewhere && (status == 401 || status == 403);
    Reply reply = judge(ask, std::move(followed));
    if (!refused) {
      authorizations_.insert_or_assign(scopeOf(ask), std::move(*authorized));
      return reply;
    }
    last = std::move(reply.error());
  }
  if (fit > kMostTried) {
    last->error.message += fmt::format(" ({} credentials fit, and the first {} were tried)", fit, kMostTried);
  }
  return tl::unexpected<Refusal>(std::move(*last));
}

RegistryHost::Authorized RegistryHost::authorize(const std::vector<Challenge>& challenges,
                                                 const Credential& who, const RegistryAsk& ask,
                                                 Mono deadline) {
  if (!who.registry_token.empty()) { return Authorization{"Bearer " + who.registry_token}; }
  if (const Challenge* bearer = findScheme(challenges, "bearer")) {
    return fetchToken(*bearer, who, ask, deadline);
  }
  if (findScheme(challenges, "basic") != nullptr && !who.username.empty()) {
    return Authorization{basicHeader(who)};
  }
  return tl::unexpected<Refusal>(denied(shown(ask, ask.at.value_or(base_), false), registryName()));
}

RegistryHost::Authorized RegistryHost::fetchToken(const Challenge& challenge, const Credential& who,
                                                  const RegistryAsk& ask, Mono deadline) {
  const auto refuse = [&](Code code, std::string_view why, bool again,
                          Duration retry_after = {}) -> Authorized {
    return tl::unexpected<Refusal>(
        Refusal{{code, fmt::format("the token server of {}: {}", registryName(), why)}, again, retry_after});
  };
  const auto realm = net::resolveUrl(base_, challenge.parameter("realm"));
  if (challenge.parameter("realm").empty() || !realm) {
    return refuse(Code::Invalid, "its name is no URL", false);
  }
  if (base_.encrypted() && !realm->encrypted()) { return refuse(Code::Invalid, "it is without TLS", false); }
  RegistryAsk token{.max_body = kMostOfATokenAnswer};
  net::Url at = *realm;
  std::string authorization;
  if (!who.identity_token.empty()) {
    token.method = "POST";
    token.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    token.body = "grant_type=refresh_token&client_id=gkm&" + tokenQuery(challenge, ask, true) +
                 "&refresh_token=" + percentEncode(who.identity_token);
  } else {
    at.target += (at.target.find('?') == std::string::npos ? '?' : '&') + tokenQuery(challenge, ask, false);
    if (!who.username.empty()) { token.headers = {{"Authorization", basicHeader(who)}}; }
  }
  const net::Answer answer = send(token, at, true, "", deadline);
  if (answer.failure == net::Failure::Cancelled) { return refuse(Code::Unavailable, answer.message, false); }
  if (answer.failure == net::Failure::TooLarge) { return refuse(Code::Invalid, answer.message, false); }
  if (answer.failure != net::Failure::None) {
    return refuse(answer.failure == net::Failure::Timeout ? Code::Deadline : Code::Unavailable,
                  answer.message, true);
  }
  if (mayHelpLater(answer.status)) {
    return refuse(Code::Unavailable, fmt::format("status {}", answer.status), true, answer.retry_after);
  }
  if (answer.status != 200) {
    return tl::unexpected<Refusal>(denied(
        fmt::format("the token server of {}: status {}", registryName(), answer.status), registryName()));
  }
  const auto parsed = parseTokenAnswer(answer.body);
  if (!parsed) { return refuse(Code::Invalid, parsed.error().message, false); }
  return Authorization{"Bearer " + parsed->token,
                       context_.clock.now().mono + parsed->good_for - kTokenMargin};
}

Result<net::Url> RegistryHost::placeOf(const net::Answer& answer, std::string_view header) const {
  const std::string* value = net::findHeader(answer.headers, header);
  if (value == nullptr) { return fail(Code::NotFound, fmt::format("{}: no {} header", name(), header)); }
  std::string_view text = *value;
  if (header == "Link") {  // <url>; rel="next"
    const auto open = text.find('<');
    const auto close = text.find('>');
    const bool is_url = open != std::string_view::npos && close != std::string_view::npos && close > open;
    if (!is_url || text.substr(close).find("next") == std::string_view::npos) {
      return fail(Code::NotFound, fmt::format("{}: a Link header without a next", name()));
    }
    text = text.substr(open + 1, close - open - 1);
  }
  return net::resolveUrl(base_, text);
}

}  // namespace gs::cacherim
