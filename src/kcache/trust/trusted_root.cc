#include "kcache/trust/trusted_root.h"

#include <fmt/core.h>

#include <utility>

#include "base/hash.h"
#include "base/hex.h"

namespace gs::kcache::trust {
namespace {

Result<LogKey> logOf(const json::Value& in, const std::string& path) {
  auto key = bytesAt(in["publicKey"], "rawBytes", path + ".publicKey");
  if (!key) { return tl::unexpected(key.error()); }
  auto id = bytesOrNone(in["logId"], "keyId", path + ".logId");
  if (!id) { return tl::unexpected(id.error()); }
  if (id->empty()) { id = *decodeHex(sha256Hex(*key)); }
  auto valid = validityAt(in["publicKey"], "validFor", path + ".publicKey");
  if (!valid) { return tl::unexpected(valid.error()); }
  return LogKey{std::string{in["baseUrl"].str()}, std::move(*id), std::move(*key), *valid};
}

Result<CertificateAuthority> certificateAuthorityOf(const json::Value& in, const std::string& path) {
  const auto list = listAt(in["certChain"], "certificates", path + ".certChain");
  if (!list) { return tl::unexpected(list.error()); }
  if (list->empty()) { return fail(Code::Invalid, path + ".certChain has no certificate"); }
  CertificateAuthority out{std::string{in["uri"].str()}, {}, {}};
  for (const json::Value& one : *list) {
    auto der = bytesAt(one, "rawBytes", path + ".certChain.certificates");
    if (!der) { return tl::unexpected(der.error()); }
    out.chain.push_back(std::move(*der));
  }
  auto valid = validityAt(in, "validFor", path);
  if (!valid) { return tl::unexpected(valid.error()); }
  out.valid = *valid;
  return out;
}

template <class One, class Read>
Status readAll(const json::Value& in, const char* member, const Read& read, std::vector<One>& out) {
  const auto list = listAt(in, member, "trusted root: ");
  if (!list) { return tl::unexpected(list.error()); }
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto one = read((*list)[i], fmt::format("trusted root: {}[{}]", member, i));
    if (!one) { return tl::unexpected(one.error()); }
    out.push_back(std::move(*one));
  }
  return {};
}

}  // namespace

Result<TrustedRoot> parseTrustedRoot(std::string_view text) {
  const auto value = objectOf("trusted root", text, kMaxTrustedRoot);
  if (!value) { return tl::unexpected(value.error()); }
  if (!(*value)["mediaType"].str().starts_with("application/vnd.dev.sigstore.trustedroot")) {
    return fail(Code::Invalid,
                "trusted root: mediaType is not application/vnd.dev.sigstore.trustedroot+json;version=0.1");
  }
  TrustedRoot out;
  for (const Status& fine :
       {readAll(*value, "tlogs", logOf, out.logs), readAll(*value, "ctlogs", logOf, out.certificate_logs),
        readAll(*value, "certificateAuthorities", certificateAuthorityOf, out.authorities),
        readAll(*value, "timestampAuthorities", certificateAuthorityOf, out.timestamp_authorities)}) {
    if (!fine) { return tl::unexpected(fine.error()); }
  }
  if (out.authorities.empty()) {
    return fail(Code::Invalid, "trusted root: it has no certificateAuthorities, and so verifies nothing");
  }
  return out;
}

}  // namespace gs::kcache::trust
