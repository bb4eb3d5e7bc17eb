#include "mcv/options.h"

#include <fmt/format.h>

namespace gs::mcv {
namespace {

constexpr std::string_view kOci = "oci:";
constexpr std::string_view kDockerArchive = "docker-archive:";

Status wrong(const char* what) { return fail(Code::Invalid, what); }

Status validateImage(const Options& o) {
  if (o.image.empty() && (o.create || o.extract || o.check_compat)) {
    return wrong("--image is required when using --create, --extract, or --check-compat");
  }
  if (o.image.empty() && o.inspect) { return wrong("--image is required when using --inspect"); }
  if (o.image.empty() && o.verify) { return wrong("--image is required when using --verify"); }
  if (o.image.empty()) { return {}; }
  const auto image = kcache::parseStrictReference(o.image);
  if (!image) { return fail(Code::Invalid, "error validating image name: " + image.error().message); }
  if (o.create && (image->tag.empty() || image->digest)) {
    return wrong("--create gives a tag to what it makes, and no digest");
  }
  return {};
}

Status validateRegistry(const Options& o) {
  const bool is_asked = o.push || (!o.create && !o.gpu_info && o.from.empty());
  if (!is_asked && !(o.authfile + o.ca_file + o.mirrors).empty()) {
    return wrong(
        "--authfile, --ca-file and --registry-mirror are for images in registries: with --push, or without "
        "--from");
  }
  if (!is_asked && o.plain_http) {
    return wrong("--plain-http is for images in registries: with --push, or without --from");
  }
  return {};
}

Status validateWhom(const Options& o) {
  const bool has_identity = !(o.identity + o.identity_pattern + o.issuer + o.issuer_pattern).empty();
  if (!o.verify && (has_identity || !(o.key + o.trusted_root).empty())) {
    return wrong("--key, --certificate-... and --trusted-root are for --verify");
  }
  if (!o.verify) { return {}; }
  if (!o.key.empty()) {
    return has_identity || !o.trusted_root.empty()
               ? wrong("--verify takes --key, or --certificate-... and --trusted-root, and not both")
               : Status{};
  }
  if (!has_identity) { return wrong("--verify needs --key, or --certificate-identity and its like"); }
  if (o.identity.empty() == o.identity_pattern.empty() || o.issuer.empty() == o.issuer_pattern.empty()) {
    return wrong(
        "--verify needs one of --certificate-identity and --certificate-identity-regexp, and one of "
        "--certificate-oidc-issuer and --certificate-oidc-issuer-regexp: without one anybody could sign");
  }
  return o.trusted_root.empty() ? wrong("--certificate-identity needs --trusted-root FILE") : Status{};
}

Status validateSignatures(const Options& o) {
  if (!o.sign.empty() && !o.push) {
    return wrong("--sign needs --create and --push: signatures lie in registries");
  }
  if (o.verify && (o.create || o.gpu_info)) {
    return wrong("--verify can only be used with --extract, --inspect, --check-compat, or alone");
  }
  if (o.verify && !o.from.empty()) {
    return wrong("--verify cannot be used with --from: signatures lie in registries");
  }
  return validateWhom(o);
}

Status validatePlaces(const Options& o) {
  if (!o.to.empty() && !o.create) { return wrong("--to can only be used with --create"); }
  if (o.push && !o.create) { return wrong("--push can only be used with --create"); }
  if (Status fine = validateRegistry(o); !fine) { return fine; }
  if (!o.from.empty() && (o.create || o.gpu_info)) {
    return wrong("--from can only be used with --extract, --inspect, or --check-compat");
  }
  for (const auto& [flag, text] : {std::pair{"--to", o.to}, std::pair{"--from", o.from}}) {
    if (text.empty()) { continue; }
    const auto place = parsePlace(flag, text);
    if (!place) { return tl::unexpected(place.error()); }
    if (o.push && place->kind != Place::Kind::OciLayout) {
      return wrong("--push needs a --to of oci:FOLDER, or none");
    }
  }
  if (o.mount_path.empty()) { return {}; }
  if (!o.extract) { return wrong("--mount-path can only be used with --extract"); }
  return o.mount_path.starts_with('/') ? Status{} : wrong("--mount-path is no absolute path");
}

}  // namespace

Status validate(const Options& o) {
  const int actions = int{o.create} + int{o.extract} + int{o.inspect} + int{o.gpu_info} + int{o.check_compat};
  if (actions > 1) { return wrong("only one action flag can be specified at a time"); }
  if (o.stub && !o.gpu_info) { return wrong("--stub can only be used with --gpu-info"); }
  if (actions == 0 && !o.verify) { return wrong("no action specified. Use --help to see available options"); }
  if (o.no_gpu && o.gpu_info) { return wrong("--no-gpu cannot be used with --gpu-info"); }
  if (o.no_gpu && o.check_compat) { return wrong("--no-gpu cannot be used with --check-compat"); }
  if (Status fine = validateImage(o); !fine) { return fine; }
  if (o.create && o.dir.empty()) { return wrong("--dir is required when using --create"); }
  if (Status fine = validateSignatures(o); !fine) { return fine; }
  return validatePlaces(o);
}

std::string Place::text() const {
  return std::string{kind == Kind::OciLayout ? kOci : kDockerArchive} + path;
}

Result<Place> parsePlace(const std::string& flag, const std::string& text) {
  for (const auto& [prefix, kind] :
       {std::pair{kOci, Place::Kind::OciLayout}, std::pair{kDockerArchive, Place::Kind::DockerArchive}}) {
    if (text.starts_with(prefix) && text.size() > prefix.size()) {
      return Place{kind, text.substr(prefix.size())};
    }
  }
  return fail(Code::Invalid, fmt::format("{} is '{}'; write oci:FOLDER or docker-archive:FILE", flag, text));
}

std::string titleOf(const kcache::Reference& image) {
  return image.repository.substr(image.repository.rfind('/') + 1);
}

Place defaultPlace(const kcache::Reference& image) {
  return {Place::Kind::DockerArchive, fmt::format("{}-{}.tar", titleOf(image), image.tag)};
}

}  // namespace gs::mcv
