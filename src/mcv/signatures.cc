#include "mcv/signatures.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "base/files.h"
#include "kcache/trust/trusted_root.h"

namespace gs::mcv {
namespace {

namespace kt = kcache::trust;
using cacherim::trust::Trusted;

tl::unexpected<Error> badFile(const char* flag, const std::string& file, const Error& why) {
  return fail(why.code, fmt::format("{} '{}': {}", flag, file, why.message));
}

Result<kt::TextMatch> matchOf(const char* flag, const std::string& exact, const std::string& pattern) {
  if (pattern.empty()) { return kt::TextMatch::exactly(exact); }
  auto match = kt::TextMatch::whole(pattern);
  if (!match) { return fail(Code::Invalid, fmt::format("{} '{}' is no regular expression", flag, pattern)); }
  return std::move(*match);
}

Result<Trusted> trustedKey(const std::string& file) {
  const auto text = readFile(file);
  if (!text) { return badFile("--key", file, text.error()); }
  auto key = signature::PublicKey::parse(*text);
  if (!key) { return badFile("--key", file, key.error()); }
  return cacherim::trust::TrustedKeys{{std::move(*key)}};
}

Result<Trusted> trustedIdentity(const Options& o) {
  auto issuer = matchOf("--certificate-oidc-issuer-regexp", o.issuer, o.issuer_pattern);
  if (!issuer) { return tl::unexpected(issuer.error()); }
  auto subject = matchOf("--certificate-identity-regexp", o.identity, o.identity_pattern);
  if (!subject) { return tl::unexpected(subject.error()); }
  const auto text = readFile(o.trusted_root);
  if (!text) { return badFile("--trusted-root", o.trusted_root, text.error()); }
  const auto root = kt::parseTrustedRoot(*text);
  if (!root) { return badFile("--trusted-root", o.trusted_root, root.error()); }
  return cacherim::trust::TrustedIdentities{{{std::move(*issuer), std::move(*subject)}},
                                            std::make_shared<const cacherim::trust::Sigstore>(*root)};
}

}  // namespace

Result<signature::PrivateKey> signingKey(const Options& options, const Environment& environment) {
  const auto text = readFile(options.sign);
  if (!text) { return badFile("--sign", options.sign, text.error()); }
  auto key = signature::PrivateKey::parse(*text, environment("COSIGN_PASSWORD").value_or(""));
  if (!key) { return badFile("--sign", options.sign, key.error()); }
  return key;
}

Result<std::vector<Trusted>> trustedBy(const Options& options) {
  auto one = options.key.empty() ? trustedIdentity(options) : trustedKey(options.key);
  if (!one) { return tl::unexpected(one.error()); }
  return std::vector<Trusted>{std::move(*one)};
}

}  // namespace gs::mcv
