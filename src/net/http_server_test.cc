#include "net/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <latch>
#include <stdexcept>
#include <thread>

#include "base/deadline_test.h"
#include "base/system_clock.h"
#include "net/http_client.h"
#include "net/socket.h"

namespace gs::net {
namespace {

Fd connectTo(std::uint16_t port) {
  Fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return fd;
}

void put(const Fd& fd, std::string_view bytes) { EXPECT_EQ(writeAll(fd.get(), bytes, Mono::max()), Io::Ok); }

/// All that comes until the server closes.
std::string readToEnd(const Fd& fd) {
  std::string bytes;
  while (readSome(fd.get(), bytes, 4096, Mono::max()) == Io::Ok) {}
  return bytes;
}

/// Until `count` bytes have come.
std::string readBytes(const Fd& fd, std::size_t count) {
  std::string bytes;
  while (bytes.size() < count && readSome(fd.get(), bytes, count - bytes.size(), Mono::max()) == Io::Ok) {}
  return bytes;
}

std::unique_ptr<HttpServer> serve(Handler handler, HttpServer::Options options = HttpServer::Options{}) {
  auto server = HttpServer::start(std::move(options), std::move(handler));
  EXPECT_TRUE(server.has_value());
  return std::move(*server);
}

Response echo(const Request& request) {
  return textResponse(200, request.method + " " + request.target + request.body);
}

constexpr const char* kGet = "GET /a HTTP/1.1\r\n\r\n";
const std::string kAnswer = renderResponse(textResponse(200, "GET /a"), true, false);

TEST(HttpServer, AnswersOverAKeptAliveConnection) {
  const auto server = serve(echo);
  HttpClient client{{}};
  ClientRequest request;
  request.url = "http://127.0.0.1:" + std::to_string(server->port()) + "/x?y";
  for (int i = 0; i < 3; ++i) { EXPECT_EQ(client.send(request).body, "GET /x?y"); }
  request.method = "POST";
  request.body = "!";
  EXPECT_EQ(client.send(request).body, "POST /x?y!");
  EXPECT_EQ(server->connections(), 1U);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrderAndClosesWhenAsked) {
  const auto server = serve(echo);
  const Fd fd = connectTo(server->port());
  put(fd, "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(readToEnd(fd), kAnswer + renderResponse(textResponse(200, "GET /b"), false, false));
}

TEST(HttpServer, ARequestIsNotOlderThanTheAnswerToTheOneBefore) {
  std::vector<std::pair<Mono, Mono>> served;  // asked, answered
  const auto server = serve([&](const Request& request) {
    const Mono began = SystemClock{}.now().mono;
    Mono ended = began;
    while (ended == began) { ended = SystemClock{}.now().mono; }
    served.emplace_back(request.asked, ended);
    return textResponse(200, "");
  });
  const Fd fd = connectTo(server->port());
  put(fd, "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nConnection: close\r\n\r\n");
  readToEnd(fd);
  server->stop();
  ASSERT_EQ(served.size(), 2U);
  EXPECT_GE(served[1].first, served[0].second);
}

TEST(HttpServer, HeadHasNoBody) {
  const auto server = serve(echo);
  const Fd fd = connectTo(server->port());
  put(fd, "HEAD /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(readToEnd(fd).ends_with("\r\n\r\n"));
}

TEST(HttpServer, SaysContinueToAPeerThatWaits) {
  const auto server = serve(echo);
  const Fd fd = connectTo(server->port());
  put(fd, "POST /a HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
  const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(readBytes(fd, go_on.size()), go_on);
  put(fd, "x");
  const std::string answer = renderResponse(textResponse(200, "POST /ax"), true, false);
  EXPECT_EQ(readBytes(fd, answer.size()), answer);
}

TEST(HttpServer, RefusesWhatIsOverTheLimits) {
  const auto server = serve(echo, {.connection = {.limits = {.header_bytes = 256, .body_bytes = 100}}});
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, std::string>>{
           {"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'), "413"},
           {"GET /" + std::string(300, 'a') + " HTTP/1.1\r\n\r\n", "431"},
           {"rubbish\r\n\r\n", "400"},
       }) {
    const Fd fd = connectTo(server->port());
    put(fd, bytes);
    EXPECT_TRUE(readToEnd(fd).starts_with("HTTP/1.1 " + status)) << bytes;
  }
}

TEST(HttpServer, ARefusalReachesAPeerThatSendsAllOfALargeBodyBeforeItReads) {
  const auto server = serve(echo, {.connection = {.limits = {.header_bytes = 256, .body_bytes = 100}}});
  const std::string body(std::size_t{32} << 20, 'x');
  const Fd fd = connectTo(server->port());
  put(fd, "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  put(fd, body);
  EXPECT_TRUE(readToEnd(fd).starts_with("HTTP/1.1 413"));
}

TEST(HttpServer, HandlerThatThrowsAnswers500AndTheNextRequestWorks) {
  bool first = true;
  const auto server = serve([&](const Request& request) {
    if (std::exchange(first, false)) { throw std::runtime_error{"no"}; }
    return echo(request);
  });
  const Fd fd = connectTo(server->port());
  const std::string failed = renderResponse(textResponse(500, "internal error\n"), true, false);
  put(fd, kGet);
  EXPECT_EQ(readBytes(fd, failed.size()), failed);
  put(fd, kGet);
  EXPECT_EQ(readBytes(fd, kAnswer.size()), kAnswer);
}

TEST(HttpServer, IdleConnectionsNeedNoWorker) {
  constexpr std::size_t kMany = 4000;
  const auto server = serve(echo, {.max_workers = 2});
  std::vector<Fd> idle;
  for (std::size_t i = 0; i < kMany; ++i) {
    idle.push_back(connectTo(server->port()));
    put(idle.back(), kGet);
    EXPECT_EQ(readBytes(idle.back(), kAnswer.size()), kAnswer);
  }
  EXPECT_EQ(server->connections(), kMany);
  EXPECT_LE(server->workers(), 2U);
  for (const Fd& fd : idle) {
    put(fd, kGet);
    EXPECT_EQ(readBytes(fd, kAnswer.size()), kAnswer);
  }
}

TEST(HttpServer, CutsOffAnIdlePeerAndASlowOne) {
  const auto server = serve(echo, {.connection = {.idle_timeout = std::chrono::milliseconds{30},
                                                  .request_timeout = std::chrono::milliseconds{30}}});
  const Fd idle = connectTo(server->port());
  EXPECT_EQ(readToEnd(idle), "");
  const Fd slow = connectTo(server->port());
  put(slow, "GET /a HT");
  EXPECT_EQ(readToEnd(slow), "");
}

TEST(HttpServer, CutsOffAPeerThatAlwaysSendsALittle) {
  const auto server = serve(echo, {.connection = {.request_timeout = std::chrono::milliseconds{30}}});
  const Fd slow = connectTo(server->port());
  put(slow, "POST /a HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
  int sent = 0;
  while (sent < 1'000'000 && writeAll(slow.get(), "x", Mono::max()) == Io::Ok) { ++sent; }
  EXPECT_LT(sent, 1'000'000);
}

TEST(HttpServer, CutsOffAPeerThatGoesOnAndOnAfterARefusal) {
  const auto server = serve(echo);
  const Fd endless = connectTo(server->port());
  put(endless, "rubbish\r\n\r\n");
  const std::string more(std::size_t{64} << 10, 'x');
  const gs::Deadline deadline{"the connection is closed while it is written to"};
  while (writeAll(endless.get(), more, Mono::max()) == Io::Ok) {}  // ends after two seconds
}

TEST(HttpServer, AnswersBusyWhenAllWorkersAreTakenAndEnoughWait) {
  std::latch entered{1};
  std::latch release{1};
  const auto server = serve(
      [&](const Request& request) {
        if (request.path() == "/block") {
          entered.count_down();
          release.wait();
        }
        return echo(request);
      },
      {.max_workers = 1, .max_waiting = 1});
  const Fd blocked = connectTo(server->port());
  put(blocked, "GET /block HTTP/1.1\r\nConnection: close\r\n\r\n");
  waitOpen(entered, "the request is being answered");
  // One may wait, so of these two exactly one is answered 503, at once; the other when the worker is free.
  const Fd a = connectTo(server->port());
  const Fd b = connectTo(server->port());
  put(a, "GET /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  put(b, "GET /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  std::array<pollfd, 2> both{pollfd{a.get(), POLLIN, 0}, pollfd{b.get(), POLLIN, 0}};
  EXPECT_EQ(::poll(both.data(), both.size(), -1), 1);
  release.count_down();
  int busy = 0;
  for (const Fd* fd : {&a, &b}) { busy += readToEnd(*fd).starts_with("HTTP/1.1 503") ? 1 : 0; }
  EXPECT_EQ(busy, 1);
  EXPECT_TRUE(readToEnd(blocked).starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, SlowSendersKeepNobodyFromBeingServed) {
  const auto server = serve(echo, {.max_workers = 1});
  std::vector<Fd> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(connectTo(server->port()));
    put(slow.back(), "POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nab");
  }
  const Fd quick = connectTo(server->port());
  put(quick, kGet);
  EXPECT_EQ(readBytes(quick, kAnswer.size()), kAnswer);
  const std::string answer = renderResponse(textResponse(200, "POST /aabcd"), true, false);
  for (const Fd& fd : slow) { put(fd, "cd"); }
  for (const Fd& fd : slow) { EXPECT_EQ(readBytes(fd, answer.size()), answer); }
}

TEST(HttpServer, SlowReadersKeepNobodyFromBeingServed) {
  const std::string large(std::size_t{32} << 20, 'x');
  const auto server = serve(
      [&](const Request& request) {
        return request.path() == "/large" ? textResponse(200, large) : echo(request);
      },
      {.max_workers = 1});
  std::vector<Fd> slow;
  for (int i = 0; i < 3; ++i) {
    slow.push_back(connectTo(server->port()));
    put(slow.back(), "GET /large HTTP/1.1\r\n\r\n");
    readBytes(slow.back(), 1);  // it is being written
  }
  const Fd quick = connectTo(server->port());
  put(quick, kGet);
  EXPECT_EQ(readBytes(quick, kAnswer.size()), kAnswer);
  const std::size_t size = renderResponse(textResponse(200, large), true, false).size();
  for (const Fd& fd : slow) { EXPECT_TRUE(readBytes(fd, size - 1).ends_with("xx")); }
  put(slow.front(), kGet);
  EXPECT_EQ(readBytes(slow.front(), kAnswer.size()), kAnswer);
}

TEST(HttpServer, StopGoesOnWithAnAnswerThatIsOnItsWay) {
  const std::string large(std::size_t{32} << 20, 'x');
  const auto server =
      serve([&](const Request&) { return textResponse(200, large); }, {.stop_grace = std::chrono::hours{1}});
  const Fd slow = connectTo(server->port());
  put(slow, kGet);
  const std::string first = readBytes(slow, 1);
  std::jthread stopper{[&] { server->stop(); }};
  EXPECT_EQ(first.size() + readToEnd(slow).size(),
            renderResponse(textResponse(200, large), true, false).size());
}

TEST(HttpServer, AtTheLimitTheLongestIdleMakesRoom) {
  const auto server =
      serve(echo, {.max_workers = 1, .max_connections = 2});  // one: it parks one before the next
  const Fd first = connectTo(server->port());
  put(first, kGet);
  EXPECT_EQ(readBytes(first, kAnswer.size()), kAnswer);
  const Fd second = connectTo(server->port());
  put(second, kGet);
  EXPECT_EQ(readBytes(second, kAnswer.size()), kAnswer);
  const Fd third = connectTo(server->port());
  EXPECT_EQ(readToEnd(first), "");
  for (const Fd* fd : {&second, &third}) {
    put(*fd, kGet);
    EXPECT_EQ(readBytes(*fd, kAnswer.size()), kAnswer);
  }
}

TEST(HttpServer, AtTheLimitWithNoneIdleTheNewOneIsClosed) {
  const auto server = serve(echo, {.max_connections = 1});
  const Fd first = connectTo(server->port());
  put(first, kGet);
  EXPECT_EQ(readBytes(first, kAnswer.size()), kAnswer);
  put(first, "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  readBytes(first, 1);  // it has begun
  EXPECT_EQ(readToEnd(connectTo(server->port())), "");
}

TEST(HttpServer, TooManyBytesOfUnfinishedRequestsAreRefusedButNotSmallOnes) {
  const auto server = serve(echo, {.max_held = std::size_t{100} << 10});
  const Fd large = connectTo(server->port());
  put(large, "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + std::string(std::size_t{90} << 10, 'x'));
  const Fd other = connectTo(server->port());
  put(other, "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + std::string(std::size_t{90} << 10, 'x'));
  std::array<pollfd, 2> both{pollfd{large.get(), POLLIN, 0}, pollfd{other.get(), POLLIN, 0}};
  EXPECT_EQ(::poll(both.data(), both.size(), -1), 1);
  const Fd& refused = both[0].revents != 0 ? large : other;
  put(refused, std::string(std::size_t{800} << 10, 'x'));  // it is told also when it goes on sending
  EXPECT_TRUE(readToEnd(refused).starts_with("HTTP/1.1 503"));
  const Fd small = connectTo(server->port());
  put(small, kGet);
  EXPECT_EQ(readBytes(small, kAnswer.size()), kAnswer);
}

TEST(HttpServer, AnswersThatNobodyTakesCountAsHeld) {
  const std::string large(std::size_t{32} << 20, 'x');  // more than the kernel keeps of a connection
  const auto server =
      serve([&](const Request& r) { return textResponse(200, r.path() == "/large" ? large : r.body); },
            {.max_held = std::size_t{48} << 20});
  const std::string get_large = "GET /large HTTP/1.1\r\nConnection: close\r\n\r\n";
  const Fd slow = connectTo(server->port());
  put(slow, get_large);
  EXPECT_EQ(readBytes(slow, 4), "HTTP");
  const Fd slow_too = connectTo(server->port());
  put(slow_too, get_large);
  EXPECT_LT(readToEnd(slow_too).size(), large.size()) << "it is cut off: both would be over the limit";
  const Fd asks = connectTo(server->port());
  put(asks,
      "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 70000\r\n\r\n" + std::string(70'000, 'x'));
  EXPECT_TRUE(readToEnd(asks).starts_with("HTTP/1.1 200")) << "there is room again";
}

TEST(HttpServer, ACompleteRequestIsRefusedTooWhenTooMuchIsHeld) {
  std::latch entered{1};
  std::latch release{1};
  const auto server = serve(
      [&](const Request& request) {
        if (request.body.size() > 100'000) {
          entered.count_down();
          release.wait();
        }
        return textResponse(200, "taken");
      },
      {.max_held = std::size_t{150} << 10});
  const auto post = [](std::size_t size) {
    return "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
           std::string(size, 'x');
  };
  const Fd first = connectTo(server->port());
  put(first, post(120'000));
  waitOpen(entered, "the request is being answered");
  const Fd second = connectTo(server->port());
  put(second, post(90'000));
  EXPECT_TRUE(readToEnd(second).starts_with("HTTP/1.1 503"));
  release.count_down();
  EXPECT_TRUE(readToEnd(first).starts_with("HTTP/1.1 200"));
}

TEST(HttpServer, StopAnswersTheRequestInProgressAndClosesTheRest) {
  std::latch entered{1};
  std::latch release{1};
  const auto server = serve([&](const Request& request) {
    entered.count_down();
    release.wait();
    return echo(request);
  });
  const Fd idle = connectTo(server->port());
  const Fd running = connectTo(server->port());
  put(running, kGet);
  waitOpen(entered, "the request is being answered");
  std::jthread stopper{[&] { server->stop(); }};
  EXPECT_EQ(readToEnd(idle), "");
  release.count_down();
  EXPECT_EQ(readToEnd(running), renderResponse(textResponse(200, "GET /a"), false, false));
  stopper.join();
  server->stop();  // does nothing
}

TEST(HttpServer, NobodyListensOnceItHasStopped) {
  const auto server = serve([](const Request&) { return textResponse(200, ""); });
  server->stop();
  const Fd late{::socket(AF_INET, SOCK_STREAM, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(late.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

TEST(HttpServer, StopDoesNotWaitForAPeerThatSendsHalfARequest) {
  const auto server = serve(echo, {.connection = {.request_timeout = std::chrono::hours{1}},
                                   .stop_grace = std::chrono::milliseconds{10}});
  const Fd half = connectTo(server->port());
  put(half, "GET /a");
  server->stop();
  EXPECT_EQ(readToEnd(half), "");
}

TEST(ListenTcp, RefusesWhatIsNoAddressAndSaysWhatIsOne) {
  for (const char* bad : {"", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "::1:80",
                          "[::1:80", "no such host:80"}) {
    const auto fd = listenTcp(bad);
    ASSERT_FALSE(fd.has_value()) << bad;
    EXPECT_EQ(fd.error().code, Code::Invalid);
    EXPECT_NE(fd.error().message.find(bad), std::string::npos);
  }
}

/// A listening socket takes a connection to `address` of that family.
bool takes(const Fd& listener, const char* address) {
  const int family = std::strchr(address, ':') != nullptr ? AF_INET6 : AF_INET;
  const Fd client{::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (family == AF_INET6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(localPort(listener.get()));
    ::inet_pton(AF_INET6, address, &to.sin6_addr);
    return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(localPort(listener.get()));
  ::inet_pton(AF_INET, address, &to.sin_addr);
  return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

bool hasIpv6() { return listenTcp("[::1]:0").has_value(); }

TEST(ListenTcp, EveryAddressIsThatOfBothFamilies) {
  for (const char* any : {"0.0.0.0:0", ":0", "[::]:0", "[::ffff:0.0.0.0]:0", "0:0"}) {
    const auto listener = listenTcp(any);
    ASSERT_TRUE(listener.has_value()) << any << ": " << listener.error().message;
    EXPECT_TRUE(takes(*listener, "127.0.0.1")) << any;
    EXPECT_EQ(takes(*listener, "::1"), hasIpv6()) << any;
  }
}

TEST(ListenTcp, OneAddressIsThatAddressOnly) {
  const auto four = listenTcp("127.0.0.1:0");
  ASSERT_TRUE(four.has_value());
  EXPECT_TRUE(takes(*four, "127.0.0.1"));
  EXPECT_FALSE(takes(*four, "::1"));
  const auto six = listenTcp("[::1]:0");
  // A kernel without IPv6 (ipv6.disable=1) has no such address; what it does have was asked above.
  if (!six) { GTEST_SKIP() << "no IPv6 here: " << six.error().message; }
  EXPECT_TRUE(takes(*six, "::1"));
  EXPECT_FALSE(takes(*six, "127.0.0.1"));
}

/// Half of what was asked for would look like all of it, until somebody of the other family asks.
TEST(ListenTcp, APortThatIsTakenInOneFamilyIsTaken) {
  for (const char* one : {"127.0.0.1:0", "[::1]:0"}) {
    const auto first = listenTcp(one);
    if (!first) { continue; }
    for (const char* any : {"0.0.0.0:", ":", "[::]:"}) {
      const auto second = listenTcp(any + std::to_string(localPort(first->get())));
      ASSERT_FALSE(second.has_value()) << one << " and " << any;
      EXPECT_EQ(second.error().code, Code::Unavailable);
    }
  }
}

TEST(ListenTcp, SaysThatThePortIsTaken) {
  const auto first = listenTcp("127.0.0.1:0");
  ASSERT_TRUE(first.has_value());
  const auto second = listenTcp("127.0.0.1:" + std::to_string(localPort(first->get())));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::Unavailable);
}

}  // namespace
}  // namespace gs::net
