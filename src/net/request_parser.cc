#include "net/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace gs::net {

namespace http = boost::beast::http;

struct RequestParser::Library {
  http::request_parser<http::string_body> parser;

  explicit Library(const RequestLimits& limits) {
    parser.header_limit(std::numeric_limits<std::uint32_t>::max());  // advance() watches over it
    parser.body_limit(limits.body_bytes);
  }
};

RequestParser::RequestParser(RequestLimits limits)
    : limits_{limits}, library_{std::make_unique<Library>(limits)} {}
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

namespace {

constexpr std::size_t kReserve = std::size_t{16} << 20;  // of a body that is announced
constexpr std::size_t kSlack =
    128;  // for who reads it in place: JSON scanners look at some bytes behind the end

int statusFor(const boost::beast::error_code& ec) {
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) { return 431; }
  if (ec == http::error::body_limit) { return 413; }
  return 400;
}

/// A line break in a header would let text from outside forge further headers.
bool isPlain(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) { return false; }
  }
  return true;
}

}  // namespace

void RequestParser::feed(std::string_view bytes) {
  if (bad_ != 0) { return; }
  if (pending_.empty()) { bytes.remove_prefix(takeBody(bytes)); }  // large bodies are moved once
  if (bytes.empty()) { return; }
  pending_.append(bytes);
  if (!ready_) { advance(); }
}

/// How many of the bytes are the body's.
std::size_t RequestParser::takeBody(std::string_view bytes) {
  const std::size_t taken = std::min(bytes.size(), body_size_ - body_.size());
  if (taken == 0 || ready_) { return 0; }
  if (body_.empty()) { body_.reserve(std::min(body_size_, kReserve) + kSlack); }
  body_.append(bytes.substr(0, taken));
  ready_ = body_.size() == body_size_;
  return taken;
}

/// The header's limit is counted here, and holds however the bytes were cut on their way. The library takes a
/// chunk header or trailer only when it is complete: a piece of header_bytes of which it takes nothing is one
/// that is too long.
void RequestParser::advance() {
  auto& parser = library_->parser;
  std::size_t used = 0;
  while (used < pending_.size() && !parser.is_done() && bad_ == 0 && body_size_ == 0) {
    const bool in_header = !parser.is_header_done();
    const std::size_t piece = std::min(pending_.size() - used, limits_.header_bytes);
    boost::beast::error_code ec;
    const std::size_t took = parser.put(boost::asio::const_buffer{pending_.data() + used, piece}, ec);
    used += took;
    if (in_header) { header_size_ += took; }
    const bool header_ended = in_header && parser.is_header_done();
    const std::size_t waiting = pending_.size() - used;
    if (ec && ec != http::error::need_more) {
      bad_ = statusFor(ec);
    } else if (header_ended ? header_size_ > limits_.header_bytes
                            : in_header && header_size_ + waiting >= limits_.header_bytes) {
      bad_ = 431;
    } else if (took == 0) {
      if (piece == limits_.header_bytes) { bad_ = 431; }
      break;
    }
    if (header_ended && bad_ == 0 && !parser.chunked()) {
      body_size_ = static_cast<std::size_t>(parser.content_length().value_or(0));
    }
  }
  if (bad_ == 0 && body_size_ > 0) {
    used += takeBody(std::string_view{pending_}.substr(used));
  } else {
    ready_ = bad_ == 0 && parser.is_done();
  }
  if (used == pending_.size()) {
    std::string{}.swap(pending_);  // an idle connection keeps no memory
  } else {
    pending_.erase(0, used);
  }
}

bool RequestParser::begun() const { return !ready_ && (!pending_.empty() || header_size_ > 0); }

std::size_t RequestParser::held() const {
  return pending_.size() + header_size_ + body_.size() + library_->parser.get().body().size();
}

bool RequestParser::wantsContinue() {
  const auto& parser = library_->parser;
  if (continue_said_ || ready_ || bad_ != 0 || !parser.is_header_done()) { return false; }
  const auto& message = parser.get();
  if (message.version() < 11 || !boost::beast::iequals(message[http::field::expect], "100-continue")) {
    return false;
  }
  continue_said_ = true;
  return true;
}

bool RequestParser::keepAlive() const { return library_->parser.get().keep_alive(); }

Request RequestParser::take() {
  auto message = library_->parser.release();
  Request request;
  request.method = std::string{message.method_string()};
  request.target = std::string{message.target()};
  for (const auto& field : message) {
    request.headers.emplace_back(std::string{field.name_string()}, std::string{field.value()});
  }
  request.body = body_size_ > 0 ? std::move(body_) : std::move(message.body());
  body_ = {};
  body_size_ = 0;
  library_ = std::make_unique<Library>(limits_);
  ready_ = false;
  continue_said_ = false;
  header_size_ = 0;
  advance();
  return request;
}

const char* statusText(int status) { return http::obsolete_reason(static_cast<http::status>(status)).data(); }

std::string renderHead(const Response& response, bool keep_alive) {
  std::string out =
      "HTTP/1.1 " + std::to_string(response.status) + " " + statusText(response.status) + "\r\n";
  for (const auto& [name, value] : response.headers) {
    if (!name.empty() && isPlain(name) && isPlain(value)) {
      fmt::format_to(std::back_inserter(out), "{}: {}\r\n", name, value);
    }
  }
  if (response.stream) {
    out += "Transfer-Encoding: chunked\r\n";
  } else {
    out += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  }
  if (!keep_alive) { out += "Connection: close\r\n"; }
  return out + "\r\n";
}

std::string renderResponse(const Response& response, bool keep_alive, bool head) {
  std::string out = renderHead(response, keep_alive);
  if (!head && !response.stream) { out += response.body; }
  return out;
}

std::string renderChunk(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string size;
  for (std::size_t n = bytes.size(); n > 0 || size.empty(); n /= 16) { size.insert(0, 1, kDigits[n % 16]); }
  std::string out = size + "\r\n";
  out.append(bytes);
  return out + "\r\n";
}

}  // namespace gs::net
