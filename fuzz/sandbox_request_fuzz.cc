// Any bytes as requests to the API server in memory, a line each: "METHOD TARGET CONTENT-TYPE BODY". Each is
// answered with a code; an error's body is a Status, or the text of a page that is not there; what was
// accepted is stored under a higher revision.
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/handlers/api.h"
#include "json/value.h"

namespace {

std::string takeWord(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  std::string word{line.substr(0, end)};
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

void send(gs::apiserver::Api& api, std::string_view line, gs::Now now) {
  gs::apiserver::Request request;
  request.method = takeWord(line);
  request.target = takeWord(line);
  request.content_type = takeWord(line);
  auto body = gs::json::parse(line);
  if (body) { request.body = *std::move(body); }
  const auto before = api.store().revision();
  const auto answer = api.handle(request, now);
  if (answer.code < 200 || answer.code > 599 || api.store().revision() < before) { __builtin_trap(); }
  const bool page = answer.code == 404 && !answer.text.empty();  // of a path that is not served
  if (answer.code >= 400 && !page && answer.body["kind"].str() != "Status") { __builtin_trap(); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kMaxRequests = 20;
  std::string_view in{reinterpret_cast<const char*>(data), size};
  gs::Now now{};
  gs::apiserver::Api api{gs::Rng{1}, now};
  for (int i = 0; i < kMaxRequests && !in.empty(); ++i) {
    const auto end = std::min(in.find('\n'), in.size());
    send(api, in.substr(0, end), now);
    in.remove_prefix(std::min(end + 1, in.size()));
    now.mono += std::chrono::seconds{1};
    now.wall += std::chrono::seconds{1};
  }
  return 0;
}
