// Both kinds of keys.
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "base/base64.h"
#include "base/hex.h"
#include "json/value.h"
#include "signature/private_key.h"
#include "signature/secretbox.h"

namespace gs::signature {
namespace {

/// PKCS#8, with a password or "".
std::string pemOf(EVP_PKEY* key, std::string password = "") {
  const std::unique_ptr<BIO, Freer<BIO_free>> out{BIO_new(BIO_s_mem())};
  PEM_write_bio_PKCS8PrivateKey(out.get(), key, password.empty() ? nullptr : EVP_aes_256_cbc(),
                                password.data(), static_cast<int>(password.size()), nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string newKey(const std::string& kind) {
  OwnedKey key;
  if (kind == "Ed25519") {
    key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  } else if (kind.starts_with("RSA")) {
    key.reset(EVP_RSA_gen(static_cast<unsigned>(std::stoi(kind.substr(4)))));
  } else {
    key.reset(EVP_EC_gen(kind.substr(6).c_str()));
  }
  return pemOf(key.get());
}

class EveryKey : public testing::TestWithParam<const char*> {};

TEST_P(EveryKey, SignsWhatItsOtherHalfVerifies) {
  const auto key = PrivateKey::parse(newKey(GetParam()), "");
  ASSERT_TRUE(key) << key.error().message;
  const auto signature = key->sign("message");
  ASSERT_TRUE(signature);
  const auto public_key = PublicKey::parse(key->publicPem());
  ASSERT_TRUE(public_key) << public_key.error().message;
  EXPECT_EQ(public_key->kind(), GetParam());
  EXPECT_EQ(public_key->der(), key->publicKey().der());
  EXPECT_EQ(PublicKey::parse(public_key->der())->id(), public_key->id());
  EXPECT_TRUE(public_key->verifies("message", *signature));
  EXPECT_FALSE(public_key->verifies("massage", *signature));
  EXPECT_FALSE(public_key->verifies("message", ""));
  EXPECT_FALSE(public_key->verifies("message", *signature + "x"));
  std::string other = *signature;
  other.back() = static_cast<char>(other.back() ^ 1);
  EXPECT_FALSE(public_key->verifies("message", other));
  EXPECT_FALSE(PrivateKey::parse(newKey(GetParam()), "")->publicKey().verifies("message", *signature));
}
INSTANTIATE_TEST_SUITE_P(Kinds, EveryKey,
                         testing::Values("ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "Ed25519", "RSA 2048"),
                         [](const auto& info) {
                           std::string name{info.param};
                           std::erase_if(name, [](char c) { return c == ' ' || c == '-'; });
                           return name;
                         });

TEST(PublicKeys, PssAndLongerHashesAreTakenToo) {
  const auto signedBy = [](EVP_PKEY* key, const EVP_MD* hash, int padding) {
    const std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>> context{EVP_MD_CTX_new()};
    EVP_PKEY_CTX* how = nullptr;
    std::string out(1024, '\0');
    std::size_t size = out.size();
    EVP_DigestSignInit(context.get(), &how, hash, nullptr, key);
    if (padding != 0) { EVP_PKEY_CTX_set_rsa_padding(how, padding); }
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytesOf("m"), 1);
    out.resize(size);
    return out;
  };
  const OwnedKey rsa{EVP_RSA_gen(2048)};
  EXPECT_TRUE(PublicKey::parse(spkiOf(rsa.get()))
                  ->verifies("m", signedBy(rsa.get(), EVP_sha256(), RSA_PKCS1_PSS_PADDING)));
  EXPECT_FALSE(
      PublicKey::parse(spkiOf(rsa.get()))->verifies("m", signedBy(rsa.get(), EVP_sha1(), RSA_PKCS1_PADDING)));
  const OwnedKey p384{EVP_EC_gen("P-384")};
  EXPECT_TRUE(PublicKey::parse(spkiOf(p384.get()))->verifies("m", signedBy(p384.get(), EVP_sha384(), 0)));
  const OwnedKey p256{EVP_EC_gen("P-256")};
  EXPECT_FALSE(PublicKey::parse(spkiOf(p256.get()))->verifies("m", signedBy(p256.get(), EVP_sha384(), 0)));
}

/// RFC 8032 7.3.
TEST(PublicKeys, Ed25519OfAHashIsTakenToo) {
  const std::string raw = *decodeHex("ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf");
  std::string signature = *decodeHex(
      "98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae4131f85042463c2a355a2003d062adf5aa"
      "a10b8c61e636062aaad11c2a26083406");
  const OwnedKey made{EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytesOf(raw), raw.size())};
  const auto key = PublicKey::parse(spkiOf(made.get()));
  ASSERT_TRUE(key);
  EXPECT_TRUE(key->verifies("abc", signature));
  EXPECT_FALSE(key->verifies("abd", signature));
  EXPECT_FALSE(key->verifies("abc", signature.substr(1)));
  signature[0] = '\0';
  EXPECT_FALSE(key->verifies("abc", signature));
}

TEST(PublicKeys, WhatIsNoneOrTooWeakIsSaid) {
  const auto said = [](std::string_view text) {
    const auto key = PublicKey::parse(text);
    return key ? std::string{} : key.error().message;
  };
  EXPECT_NE(said("").find("it is no public key: "), std::string::npos) << said("");
  EXPECT_EQ(said("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"),
            "it is no public key in PEM (-----BEGIN PUBLIC KEY-----)");
  EXPECT_NE(said("-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n"), "");
  EXPECT_EQ(said(std::string(std::size_t{20'000}, 'x')), "it is too long for a public key");
  EXPECT_EQ(said(PrivateKey::generate().publicKey().der() + "x"), "there is something behind the public key");
  const std::string kind =
      "a key of this kind is not taken; use ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 bits or more";
  EXPECT_EQ(said(spkiOf(OwnedKey{EVP_RSA_gen(1024)}.get())), kind);
  EXPECT_EQ(said(spkiOf(OwnedKey{EVP_EC_gen("secp256k1")}.get())), kind);
  EXPECT_EQ(said(spkiOf(OwnedKey{EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519")}.get())), kind);
}

TEST(PrivateKeys, OneWithAPasswordNeedsIt) {
  const OwnedKey key{EVP_EC_gen("P-256")};
  const std::string pem = pemOf(key.get(), "secret");
  EXPECT_TRUE(PrivateKey::parse(pem, "secret"));
  EXPECT_EQ(PrivateKey::parse(pem, "").error().message, "it is encrypted, and there is no password");
  EXPECT_NE(PrivateKey::parse(pem, "other").error().message.find("the password is not that of the key"),
            std::string::npos);
  EXPECT_NE(PrivateKey::parse("x", "").error().message.find("it is no private key in PEM: "),
            std::string::npos);
}

std::string boxed(const std::string& der, const std::string& password_key, int n = 16,
                  const char* cipher = "nacl/secretbox") {
  const std::string nonce(kSecretboxNonce, 'n');
  const json::Value box =
      json::Object{{"kdf", json::Object{{"name", "scrypt"},
                                        {"params", json::Object{{"N", n}, {"r", 8}, {"p", 1}}},
                                        {"salt", encodeBase64("salt")}}},
                   {"cipher", json::Object{{"name", cipher}, {"nonce", encodeBase64(nonce)}}},
                   {"ciphertext", encodeBase64(sealSecretbox(der, nonce, password_key))}};
  return "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n" + encodeBase64(json::print(box)) +
         "\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n";
}

// The text, key, nonce and box of NaCl's own tests (tests/secretbox.c and its output).
TEST(Secretbox, IsNaCls) {
  const std::string key = *decodeHex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
  const std::string nonce = *decodeHex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
  const std::string text = *decodeHex(
      "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c"
      "01"
      "233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59f"
      "fd"
      "4924ca1c60902e52f0a089bc76897040e082f937763848645e0705");
  const std::string box = *decodeHex(
      "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc1"
      "7c"
      "98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acf"
      "ea"
      "bd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5");
  EXPECT_EQ(encodeHex(sealSecretbox(text, nonce, key)), encodeHex(box));
  EXPECT_EQ(openSecretbox(box, nonce, key), text);
  std::string changed = box;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_FALSE(openSecretbox(changed, nonce, key));
  EXPECT_FALSE(openSecretbox(box.substr(0, 15), nonce, key));
  EXPECT_FALSE(openSecretbox(box, nonce.substr(1), key));
}

TEST(PrivateKeys, CosignsOwnAreOpenedByTheirPassword) {
  const std::string der = fromPem(newKey("ECDSA P-256"), "PRIVATE KEY");
  // scrypt("secret", "salt", N 16, r 8, p 1), by Python's hashlib.
  const std::string secret = *decodeHex("0ed302ff62eeaf787efc5477f9ab248b45afb36449ad807ba5f2a9ee5d41f7db");
  const std::string pem = boxed(der, secret);
  const auto key = PrivateKey::parse(pem, "secret");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_TRUE(key->publicKey().verifies("m", *key->sign("m")));
  EXPECT_EQ(PrivateKey::parse(pem, "").error().message, "it is encrypted, and there is no password");
  EXPECT_EQ(PrivateKey::parse(pem, "other").error().message, "the password is not that of the key");
  EXPECT_EQ(PrivateKey::parse(boxed(der, secret, 1 << 20), "secret").error().message,
            "the key's scrypt parameters (N 1048576, r 8, p 1) are not taken");
  EXPECT_EQ(PrivateKey::parse(boxed(der, secret, 16, "aes"), "secret").error().message,
            "the key's cipher is not nacl/secretbox");
}

}  // namespace
}  // namespace gs::signature
