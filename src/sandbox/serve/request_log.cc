#include "sandbox/serve/request_log.h"

#include <fmt/format.h>

namespace gs::sandbox {
namespace {

std::string orDash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

std::string whoSent(const net::Request& request) {
  static constexpr std::string_view kBearer = "Bearer ";
  const std::string* header = net::findHeader(request.headers, "Authorization");
  if (header == nullptr || !header->starts_with(kBearer)) { return {}; }
  std::string who = header->substr(kBearer.size());
  const bool plain = who.find_first_of(" \t\r\n") == std::string::npos;
  return plain ? who : std::string{};
}

std::string verbOf(const std::string& method, const apiserver::Route& route) {
  if (method == "GET") {
    if (!route.name.empty()) { return "get"; }
    return apiserver::isWatch(route) ? "watch" : "list";
  }
  if (method == "POST") { return "create"; }
  if (method == "PUT") { return "update"; }
  if (method == "PATCH") { return "patch"; }
  return route.name.empty() ? "deletecollection" : "delete";
}

Result<std::unique_ptr<RequestLog>> RequestLog::open(const std::string& path) {
  std::ofstream out{path, std::ios::app};
  if (!out) {
    return fail(
        Code::Invalid,
        fmt::format("--request-log: {} cannot be written; name a file in a folder that exists", path));
  }
  return std::unique_ptr<RequestLog>{new RequestLog{std::move(out)}};
}

void RequestLog::add(const net::Request& request, const apiserver::Route& route, int code) {
  const apiserver::Resource& r = *route.resource;
  const std::string line =
      fmt::format("{} {} {}{}{} {} {} {} {}\n", orDash(whoSent(request)), verbOf(request.method, route),
                  r.plural, r.group.empty() ? "" : ".", r.group, orDash(route.subresource), orDash(route.ns),
                  orDash(route.name), code);
  const MutexLock lock{mutex_};
  out_ << line << std::flush;
}

}  // namespace gs::sandbox
