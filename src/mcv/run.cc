#include "mcv/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/quoted.h"
#include "cacherim/image/docker_archive.h"
#include "cacherim/image/fresh_folder.h"
#include "cacherim/image/oci_layout.h"
#include "cacherim/trust/sign.h"
#include "cacherim/trust/verify.h"
#include "kcache/image/architecture.h"
#include "mcv/create.h"
#include "mcv/gpus.h"
#include "mcv/progress.h"
#include "mcv/registry_access.h"
#include "mcv/signatures.h"
#include "noderim/cache_gpus.h"

namespace gs::mcv {
namespace {

using Source = std::unique_ptr<cacherim::ImageSource>;

/// Without --from the registry that the image names.
Result<Source> sourceOf(const Options& options, const kcache::Reference& image, const Surroundings& in) {
  if (options.from.empty()) {
    auto how = registryOptions(options, image, in.environment);
    if (!how) { return tl::unexpected(how.error()); }
    return std::make_unique<cacherim::Registry>(std::move(*how), in.clock, in.rng, in.pause);
  }
  const auto place = parsePlace("--from", options.from);
  if (!place) { return tl::unexpected(place.error()); }
  if (place->kind == Place::Kind::OciLayout) { return std::make_unique<cacherim::OciLayout>(place->path); }
  return std::make_unique<cacherim::DockerArchive>(place->path);
}

std::string targetText(const kcache::Target& target) {
  return target.arch.empty() ? target.backend : target.backend + ' ' + target.arch;
}
std::string targetsText(const kcache::Targets& targets) {
  std::string out;
  for (const kcache::Target& one : targets) { out += (out.empty() ? "" : ", ") + targetText(one); }
  return out.empty() ? "not known" : out;
}

std::string plural(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// Of an image, which may be anybody's: between quotes where it has what a terminal would take for its own.
std::string printable(std::string_view text) {
  const bool is_plain = std::none_of(
      text.begin(), text.end(), [](char c) { return c == '\x7f' || static_cast<unsigned char>(c) < 0x20; });
  if (is_plain) { return std::string{text}; }
  std::string out;
  appendQuoted(out, text);
  return out;
}

/// Whether it would lie in that folder, or is it; links are followed.
bool isBelow(const std::string& path, const std::string& folder) {
  std::error_code error;
  const auto real = [&](const std::string& one) {
    // Of a relative path that is not there yet weakly_canonical() makes no absolute one.
    const auto whole = std::filesystem::absolute(one, error);
    return error ? whole : std::filesystem::weakly_canonical(whole, error);
  };
  const auto between = real(path).lexically_relative(real(folder));
  return !error && !between.empty() && *between.begin() != "..";
}

json::Array idsOf(const std::vector<int>& ids) { return {ids.begin(), ids.end()}; }

/// An image that was opened, and from where.
struct Opened {
  std::unique_ptr<cacherim::ImageSource> source;
  kcache::Reference reference;
  cacherim::Image image;
  std::string signed_by{};  // with --verify
};

class Run {
 public:
  Run(const Options& options, const Surroundings& in)
      : o_{options}, in_{in}, progress_{in.clock, in.terminal} {}

  int operator()() {
    if (const Status fine = validate(o_); !fine) { return failed(fine.error(), kWrong); }
    if (o_.create) { return create(); }
    if (o_.gpu_info) { return gpuInfo(); }
    if (o_.inspect) { return inspect(); }
    if (!o_.extract && !o_.check_compat) { return verifyOnly(); }
    return o_.check_compat ? checkCompat() : extractIt();
  }

 private:
  int failed(const Error& error, int status) {
    progress_.end();
    in_.err << error.message << '\n';
    return status;
  }
  [[nodiscard]] bool asJson() const { return o_.output == "json"; }
  int printed(const json::Value& value) {
    in_.out << json::printPretty(value, 2) << '\n';
    return kDone;
  }

  // ---- create

  int create() {
    const kcache::Reference name = *kcache::parseStrictReference(o_.image);
    const Place place = o_.to.empty() ? defaultPlace(name) : *parsePlace("--to", o_.to);
    if (!(o_.push && o_.to.empty()) && isBelow(place.path, o_.dir)) {
      return failed(
          {Code::Invalid, fmt::format("{} lies in --dir {}, and would be in the next image; name a place "
                                      "outside of it by --to",
                                      place.text(), o_.dir)},
          kWrong);
    }
    if (Status fine = readSigningKey(); !fine) { return failed(fine.error(), kNotCreated); }
    auto packed = pack(o_.dir, name);
    if (!packed) { return failed(packed.error(), kNotCreated); }
    for (const std::string& note : packed->cache.notes) { log::warn(note); }
    watch(*packed);
    if (o_.push && o_.to.empty()) { return pushOnly(*packed); }
    const bool is_layout = place.kind == Place::Kind::OciLayout;
    const auto written = is_layout ? cacherim::writeOciLayout(packed->image, place.path)
                                   : cacherim::writeDockerArchive(packed->image, place.path);
    if (!written) { return failed(written.error(), kNotCreated); }
    if (const Status sent = pushed(*packed, *written, place.path); !sent) {
      return failed(sent.error(), kNotCreated);
    }
    return sayCreated(*packed, *written, place.text());
  }

  /// Bytes of its files, as they are packed.
  void watch(Packed& packed) {
    progress_.begin("packing", packed.cache.size_bytes);
    for (cacherim::NewEntry& one : packed.image.entries) {
      if (one.is_folder) { continue; }
      one.bytes = [this, bytes = std::move(one.bytes)](const cacherim::ByteSink& sink) {
        return bytes([&](std::string_view piece) {
          progress_.add(piece.size());
          return sink(piece);
        });
      };
    }
  }

  /// The layout lies where temporary files do, and goes.
  int pushOnly(const Packed& packed) {
    std::error_code error;
    const auto temporary = std::filesystem::temp_directory_path(error);
    if (error) { return failed({Code::Unavailable, "no place for temporary files"}, kNotCreated); }
    const auto fresh = cacherim::FreshFolder::in(temporary.string());
    if (!fresh) { return failed(fresh.error(), kNotCreated); }
    const auto written = cacherim::writeOciLayout(packed.image, fresh->path());
    if (!written) { return failed(written.error(), kNotCreated); }
    if (const Status sent = pushed(packed, *written, fresh->path()); !sent) {
      return failed(sent.error(), kNotCreated);
    }
    return sayCreated(packed, *written, "registry " + packed.image.name.registry);
  }

  /// Nothing without --push.
  Status pushed(const Packed& packed, const cacherim::WrittenImage& written, const std::string& folder) {
    progress_.end();
    if (!o_.push) { return {}; }
    const kcache::Reference& name = packed.image.name;
    auto how = registryOptions(o_, name, in_.environment);
    if (!how) { return tl::unexpected(how.error()); }
    cacherim::OciLayout layout{folder};
    cacherim::RegistryWriter registry{std::move(*how), in_.clock, in_.rng, in_.pause};
    if (Status sent = push(layout, written.digest, name, registry, progress_); !sent || !signing_key_) {
      return sent;
    }
    auto again = registryOptions(o_, name, in_.environment);
    if (!again) { return tl::unexpected(again.error()); }
    // What others signed is read and written anew with ours in it: a mirror may not know of all.
    again->mirrors.clear();
    cacherim::Registry reading{std::move(*again), in_.clock, in_.rng, in_.pause};
    return cacherim::trust::signImage(cacherim::trust::signaturesIn(reading), registry, name, written.digest,
                                      *signing_key_);
  }

  /// Before anything is made: without the key nothing is.
  Status readSigningKey() {
    if (o_.sign.empty()) { return {}; }
    auto key = signingKey(o_, in_.environment);
    if (!key) { return tl::unexpected(key.error()); }
    signing_key_ = std::move(*key);
    return {};
  }

  int sayCreated(const Packed& packed, const cacherim::WrittenImage& written, const std::string& place) {
    const kcache::DetectedCache& cache = packed.cache;
    const std::string type{kcache::nameOf(cache.manifest.type)};
    if (asJson()) {
      return printed(json::Object{{"image", packed.image.name.text()},
                                  {"digest", written.digest.text()},
                                  {"id", written.id.text()},
                                  {"to", place},
                                  {"pushed", o_.push},
                                  {"signed", signing_key_.has_value()},
                                  {"type", type},
                                  {"entryCount", cache.entry_count},
                                  {"cacheSizeBytes", cache.size_bytes},
                                  {"layerSizeBytes", written.layer_bytes},
                                  {"labels", json::fromStrings(packed.image.labels)}});
    }
    in_.out << "OCI image created successfully.\n";
    in_.out << fmt::format("  image   {}\n  digest  {}\n  cache   {}, {}, {}, for {}\n  in      {}\n",
                           packed.image.name.text(), written.digest.text(), type,
                           plural(cache.entry_count, "entry", "entries"),
                           plural(cache.size_bytes, "byte", "bytes"), targetsText(cache.targets), place);
    return kDone;
  }

  // ---- what reads an image

  Result<Opened> open() {
    auto reference = kcache::parseStrictReference(o_.image);
    if (!reference) { return tl::unexpected(reference.error()); }
    if (o_.verify) { return openVerified(*reference); }
    auto source = sourceOf(o_, *reference, in_);
    if (!source) { return tl::unexpected(source.error()); }
    auto image = cacherim::openImage(**source, *reference, kcache::kArchitecture);
    if (!image) { return tl::unexpected(image.error()); }
    return Opened{std::move(*source), std::move(*reference), std::move(*image)};
  }

  /// What is opened is the digest that was verified, whatever its tag is by then.
  Result<Opened> openVerified(const kcache::Reference& reference) {
    auto how = registryOptions(o_, reference, in_.environment);
    if (!how) { return tl::unexpected(how.error()); }
    const auto trusted = trustedBy(o_);
    if (!trusted) { return tl::unexpected(trusted.error()); }
    auto registry = std::make_unique<cacherim::Registry>(std::move(*how), in_.clock, in_.rng, in_.pause);
    const auto verified =
        cacherim::trust::verifyImage(cacherim::trust::signaturesIn(*registry), reference, *trusted);
    if (!verified) { return tl::unexpected(verified.error()); }
    for (const std::string& other : verified->others) {
      log::debug("a signature does not count", {{"why", other}});
    }
    auto image =
        cacherim::openImage(*registry, reference.pinned(verified->image.digest), kcache::kArchitecture);
    if (!image) { return tl::unexpected(image.error()); }
    if (!asJson()) { in_.out << fmt::format("Signed by {}\n", printable(verified->who)); }
    return Opened{std::move(registry), reference, std::move(*image), verified->who};
  }

  int verifyOnly() {
    const auto opened = open();
    if (!opened) { return failed(opened.error(), kFailed); }
    if (asJson()) {
      return printed(json::Object{{"image", opened->reference.text()},
                                  {"digest", opened->image.digest.text()},
                                  {"signedBy", opened->signed_by}});
    }
    in_.out << fmt::format("digest  {}\n", opened->image.digest.text());
    return kDone;
  }

  int inspect() {
    const auto opened = open();
    if (!opened) { return failed(opened.error(), kFailed); }
    const cacherim::Image& image = opened->image;
    const auto type = kcache::cacheTypeOf(image.config.labels, image.manifest);
    if (asJson()) {
      json::Array layers;
      for (const kcache::Descriptor& layer : image.manifest.layers) {
        layers.emplace_back(json::Object{
            {"mediaType", layer.media_type}, {"digest", layer.digest.text()}, {"size", layer.size}});
      }
      return printed(json::Object{{"image", opened->reference.text()},
                                  {"digest", image.digest.text()},
                                  {"mediaType", image.manifest.media_type},
                                  {"type", type ? json::Value{kcache::nameOf(*type)} : json::Value{}},
                                  {"layers", std::move(layers)},
                                  {"labels", json::fromStrings(image.config.labels)}});
    }
    in_.out << fmt::format("image   {}\ndigest  {}\ncache   {}\n", opened->reference.text(),
                           image.digest.text(), type ? kcache::nameOf(*type) : "none that is known");
    for (const kcache::Descriptor& layer : image.manifest.layers) {
      in_.out << fmt::format("layer   {}  {}  {}\n", layer.digest.text(), plural(layer.size, "byte", "bytes"),
                             printable(layer.media_type));
    }
    for (const auto& [key, value] : image.config.labels) {
      in_.out << fmt::format("label   {}={}\n", printable(key), printable(value));
    }
    return kDone;
  }

  int checkCompat() {
    const auto opened = open();
    if (!opened) { return failed(opened.error(), kFailed); }
    const auto gpus = noderim::cacheGpusOf(in_.gpus.look());
    if (!gpus) { return failed(gpus.error(), kFailed); }
    const auto matched = kcache::matchSummary(opened->image.config.labels, *gpus);
    if (!matched) { return failed(matched.error(), kFailed); }
    const bool any = !matched->matched.empty();
    if (asJson()) {
      printed(json::Object{{"image", opened->reference.text()},
                           {"digest", opened->image.digest.text()},
                           {"compatible", any},
                           {"compatibleGPUs", idsOf(matched->matched)},
                           {"incompatibleGPUs", idsOf(matched->unmatched)}});
    } else {
      in_.out << fmt::format("Compatible GPUs: {}\nIncompatible GPUs: {}\n", idsText(matched->matched),
                             idsText(matched->unmatched));
    }
    return any ? kDone : failed({Code::Conflict, kcache::kNoneBySummary}, kFailed);
  }

  // ---- extract

  int extractIt() {
    const auto opened = open();
    if (!opened) { return failed(opened.error(), kFailed); }
    const cacherim::Image& image = opened->image;
    const auto type = kcache::cacheTypeOf(image.config.labels, image.manifest);
    if (!type) { return failed({Code::Invalid, "unknown cache type from labels"}, kFailed); }
    const auto gpus = gpusToCheck();
    if (!gpus) { return failed(gpus.error(), kFailed); }
    const auto matched = preflight(image, *gpus);
    if (!matched) { return failed(matched.error(), kFailed); }
    Extraction how{.folder = o_.dir.empty() ? defaultFolder(*type, in_.environment) : o_.dir,
                   .root = o_.mount_path};
    if (o_.baremetal && !gpus->empty()) { how.gpus = *gpus; }
    const auto done = extractWatched(*opened, how);
    if (!done) { return failed(done.error(), kFailed); }
    warnOfSize(image, *done);
    if (asJson()) {
      return printed(json::Object{{"image", opened->reference.text()},
                                  {"digest", image.digest.text()},
                                  {"type", kcache::nameOf(*type)},
                                  {"dir", how.folder},
                                  {"files", done->files},
                                  {"bytes", done->bytes},
                                  {"compatibleGPUs", idsOf(matched->matched)},
                                  {"incompatibleGPUs", idsOf(matched->unmatched)}});
    }
    in_.out << fmt::format("Extracted {} cache to directory: {} ({}, {})\n", kcache::nameOf(*type),
                           how.folder, plural(done->files, "file", "files"),
                           plural(done->bytes, "byte", "bytes"));
    return kDone;
  }

  Result<Extracted> extractWatched(const Opened& opened, const Extraction& how) {
    std::int64_t total = 0;
    for (const kcache::Descriptor& layer : opened.image.manifest.layers) { total += layer.size; }
    progress_.begin("extracting", total);
    WatchedSource source{*opened.source, progress_};
    auto out = extract(source, opened.reference, opened.image, how);
    progress_.end();
    return out;
  }

  /// None: nothing is checked.
  Result<std::vector<kcache::CacheGpu>> gpusToCheck() {
    if (o_.no_gpu) { return std::vector<kcache::CacheGpu>{}; }
    const auto look = in_.gpus.look();
    auto gpus = noderim::cacheGpusOf(look);
    if (gpus && gpus->empty()) {
      log::warn("no GPU is found here: the cache is extracted unchecked",
                {{"why", noderim::whyNoGpus(look)}});
    }
    return gpus;
  }

  static Result<kcache::GpuMatch> preflight(const cacherim::Image& image,
                                            const std::vector<kcache::CacheGpu>& gpus) {
    if (gpus.empty()) { return kcache::GpuMatch{}; }
    const auto labels = kcache::readLabels(image.config.labels);
    if (!labels || !labels->summary) {  // older builders wrote none
      log::warn("the image does not say for which GPUs it is: the cache is extracted unchecked");
      return kcache::GpuMatch{};
    }
    auto matched = kcache::matchSummary(image.config.labels, gpus);
    if (!matched || !matched->matched.empty()) { return matched; }
    return fail(Code::Conflict, fmt::format("preflight check failed: {}", kcache::kNoneBySummary));
  }

  static void warnOfSize(const cacherim::Image& image, const Extracted& done) {
    const auto labels = kcache::readLabels(image.config.labels);
    if (!labels || !labels->size_bytes || *labels->size_bytes == done.bytes) { return; }
    log::warn("the image has another size than its label says",
              {{"label", *labels->size_bytes}, {"bytes", done.bytes}});
  }

  // ---- GPUs

  int gpuInfo() {
    const auto look = o_.stub ? agent::Look{} : in_.gpus.look();
    const auto gpus =
        o_.stub ? Result<std::vector<kcache::CacheGpu>>{stubGpus()} : noderim::cacheGpusOf(look);
    if (!gpus) { return failed(gpus.error(), kWrong); }
    if (const std::string why = noderim::whyNoGpus(look); !why.empty()) {
      log::debug("no GPU is found here", {{"why", why}});  // the ancestor says nothing more
    }
    if (asJson()) { return printed(fleetOf(*gpus)); }
    in_.out << fleetText(*gpus);
    return kDone;
  }

  const Options& o_;
  const Surroundings& in_;
  Progress progress_;
  std::optional<signature::PrivateKey> signing_key_{};
};

}  // namespace

int run(const Options& options, const Surroundings& in) { return Run{options, in}(); }

}  // namespace gs::mcv
