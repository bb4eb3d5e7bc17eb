#include "test/conformance/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <thread>

#include "net/http_client.h"
#include "test/conformance/normal.h"

namespace gs::conformance {
namespace {

using json::Value;
using namespace std::chrono_literals;

constexpr const char* kAgent = "conformance/1";
constexpr int kPatience = 300;  // times that an `until` is asked, 0.1 s apart

/// 299 - "text"
std::string warningText(std::string_view header) {
  const auto begin = header.find('"');
  const auto end = header.rfind('"');
  if (begin == std::string_view::npos || end <= begin) { return std::string{header}; }
  std::string out;
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (header[i] == '\\' && i + 1 < end) { ++i; }
    out += header[i];
  }
  return out;
}

std::vector<std::string> warningsIn(const net::Headers& headers) {
  std::vector<std::string> out;
  for (const auto& [name, value] : headers) {
    if (name == "Warning" || name == "warning") { out.push_back(warningText(value)); }
  }
  return out;
}

bool isWatch(const std::string& target) { return target.find("watch=true") != std::string::npos; }

/// JSON, the events of a watch as a list, or text.
Value readAnswer(const Got& got, bool watch) {
  if (watch && got.code == 200) {
    json::Array events;
    std::istringstream lines{got.body};
    for (std::string line; std::getline(lines, line);) {
      if (auto event = json::parse(line)) { events.push_back(*std::move(event)); }
    }
    return events;
  }
  if (auto value = json::parse(got.body)) { return *std::move(value); }
  auto end = got.body.find_last_not_of('\n');
  return Value{got.body.substr(0, end == std::string::npos ? 0 : end + 1)};
}

Sent requestOf(const Step& step, const Saved& saved) {
  const std::string body = fill(step.body, saved);
  const bool writes = step.method != "GET";
  return {step.method, fill(step.target, saved), writes ? step.content_type : "", step.accept, body};
}

bool holds(const Value& until, int code, const Value& answer) {
  return std::all_of(until.members().begin(), until.members().end(), [&](const json::Member& m) {
    return m.first == "code" ? m.second == Value{code} : pick(answer, m.first) == m.second;
  });
}

}  // namespace

json::Value compared(const Step& step, const json::Value& answer) {
  if (step.compare == Compare::All) { return answer; }
  Value out = json::Object{{"code", answer["code"]}};
  for (const auto& [how, member] : {std::pair{Compare::Reason, "reason"}, std::pair{Compare::Kind, "kind"}}) {
    if (step.compare == how) { out.set("answer", json::Object{{member, answer["answer"][member]}}); }
  }
  return out;
}

Server overHttp(const k8s::Access& access) {
  net::HttpClient::Options options;
  options.tls = access.tls;
  auto client = std::make_shared<net::HttpClient>(std::move(options));
  return [client, access](const Sent& sent) {
    net::ClientRequest request;
    request.method = sent.method;
    request.url = access.server + sent.target;
    request.headers = {{"Accept", sent.accept}, {"User-Agent", kAgent}};
    if (!sent.content_type.empty()) { request.headers.emplace_back("Content-Type", sent.content_type); }
    if (!access.token.empty()) { request.headers.emplace_back("Authorization", "Bearer " + access.token); }
    request.body = sent.body;
    request.timeout = 60s;
    auto answer = client->send(request);
    if (answer.status == 0) { return Got{0, answer.message, {}}; }
    return Got{answer.status, std::move(answer.body), warningsIn(answer.headers)};
  };
}

Server inProcess(sandbox::HttpPort& port) {
  return [&port](const Sent& sent) {
    net::Request request{
        sent.method, sent.target, {{"Accept", sent.accept}, {"User-Agent", kAgent}}, sent.body};
    if (!sent.content_type.empty()) { request.headers.emplace_back("Content-Type", sent.content_type); }
    net::Response response = port.answer(request);
    while (response.stream) {
      const auto more = response.stream(0ns);
      if (!more || more->empty()) { break; }
      response.body += *more;
    }
    return Got{response.status, std::move(response.body), warningsIn(response.headers)};
  };
}

Answers play(const Case& one, const Server& server) {
  Saved saved{{"ns", "c-" + one.name}};
  (void)server({"POST", "/api/v1/namespaces", "application/json", "application/json",
                json::print(json::Object{{"metadata", json::Object{{"name", saved["ns"]}}}})});
  Normal normal;
  Answers out;
  for (const Step& step : one.steps) {
    const Sent request = requestOf(step, saved);
    Got got = server(request);
    Value answer = readAnswer(got, isWatch(step.target));
    for (int i = 0; i < kPatience && !holds(step.until, got.code, answer); ++i) {
      std::this_thread::sleep_for(100ms);
      got = server(request);
      answer = readAnswer(got, isWatch(step.target));
    }
    for (const auto& [name, path] : step.save.members()) {
      const Value& value = pick(answer, path.str());
      saved[name] = value.isString() ? std::string{value.str()} : json::print(value);
    }
    Value result = json::Object{{"code", got.code}, {"answer", normal.value(answer, step.generated)}};
    json::Array warnings;
    for (auto& text : got.warnings) { warnings.emplace_back(std::move(text)); }
    if (!warnings.empty()) { result.set("warnings", std::move(warnings)); }
    out.push_back(std::move(result));
  }
  return out;
}

std::string differ(const Step& step, const json::Value& a, const json::Value& b) {
  return difference(compared(step, a), compared(step, b));
}

}  // namespace gs::conformance
