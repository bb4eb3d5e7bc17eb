// Asks an extender the same question from several connections for a while, and prints how fast it answered:
//   extender_load_bench URL FILE CLIENTS SECONDS
// {"rps":..,"p50_ms":..,"p99_ms":..,"answers":..,"failed":..,"last":"the beginning of an answer"}
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "json/value.h"
#include "net/http_client.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Told {
  std::vector<double> ms;
  std::size_t failed = 0;
  std::string last;
};

std::string read(const char* path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

Told ask(const std::string& url, const std::string& body, Clock::time_point until) {
  Told told;
  gs::net::HttpClient client{{}};
  gs::net::ClientRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = {{"Content-Type", "application/json"}};
  request.body = body;
  request.max_body = std::size_t{64} << 20;
  while (Clock::now() < until) {
    const auto began = Clock::now();
    const auto answer = client.send(request);
    told.ms.push_back(std::chrono::duration<double, std::milli>{Clock::now() - began}.count());
    if (answer.status != 200) { ++told.failed; }
    if (answer.status != 200 || told.failed == 0) {
      told.last = fmt::format("{} {}", answer.status,
                              answer.status == 0 ? answer.message : answer.body.substr(0, 200));
    }
  }
  return told;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s URL FILE CLIENTS SECONDS\n", argv[0]);
    return 2;
  }
  const std::string body = read(argv[2]);
  const auto clients = static_cast<std::size_t>(std::stoul(argv[3]));
  const double seconds = std::stod(argv[4]);
  const auto began = Clock::now();
  const auto until =
      began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>{seconds});
  std::vector<Told> told(clients);
  std::vector<std::jthread> threads;
  for (Told& t : told) {
    threads.emplace_back([&] { t = ask(argv[1], body, until); });
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
