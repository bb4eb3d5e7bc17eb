// How fast lists are decoded. One core, no I/O, CPU seconds: the bytes of an answer of the API server ->
// Outcome, by the function that the client calls for every answer (kapi::decodeAnswer).
//
//   decode_bench [google-benchmark flags]   the benchmarks by name
//   decode_bench --json FILE                the figure (docs/reference/benchmarks.md) as a flat JSON object:
//
//   list_decode_mb_s   MB (10^6 bytes) of JSON per CPU second: 50,000 pods of 4 KB in pages of 500
//
// The pods are bench/pod.json, as kube-apiserver 1.33 gave it back, under other names.
// Run in the repository's root.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench/figures.h"
#include "json/value.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::kapi {
namespace {

constexpr int kPods = 50'000;
constexpr int kPage = 500;
constexpr int kNodes = 5'000;
constexpr const char* kPodFile = "bench/pod.json";

/// The pod's text with "@name@" and the like where each pod has its own.
std::string podText() {
  std::ifstream file{kPodFile};
  auto pod = json::parse(std::string{std::istreambuf_iterator<char>{file}, {}});
  if (!pod) {
    std::fprintf(stderr, "%s: %s; run in the repository's root\n", kPodFile, pod.error().message.c_str());
    std::exit(1);
  }
  json::Value& meta = pod->child("metadata");
  for (const char* field : {"name", "uid", "resourceVersion"}) {
    meta.set(field, fmt::format("@{}@", field));
  }
  pod->child("spec").set("nodeName", "@node@");
  return json::print(*pod);
}

/// One page of a list, as bytes. Made of text alone: the heap is to look as it does in production.
std::string pageOf(const std::string& pod, int first, int count, Rng& rng) {
  std::string page =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9000000","continue":"next"},"items":[)";
  page.reserve(pod.size() * static_cast<std::size_t>(count) + 1024);
  for (int i = first; i < first + count; ++i) {
    const std::pair<std::string_view, std::string> own[] = {
        {"@name@", fmt::format("trainer-7c9d8b6f5-{:05}", i)},
        {"@uid@", rng.uuid()},
        {"@resourceVersion@", std::to_string(1'000'000 + i)},
        {"@node@", fmt::format("node-{}", i % kNodes)}};
    if (i > first) { page += ','; }
    const std::size_t begin = page.size();
    page += pod;
    for (const auto& [mark, text] : own) { page.replace(page.find(mark, begin), mark.size(), text); }
  }
  return page + "]}";
}

double cpuSeconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void BM_DecodePage(benchmark::State& state) {
  Rng rng{1};
  const std::string page = pageOf(podText(), 0, kPage, rng);
  const Call call = listObjects(kapi::kPod, "", kPage);
  for (auto _ : state) { benchmark::DoNotOptimize(decodeAnswer(call, 200, page, {})); }
  state.SetBytesProcessed(static_cast<std::int64_t>(page.size()) * state.iterations());
}
BENCHMARK(BM_DecodePage)->Unit(benchmark::kMillisecond);

void BM_ParsePage(benchmark::State& state) {
  Rng rng{1};
  const std::string page = pageOf(podText(), 0, kPage, rng);
  for (auto _ : state) { benchmark::DoNotOptimize(json::parse(page)); }
  state.SetBytesProcessed(static_cast<std::int64_t>(page.size()) * state.iterations());
}
BENCHMARK(BM_ParsePage)->Unit(benchmark::kMillisecond);

/// All pages, one after the other; the pods are kept to the end, as a reflector keeps them.
double megabytesPerSecond() {
  const std::string pod = podText();
  const Call call = listObjects(kapi::kPod, "", kPage);
  Rng rng{1};
  std::vector<model::Object> pods;
  double bytes = 0;
  double seconds = 0;
  for (int first = 0; first < kPods; first += kPage) {
    const std::string page = pageOf(pod, first, kPage, rng);
    const double start = cpuSeconds();
    Outcome outcome = decodeAnswer(call, 200, page, {});
    pods.insert(pods.end(), outcome.items.begin(), outcome.items.end());
    outcome = {};
    seconds += cpuSeconds() - start;
    bytes += static_cast<double>(page.size());
  }
  if (pods.size() != kPods) { std::exit(1); }
  return bytes / 1e6 / seconds;
}

int writeFigures(const char* path) {
  double best = 0;
  for (int i = 0; i < 3; ++i) { best = std::max(best, megabytesPerSecond()); }
  const std::string text = fmt::format("{{\"list_decode_mb_s\": {:.0f}}}\n", best);
  return bench::writeFigures(text, path);
}

}  // namespace
}  // namespace gs::kapi

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) { return gs::kapi::writeFigures(argv[2]); }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) { return 1; }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
