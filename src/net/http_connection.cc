#include "net/http_connection.h"

#include <utility>

namespace gs::net {
namespace {

constexpr auto kLeave = std::chrono::seconds{2};
constexpr int kReadsInARow = 64;  // then others get their turn, and the deadline is looked at
constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

using Turn = HttpConnection::Turn;

/// Of an operation that did nothing.
Turn turnAfter(Went went) {
  if (went == Went::NeedsInput) { return Turn::Input; }
  return went == Went::NeedsRoom ? Turn::Room : Turn::Over;
}

}  // namespace

HttpConnection::HttpConnection(std::unique_ptr<Transport> transport, const ConnectionRules& rules, Mono now)
    : transport_{std::move(transport)},
      rules_{rules},
      parser_{rules.limits},
      deadline_{now + rules.idle_timeout} {}

Turn HttpConnection::advance(Mono now, std::span<char> scratch) {
  for (;;) {
    if (const auto turn = write()) { return *turn; }
    switch (phase_) {
      case Phase::Resting:
      case Phase::Reading:
        if (const auto turn = read(now, scratch)) { return *turn; }
        break;
      case Phase::Working: return Turn::Over;
      case Phase::Writing:
        if (refused_) {
          transport_->endWriting();
          phase_ = Phase::Leaving;
          deadline_ = now + kLeave;
        } else if (keep_) {
          rest(now);
        } else {
          return Turn::Over;
        }
        break;
      case Phase::Leaving: return leave(scratch);
    }
  }
}

std::optional<Turn> HttpConnection::write() {
  while (written_ < head_.size() + body_.size()) {
    const bool in_head = written_ < head_.size();
    const std::string_view left = in_head ? std::string_view{head_}.substr(written_)
                                          : std::string_view{body_}.substr(written_ - head_.size());
    std::size_t took = 0;
    const Went went = transport_->write(left, in_head && !body_.empty(), took);
    if (went != Went::Ok) { return turnAfter(went); }
    written_ += took;
  }
  put({}, {});
  return std::nullopt;
}

std::optional<Turn> HttpConnection::read(Mono now, std::span<char> scratch) {
  for (int reads = 0;; ++reads) {
    if (parser_.bad() != 0) {
      refuse(parser_.bad(), now);
      return std::nullopt;
    }
    if (parser_.ready()) { return Turn::Answer; }
    if (phase_ == Phase::Resting && parser_.begun()) {
      phase_ = Phase::Reading;
      deadline_ = now + rules_.request_timeout;
    }
    if (parser_.wantsContinue()) {
      put(kContinue, {});
      return std::nullopt;
    }
    if (reads == kReadsInARow) { return Turn::Again; }
    std::size_t got = 0;
    const Went went = transport_->read(scratch, got);
    if (went != Went::Ok) { return turnAfter(went); }
    parser_.feed({scratch.data(), got});
  }
}

Turn HttpConnection::leave(std::span<char> scratch) {
  for (int reads = 0; reads < kReadsInARow; ++reads) {
    std::size_t got = 0;
    const Went went = transport_->read(scratch, got);
    if (went != Went::Ok) { return turnAfter(went); }
  }
  return Turn::Again;
}

Request HttpConnection::take() {
  phase_ = Phase::Working;
  peer_keeps_ = parser_.keepAlive();
  Request request = parser_.take();
  is_head_ = request.method == "HEAD";
  return request;
}

void HttpConnection::put(std::string head, std::string body) {
  head_.swap(head);  // the memory of what was there goes, too
  body_.swap(body);
  written_ = 0;
}

void HttpConnection::answer(Response response, bool keep, Mono now) {
  std::string head = renderHead(response, keep);
  put(std::move(head), is_head_ ? std::string{} : std::move(response.body));
  answered(keep, now);
}

void HttpConnection::answered(bool keep, Mono now) {
  phase_ = Phase::Writing;
  keep_ = keep;
  deadline_ = now + rules_.request_timeout;
}

void HttpConnection::refuse(int status, Mono now) {
  parser_ = RequestParser{rules_.limits};  // nothing more is read as a request
  is_head_ = false;
  answer(rules_.refusal ? rules_.refusal(status) : textResponse(status, "the request was refused\n"), false,
         now);
  refused_ = true;
}

/// Ready for the next request, of which some may have come.
void HttpConnection::rest(Mono now) {
  phase_ = Phase::Resting;
  deadline_ = now + rules_.idle_timeout;
}

}  // namespace gs::net
