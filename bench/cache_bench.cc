// Brings an image from a folder in OCI's layout into a store, as gkm-agent does with one from a registry, and
// prints how long that took:
//   cache_bench LAYOUT IMAGE@DIGEST STORE
// {"seconds":..,"files":..,"bytes":..,"rss_mib":..}
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "base/system_clock.h"
#include "cacherim/image/oci_layout.h"
#include "cacherim/keeper/fetch.h"
#include "kcache/image/reference.h"

namespace {

int failed(const char* what, const gs::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message.c_str());
  return 1;
}

double mostMib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s LAYOUT IMAGE@DIGEST STORE\n", argv[0]);
    return 2;
  }
  const auto image = gs::kcache::parseReference(argv[2]);
  if (!image) { return failed("IMAGE", image.error()); }
  auto opened = gs::cacherim::Store::open(argv[3], gs::cacherim::Disk{});
  if (!opened) { return failed("STORE", opened.error()); }
  gs::cacherim::SharedStore store{*std::move(opened)};
  gs::cacherim::LayerClaims claims;
  gs::cacherim::FetchProgress progress;
  const gs::SystemClock clock;
  gs::cacherim::Fetching how{.store = store, .claims = claims, .clock = clock};
  gs::cacherim::OciLayout source{argv[1]};
  const auto began = std::chrono::steady_clock::now();
  if (const auto done = gs::cacherim::fetchImage(how, source, *image, progress); !done) {
    return failed("cannot fetch", done.error());
  }
  const double seconds = std::chrono::duration<double>{std::chrono::steady_clock::now() - began}.count();
  const gs::MutexLock lock{store.mutex};
  const auto tree = store.store.tree(*image->digest);
  if (!tree) { return failed("STORE", tree.error()); }
  std::printf("{\"seconds\":%.4f,\"files\":%llu,\"bytes\":%llu,\"rss_mib\":%.1f}\n", seconds,
              static_cast<unsigned long long>(tree->files), static_cast<unsigned long long>(tree->bytes),
              mostMib());
  return 0;
}
