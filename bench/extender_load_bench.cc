// Asks an extender the same question from several connections for a while, and prints how fast it answered:
//   extender_load_bench PORT PATH FILE CLIENTS SECONDS
// {"rps":..,"p50_ms":..,"p99_ms":..,"answers":..,"failed":..,"last":"the beginning of an answer"}
// It shares the machine with what it measures, so it does as little as it can: the request is made once, an
// answer is read to its end and dropped.
#include <fmt/format.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "json/value.h"
#include "net/socket.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{256} << 10;

struct Told {
  std::vector<double> ms;
  std::size_t failed = 0;
  std::string last;
};

std::string read(const char* path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// One connection that is kept, as a scheduler has it.
class Client {
 public:
  Client(std::uint16_t port, std::string request)
      : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)},
        request_{std::move(request)},
        piece_(kPiece) {
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(port);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) {
      throw std::runtime_error{"cannot connect"};
    }
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  /// The beginning of the answer.
  std::string ask() {
    if (gs::net::writeAll(socket_.get(), request_, gs::Mono::max()) != gs::net::Io::Ok) {
      throw std::runtime_error{"the extender closed the connection"};
    }
    std::string begin;
    std::size_t end = std::string::npos;
    while ((end = begin.find("\r\n\r\n")) == std::string::npos) { begin.append(piece_.data(), readSome()); }
    std::size_t left = lengthIn(begin) + end + 4 - begin.size();
    while (left > 0) { left -= readSome(); }
    begin.resize(std::min(begin.size(), end + 200));
    return begin;
  }

 private:
  std::size_t readSome() {
    const ssize_t got = ::recv(socket_.get(), piece_.data(), piece_.size(), 0);
    if (got <= 0) { throw std::runtime_error{"the extender closed the connection"}; }
    return static_cast<std::size_t>(got);
  }
  static std::size_t lengthIn(const std::string& head) {
    constexpr std::string_view kLength = "Content-Length: ";
    std::size_t length = 0;
    const auto at = head.find(kLength);
    if (at != std::string::npos) {
      const char* text = head.data() + at + kLength.size();
      std::from_chars(text, head.data() + head.size(), length);
    }
    return length;
  }

  gs::net::Fd socket_;
  const std::string request_;
  std::vector<char> piece_;
};

Told ask(std::uint16_t port, const std::string& request, Clock::time_point until) {
  Told told;
  Client client{port, request};
  while (Clock::now() < until) {
    const auto began = Clock::now();
    std::string answer = client.ask();
    told.ms.push_back(std::chrono::duration<double, std::milli>{Clock::now() - began}.count());
    const bool fine = answer.starts_with("HTTP/1.1 200 ");
    if (!fine) { ++told.failed; }
    if (!fine || told.failed == 0) { told.last = std::move(answer); }
  }
  return told;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s PORT PATH FILE CLIENTS SECONDS\n", argv[0]);
    return 2;
  }
  const std::string body = read(argv[3]);
  const std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      argv[2], body.size(), body);
  const auto port = static_cast<std::uint16_t>(std::stoul(argv[1]));
  const auto clients = static_cast<std::size_t>(std::stoul(argv[4]));
  const double seconds = std::stod(argv[5]);
  const auto began = Clock::now();
  const auto until =
      began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>{seconds});
  std::vector<Told> told(clients);
  std::vector<std::jthread> threads;
  for (Told& t : told) {
    threads.emplace_back([&] { t = ask(port, request, until); });
  }
  threads.clear();  // joins
  const double took = std::chrono::duration<double>{Clock::now() - began}.count();
  std::vector<double> ms;
  std::size_t failed = 0;
  for (const Told& t : told) {
    ms.insert(ms.end(), t.ms.begin(), t.ms.end());
    failed += t.failed;
  }
  std::sort(ms.begin(), ms.end());
  const auto quantile = [&](double q) {
    return ms.at(std::min(ms.size() - 1, static_cast<std::size_t>(q * static_cast<double>(ms.size()))));
  };
  const gs::json::Value out = gs::json::Object{{"rps", static_cast<double>(ms.size()) / took},
                                               {"p50_ms", quantile(0.5)},
                                               {"p99_ms", quantile(0.99)},
                                               {"answers", static_cast<std::int64_t>(ms.size())},
                                               {"failed", static_cast<std::int64_t>(failed)},
                                               {"last", told.at(0).last}};
  std::puts(gs::json::print(out).c_str());
  return failed == 0 ? 0 : 1;
}
