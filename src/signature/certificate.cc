#include "signature/certificate.h"

#include <fmt/format.h>
#include <openssl/asn1.h>
#include <openssl/ct.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "base/hash.h"
#include "base/hex.h"

namespace gs::signature {
namespace {

constexpr std::size_t kMaxCertificateBytes = std::size_t{64} << 10;
constexpr std::size_t kMostNames = 16;
constexpr int kMostPromises = 16;
constexpr const char* kIssuerOid = "1.3.6.1.4.1.57264.1.8";
constexpr const char* kOldIssuerOid = "1.3.6.1.4.1.57264.1.1";
constexpr const char* kOtherNameOid = "1.3.6.1.4.1.57264.1.7";

std::string textOf(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

bool isOid(const ASN1_OBJECT* object, const char* oid) {
  const std::unique_ptr<ASN1_OBJECT, Freer<ASN1_OBJECT_free>> wanted{OBJ_txt2obj(oid, 1)};
  return OBJ_cmp(object, wanted.get()) == 0;
}

/// What an extension has; nullptr: it is not there.
const ASN1_OCTET_STRING* extensionOf(const X509* certificate, const char* oid) {
  const std::unique_ptr<ASN1_OBJECT, Freer<ASN1_OBJECT_free>> wanted{OBJ_txt2obj(oid, 1)};
  const int at = X509_get_ext_by_OBJ(certificate, wanted.get(), -1);
  return at < 0 ? nullptr : X509_EXTENSION_get_data(X509_get_ext(certificate, at));
}

/// .1.8 is a UTF8String in DER, .1.1 the text itself.
std::string issuerOf(const X509* certificate) {
  if (const auto* data = extensionOf(certificate, kIssuerOid)) {
    const unsigned char* at = ASN1_STRING_get0_data(data);
    const std::unique_ptr<ASN1_UTF8STRING, Freer<ASN1_UTF8STRING_free>> text{
        d2i_ASN1_UTF8STRING(nullptr, &at, ASN1_STRING_length(data))};
    ERR_clear_error();
    return text == nullptr ? "" : textOf(text.get());
  }
  const auto* old = extensionOf(certificate, kOldIssuerOid);
  return old == nullptr ? "" : textOf(old);
}

std::string nameOf(const GENERAL_NAME* name) {
  switch (name->type) {
    case GEN_EMAIL:
    case GEN_DNS:
    case GEN_URI: return textOf(name->d.ia5);
    case GEN_OTHERNAME: {
      const OTHERNAME* other = name->d.otherName;
      const bool is_text = other->value != nullptr && other->value->type == V_ASN1_UTF8STRING;
      return is_text && isOid(other->type_id, kOtherNameOid) ? textOf(other->value->value.utf8string) : "";
    }
    default: return "";
  }
}

std::vector<std::string> subjectsOf(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>> names{
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
  std::vector<std::string> out;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    std::string name = nameOf(sk_GENERAL_NAME_value(names.get(), i));
    // What has a NUL in it is read as something shorter by others.
    const bool is_whole = !name.empty() && name.find('\0') == std::string::npos;
    if (is_whole && out.size() < kMostNames) { out.push_back(std::move(name)); }
  }
  ERR_clear_error();
  return out;
}

std::time_t secondsOf(Wall at) {
  return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
}

std::string timeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) { return "?"; }
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

OwnedX509 fromDer(std::string_view der) {
  if (der.size() > kMaxCertificateBytes) { return nullptr; }
  const unsigned char* at = bytesOf(der);
  OwnedX509 out{d2i_X509(nullptr, &at, static_cast<long>(der.size()))};
  return at == bytesOf(der) + der.size() ? std::move(out) : nullptr;
}

std::string derOf(X509* certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  if (size <= 0) { return ""; }
  std::string out{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  OPENSSL_free(bytes);
  return out;
}

using Store = std::unique_ptr<X509_STORE, Freer<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX_free>>;
struct FreeStack {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }
};
using Stack = std::unique_ptr<STACK_OF(X509), FreeStack>;

tl::unexpected<Error> badCertificate(std::string what) {
  ERR_clear_error();
  return fail(Code::Invalid, std::move(what));
}

// ---- promises of logs

void appendNumber(std::string& out, std::uint64_t number, int bytes) {
  for (int i = bytes; i-- > 0;) {
    out.push_back(static_cast<char>(number >> (8 * static_cast<unsigned>(i))));
  }
}

/// What a log signed: the certificate without its promises (RFC 6962 3.2). "": it cannot be made.
std::string promisedPart(const X509* certificate) {
  const OwnedX509 copy{X509_dup(certificate)};
  const int at = copy == nullptr ? -1 : X509_get_ext_by_NID(copy.get(), NID_ct_precert_scts, -1);
  if (at < 0) { return ""; }
  X509_EXTENSION_free(X509_delete_ext(copy.get(), at));
  unsigned char* bytes = nullptr;
  const int size = i2d_re_X509_tbs(copy.get(), &bytes);
  if (size <= 0) { return ""; }
  std::string out{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  OPENSSL_free(bytes);
  return out;
}

std::string promisedText(const SCT* promise, const std::string& issuer_hash, const std::string& part) {
  std::string out;
  appendNumber(out, 0, 1);  // version 1
  appendNumber(out, 0, 1);  // of a certificate's timestamp
  appendNumber(out, SCT_get_timestamp(promise), 8);
  appendNumber(out, 1, 2);  // of a certificate before it was issued
  out += issuer_hash;
  appendNumber(out, part.size(), 3);
  out += part;
  unsigned char* extensions = nullptr;
  const std::size_t size = SCT_get0_extensions(promise, &extensions);
  appendNumber(out, size, 2);
  out.append(reinterpret_cast<const char*>(extensions), size);
  return out;
}

struct Promise {
  std::string log_id;
  Wall at{};
  std::string signature;
};
Promise partsOf(const SCT* promise) {
  unsigned char* id = nullptr;
  unsigned char* signature = nullptr;
  const std::size_t id_size = SCT_get0_log_id(promise, &id);
  const std::size_t size = SCT_get0_signature(promise, &signature);
  const auto milliseconds =
      static_cast<std::int64_t>(std::min<std::uint64_t>(SCT_get_timestamp(promise), std::uint64_t{1} << 46U));
  return {{reinterpret_cast<const char*>(id), id_size},
          Wall{std::chrono::milliseconds{milliseconds}},
          {reinterpret_cast<const char*>(signature), size}};
}

}  // namespace

/// Reaches the library's certificate for the functions of this file.
struct CertificateParts {
  static X509* of(const Certificate& certificate) { return certificate.certificate_.get(); }
  static Result<Certificate> make(OwnedX509 certificate) {
    X509* bare = certificate.get();
    auto key = PublicKey::parse(spkiOf(X509_get0_pubkey(bare)));
    if (!key) { return badCertificate("certificate: its key: " + key.error().message); }
    Certificate out{std::shared_ptr<x509_st>{certificate.release(), FreeX509{}}, derOf(bare),
                    std::move(*key)};
    out.subjects_ = subjectsOf(bare);
    out.issuer_ = issuerOf(bare);
    return out;
  }
};

Result<Certificate> Certificate::parse(std::string_view text) {
  const bool is_pem = text.find("-----BEGIN") != std::string_view::npos;
  OwnedX509 certificate = fromDer(is_pem ? fromPem(text, "CERTIFICATE") : std::string{text});
  if (certificate == nullptr) { return badCertificate("certificate: it is no X.509 certificate"); }
  return CertificateParts::make(std::move(certificate));
}

bool Certificate::isForCodeSigning() const {
  return (X509_get_extension_flags(certificate_.get()) & EXFLAG_XKUSAGE) != 0 &&
         (X509_get_extended_key_usage(certificate_.get()) & XKU_CODE_SIGN) != 0;
}

std::string Certificate::lifeText() const {
  return timeOf(X509_get0_notBefore(certificate_.get())) + " to " +
         timeOf(X509_get0_notAfter(certificate_.get()));
}

Result<Certificate> checkChain(const Certificate& leaf, const Chain& authority, Wall at) {
  const Store store{X509_STORE_new()};
  const StoreContext context{X509_STORE_CTX_new()};
  const Stack between{sk_X509_new_null()};
  std::vector<OwnedX509> owned;
  for (const std::string& der : authority) {
    owned.push_back(fromDer(der));
    if (owned.back() == nullptr) {
      return badCertificate("a certificate of the trusted root cannot be read");
    }
    sk_X509_push(between.get(), owned.back().get());
  }
  if (owned.empty()) { return badCertificate("the trusted root has a CA without certificates"); }
  X509_STORE_add_cert(store.get(), owned.back().get());
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  if (X509_STORE_CTX_init(context.get(), store.get(), CertificateParts::of(leaf), between.get()) != 1) {
    return badCertificate("OpenSSL makes no chain: " + libraryError());
  }
  X509_STORE_CTX_set_time(context.get(), 0, secondsOf(at));
  if (X509_verify_cert(context.get()) != 1) {
    return badCertificate(fmt::format("{} (the certificate is valid {})",
                                      X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())),
                                      leaf.lifeText()));
  }
  const STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(context.get());
  if (sk_X509_num(chain) < 2) { return badCertificate("the certificate is itself a root"); }
  return Certificate::parse(derOf(sk_X509_value(chain, 1)));
}

Status checkPromises(const Certificate& leaf, const Certificate& issuer, const LogKeys& logs) {
  const X509* certificate = CertificateParts::of(leaf);
  const std::unique_ptr<STACK_OF(SCT), Freer<SCT_LIST_free>> promises{
      static_cast<STACK_OF(SCT)*>(X509_get_ext_d2i(certificate, NID_ct_precert_scts, nullptr, nullptr))};
  ERR_clear_error();
  if (promises == nullptr || sk_SCT_num(promises.get()) == 0) {
    return badCertificate("the certificate has no promise of a CT log (SCT) in it");
  }
  const std::string issuer_hash = *decodeHex(sha256Hex(issuer.publicKey().der()));
  const std::string part = promisedPart(certificate);
  std::string why = "no CT log (SCT) of the certificate is in the trusted root";
  for (int i = 0; i < std::min(sk_SCT_num(promises.get()), kMostPromises); ++i) {
    const SCT* promise = sk_SCT_value(promises.get(), i);
    if (SCT_get_version(promise) != SCT_VERSION_V1) { continue; }
    const Promise parts = partsOf(promise);
    const PublicKey* key = logs(parts.log_id, parts.at);
    if (key == nullptr) { continue; }
    if (!part.empty() && key->verifies(promisedText(promise, issuer_hash, part), parts.signature)) {
      return {};
    }
    why = "the promise of the CT log (SCT) in the certificate is not about it";
  }
  return badCertificate(std::move(why));
}

}  // namespace gs::signature
