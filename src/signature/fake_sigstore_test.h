// For tests only: what a Sigstore has keys for, made on the spot: a CA that issues certificates to signers, a
// CT log that promises them, an authority of timestamps.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "signature/certificate.h"
#include "signature/private_key.h"

namespace gs::signature {

/// A CA with a root of its own, or an authority of timestamps.
struct FakeAuthority {
  std::string signer_der;
  std::string signer_key;  // PEM
  std::string root_der;
  [[nodiscard]] Chain chain() const { return {signer_der, root_der}; }
};

struct Signer {
  PrivateKey key;
  std::string der;
  std::string pem;
};

/// How a signer's certificate is to be.
struct Wanted {
  std::string subject = "email:me@example.com";  // as OpenSSL writes subject alternative names; "" none
  std::string issuer = "https://accounts.example";
  bool has_old_issuer_only = false;
  bool is_for_code_signing = true;
  Wall from{};
  Wall until{};
  const PrivateKey* log = nullptr;  // that promises it; nullptr: none does
  Wall promised_at{};
  bool promise_is_of_another = false;  // certificate
};

/// Valid at any time between 2020 and 2040. `key_usage` "codeSigning" or "timeStamping": of the signer.
[[nodiscard]] FakeAuthority makeAuthority(const std::string& key_usage);
[[nodiscard]] Signer issue(const FakeAuthority& ca, const Wanted& wanted);
/// A TimeStampResp.
[[nodiscard]] std::string stampOf(const FakeAuthority& authority, std::string_view stamped, Wall at);
[[nodiscard]] std::string certificatePem(std::string_view der);

}  // namespace gs::signature
