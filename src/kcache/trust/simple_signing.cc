#include "kcache/trust/simple_signing.h"

#include <fmt/core.h>

#include "kcache/trust/fields.h"

namespace gs::kcache::trust {
namespace {

constexpr std::string_view kType = "cosign container image signature";

}  // namespace

Result<SimpleSigning> parseSimpleSigning(std::string_view text) {
  const auto value = objectOf("payload", text, kMaxPayload);
  if (!value) { return tl::unexpected(value.error()); }
  const json::Value& critical = (*value)["critical"];
  if (critical["type"].str() != kType) {
    return fail(Code::Invalid, fmt::format("payload: critical.type is not '{}'", kType));
  }
  auto digest = Digest::parse(critical["image"]["docker-manifest-digest"].str());
  if (!digest) {
    return fail(Code::Invalid, "payload: critical.image.docker-manifest-digest: " + digest.error().message);
  }
  return SimpleSigning{*digest, std::string{critical["identity"]["docker-reference"].str()}};
}

std::string printSimpleSigning(const SimpleSigning& signing) {
  return json::print(json::Object{
      {"critical", json::Object{{"identity", json::Object{{"docker-reference", signing.name}}},
                                {"image", json::Object{{"docker-manifest-digest", signing.digest.text()}}},
                                {"type", kType}}},
      {"optional", json::Value{}}});
}

Reference signatureTag(const Reference& repository, const Digest& image) {
  return {repository.registry, repository.repository, fmt::format("sha256-{}.sig", image.hex()),
          std::nullopt};
}

}  // namespace gs::kcache::trust
