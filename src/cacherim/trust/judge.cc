#include "cacherim/trust/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "kapi/time.h"
#include "kcache/trust/rekor.h"
#include "signature/timestamp.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;
using signature::Certificate;
using signature::PublicKey;

constexpr std::size_t kShown = 200;  // of a name in a message
constexpr std::size_t kMostNames = 4;
constexpr std::string_view kNoTime =
    "nothing proves when it was signed: no promise of a log (SET), and no timestamp";

tl::unexpected<Error> doesNotCount(std::string why) { return fail(Code::Invalid, std::move(why)); }

std::string shownName(std::string_view text) {
  std::string out;
  appendQuoted(out, utf8Prefix(text, kShown));
  return out;
}

bool isOf(const std::string& verifier, const Certificate& leaf) {
  if (const auto certificate = Certificate::parse(verifier)) { return certificate->der() == leaf.der(); }
  const auto key = PublicKey::parse(verifier);
  return key && key->der() == leaf.publicKey().der();
}

/// That the entry says that this signer signed this text with this signature.
Status isAbout(const kt::LogEntry& entry, const Evidence& evidence, const Certificate& leaf) {
  const auto body = kt::parseEntryBody(entry.body);
  if (!body) { return tl::unexpected(body.error()); }
  const bool is_plain = body->kind == "hashedrekord";
  if (!is_plain && !evidence.statement) {
    return doesNotCount(fmt::format("the log's entry is of kind {}, and there is no envelope", body->kind));
  }
  if (body->payload_sha256 != sha256Hex(is_plain ? evidence.message : *evidence.statement)) {
    return doesNotCount("the log's entry is about another text");
  }
  const auto by_signature = [&](const auto& one) { return one.signature == evidence.signature; };
  const auto signer = std::find_if(body->signers.begin(), body->signers.end(), by_signature);
  if (signer == body->signers.end()) { return doesNotCount("the log's entry is about another signature"); }
  if (!isOf(signer->verifier, leaf)) { return doesNotCount("the log's entry is about another signer"); }
  return {};
}

/// That the entry is in the tree that the log has signed.
Status checkProof(const kt::LogEntry& entry, const PublicKey& key) {
  const kt::InclusionProof& proof = *entry.proof;
  const auto root = kt::rootOf(kt::leafHash(entry.body), proof);
  if (!root || *root != proof.root) { return doesNotCount("the log's proof does not lead to its root"); }
  const auto checkpoint = kt::parseCheckpoint(proof.checkpoint);
  if (!checkpoint) { return tl::unexpected(checkpoint.error()); }
  if (checkpoint->root != proof.root || checkpoint->size != proof.size) {
    return doesNotCount("the log's checkpoint is of another tree than its proof");
  }
  const auto& signatures = checkpoint->signatures;
  const bool is_signed = std::any_of(signatures.begin(), signatures.end(), [&](const auto& one) {
    return key.verifies(checkpoint->signed_text, one.signature);
  });
  return is_signed ? Status{} : doesNotCount("the log's checkpoint is not signed by the log");
}

std::string namesOf(const Certificate& leaf) {
  std::vector<std::string> names;
  for (const std::string& one : leaf.subjects()) {
    if (names.size() < kMostNames) { names.push_back(shownName(one)); }
  }
  return names.empty() ? "nobody" : fmt::format("{}", fmt::join(names, ", "));
}

/// The subject that is one of them.
Result<std::string> identify(const Certificate& leaf, const std::vector<kt::Identity>& identities) {
  bool is_issuer_known = false;
  for (const kt::Identity& one : identities) {
    if (leaf.issuer().empty() || !one.issuer.matches(leaf.issuer())) { continue; }
    is_issuer_known = true;
    for (const std::string& subject : leaf.subjects()) {
      if (one.subject.matches(subject)) {
        return fmt::format("{} by {}", shownName(subject), shownName(leaf.issuer()));
      }
    }
  }
  return doesNotCount(is_issuer_known ? fmt::format("it is of {}, who is not trusted", namesOf(leaf))
                                      : fmt::format("it is of {} by the issuer {}, which is not trusted",
                                                    namesOf(leaf), shownName(leaf.issuer())));
}

Result<std::string> judgeBy(const TrustedKeys& trusted, const Evidence& evidence) {
  for (const PublicKey& key : trusted.keys) {
    if (key.verifies(evidence.message, evidence.signature)) { return "key sha256:" + key.id(); }
  }
  return doesNotCount("it is of none of the keys");
}
Result<std::string> judgeBy(const TrustedIdentities& trusted, const Evidence& evidence) {
  return trusted.sigstore->judge(evidence, trusted.identities);
}

Result<Trusted> trustedKeys(const kt::Keyed& keyed, const std::string& field) {
  TrustedKeys out;
  for (std::size_t i = 0; i < keyed.public_keys.size(); ++i) {
    auto key = PublicKey::parse(keyed.public_keys[i]);
    if (!key) { return doesNotCount(fmt::format("{}.publicKeys[{}]: {}", field, i, key.error().message)); }
    out.keys.push_back(std::move(*key));
  }
  return out;
}

Result<Trusted> trustedIdentities(const kt::Keyless& keyless, const std::string& field,
                                  const TrustedRoots& roots) {
  const auto text = roots.find(keyless.trusted_root);
  if (text == roots.end()) {
    return doesNotCount(fmt::format("{}.trustedRoot: there is no '{}' beside the policy; add it", field,
                                    utf8Prefix(keyless.trusted_root, kShown)));
  }
  const auto root = kt::parseTrustedRoot(text->second);
  if (!root) {
    return doesNotCount(
        fmt::format("{}.trustedRoot: '{}': {}", field, keyless.trusted_root, root.error().message));
  }
  return TrustedIdentities{keyless.identities, std::make_shared<const Sigstore>(*root)};
}

}  // namespace

Sigstore::Sigstore(const kt::TrustedRoot& root)
    : logs_{logsOf(root.logs)},
      certificate_logs_{logsOf(root.certificate_logs)},
      authorities_{root.authorities},
      timestamp_authorities_{root.timestamp_authorities} {}

std::vector<Sigstore::Log> Sigstore::logsOf(const std::vector<kt::LogKey>& keys) {
  std::vector<Log> out;
  for (const kt::LogKey& one : keys) {
    auto key = PublicKey::parse(one.key);
    if (key) { out.push_back({one.id, std::move(*key), one.valid}); }
  }
  return out;
}

Result<std::optional<Wall>> Sigstore::checkEntry(const kt::LogEntry& entry, const Evidence& evidence,
                                                 const Certificate& leaf,
                                                 const std::vector<Wall>& stamped) const {
  const Wall at{std::chrono::seconds{std::min<std::int64_t>(entry.integrated_time, std::int64_t{1} << 36U)}};
  const bool has_promise = !entry.promise.empty();  // checked below; without it nobody has signed the time
  const auto counted = [&](const Log& one) {
    if (has_promise) { return one.valid.holds(at); }
    return std::all_of(stamped.begin(), stamped.end(), [&](Wall then) { return one.valid.holds(then); });
  };
  const auto log = std::find_if(logs_.begin(), logs_.end(),
                                [&](const Log& one) { return one.id == entry.log_id && counted(one); });
  if (log == logs_.end()) { return doesNotCount("the log of its entry is not in the trusted root"); }
  if (Status fine = isAbout(entry, evidence, leaf); !fine) { return tl::unexpected(fine.error()); }
  if (has_promise && !log->key.verifies(kt::promisedText(entry), entry.promise)) {
    return doesNotCount("the log's promise (SET) is not about its entry");
  }
  const bool has_proof = entry.proof && !(has_promise && entry.proof->checkpoint.empty());  // version 0.1
  if (!has_promise && !has_proof) { return doesNotCount("its entry has no promise (SET) and no proof"); }
  if (has_proof) {
    if (Status fine = checkProof(entry, log->key); !fine) { return tl::unexpected(fine.error()); }
  }
  if (!has_promise && stamped.empty()) { return doesNotCount(std::string{kNoTime}); }
  return has_promise ? std::optional{at} : std::nullopt;
}

Result<Wall> Sigstore::checkStamp(const std::string& stamp, const Evidence& evidence) const {
  std::string why = "the trusted root has no authority of timestamps";
  for (const kt::CertificateAuthority& authority : timestamp_authorities_) {
    auto at = signature::checkTimestamp(stamp, evidence.signature, authority.chain);
    if (at && authority.valid.holds(*at)) { return *at; }
    why = at ? "the authority of its timestamp did not count then" : at.error().message;
  }
  return doesNotCount(std::move(why));
}

Result<std::vector<Wall>> Sigstore::timesOf(const Evidence& evidence, const Certificate& leaf) const {
  std::vector<Wall> out;
  for (const std::string& stamp : evidence.timestamps) {
    const auto at = checkStamp(stamp, evidence);
    if (!at) { return tl::unexpected(at.error()); }
    out.push_back(*at);
  }
  const std::vector<Wall> stamped = out;
  for (const kt::LogEntry& entry : evidence.entries) {
    const auto at = checkEntry(entry, evidence, leaf, stamped);
    if (!at) { return tl::unexpected(at.error()); }
    if (*at) { out.push_back(**at); }
  }
  if (out.empty()) { return doesNotCount(std::string{kNoTime}); }
  return out;
}

Result<Certificate> Sigstore::issuerOf(const Certificate& leaf, Wall at) const {
  std::string why = fmt::format("no CA of the trusted root counted at {}", kapi::timeText(at));
  for (const kt::CertificateAuthority& authority : authorities_) {
    if (!authority.valid.holds(at)) { continue; }
    auto issuer = signature::checkChain(leaf, authority.chain, at);
    if (issuer) { return issuer; }
    why = fmt::format("its certificate was not good at {}: {}", kapi::timeText(at), issuer.error().message);
  }
  return doesNotCount(std::move(why));
}

Status Sigstore::checkIssued(const Certificate& leaf, const std::vector<Wall>& times) const {
  const signature::LogKeys keys = [this](std::string_view id, Wall at) -> const PublicKey* {
    const auto log = std::find_if(certificate_logs_.begin(), certificate_logs_.end(),
                                  [&](const Log& one) { return one.id == id && one.valid.holds(at); });
    return log == certificate_logs_.end() ? nullptr : &log->key;
  };
  for (const Wall at : times) {
    const auto issuer = issuerOf(leaf, at);
    if (!issuer) { return tl::unexpected(issuer.error()); }
    if (Status fine = signature::checkPromises(leaf, *issuer, keys); !fine) { return fine; }
  }
  if (!leaf.isForCodeSigning()) { return doesNotCount("its certificate is not for code signing"); }
  return {};
}

Result<std::string> Sigstore::judge(const Evidence& evidence,
                                    const std::vector<kt::Identity>& identities) const {
  if (evidence.certificates.empty()) { return doesNotCount("it has no certificate: it was made with a key"); }
  const auto leaf = Certificate::parse(evidence.certificates.front());
  if (!leaf) { return tl::unexpected(leaf.error()); }
  if (!leaf->publicKey().verifies(evidence.message, evidence.signature)) {
    return doesNotCount("it is not of the certificate's key");
  }
  const auto times = timesOf(evidence, *leaf);
  if (!times) { return tl::unexpected(times.error()); }
  if (Status fine = checkIssued(*leaf, *times); !fine) { return tl::unexpected(fine.error()); }
  return identify(*leaf, identities);
}

Result<std::vector<Trusted>> trustedOf(const kt::Rule& rule, const TrustedRoots& roots) {
  std::vector<Trusted> out;
  for (std::size_t i = 0; i < rule.authorities.size(); ++i) {
    const std::string field = fmt::format("{}.require[{}]", rule.name, i);
    const auto* keyed = std::get_if<kt::Keyed>(&rule.authorities[i]);
    auto one = keyed != nullptr ? trustedKeys(*keyed, field)
                                : trustedIdentities(std::get<kt::Keyless>(rule.authorities[i]), field, roots);
    if (!one) { return tl::unexpected(one.error()); }
    out.push_back(std::move(*one));
  }
  return out;
}

Result<std::string> judge(const Evidence& evidence, const std::vector<Trusted>& trusted) {
  std::vector<std::string> reasons;
  for (const Trusted& one : trusted) {
    auto who = std::visit([&](const auto& by) { return judgeBy(by, evidence); }, one);
    if (who) { return who; }
    if (std::find(reasons.begin(), reasons.end(), who.error().message) == reasons.end()) {
      reasons.push_back(std::move(who.error().message));
    }
  }
  return doesNotCount(reasons.empty() ? "nobody is trusted" : fmt::format("{}", fmt::join(reasons, "; ")));
}

}  // namespace gs::cacherim::trust
