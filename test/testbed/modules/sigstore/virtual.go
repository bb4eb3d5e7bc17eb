// A Sigstore in memory: a CA (Fulcio), a certificate log, a log (Rekor) and an authority of timestamps. The CA's and the
// authority's certificates and the timestamps are made by sigstore-go's virtual CA. That one has no certificate log, and its
// log's checkpoints are of another size than its proofs; so these two are made here, by the libraries that the real ones use.
package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	ctx509 "github.com/google/certificate-transparency-go/x509"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore/pkg/signature"
)

type sigstore struct {
	stamps       *ca.VirtualSigstore
	rootOfCA     *x509.Certificate
	issuer       *x509.Certificate
	issuerKey    *ecdsa.PrivateKey
	certificates *ecdsa.PrivateKey // the certificate log's
	log          *ecdsa.PrivateKey
	began        time.Time
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func newSigstore() (*sigstore, error) {
	out := &sigstore{began: time.Now()}
	var err error
	if out.stamps, err = ca.NewVirtualSigstore(); err != nil {
		return nil, err
	}
	rootCert, rootKey, err := ca.GenerateRootCa()
	if err != nil {
		return nil, err
	}
	out.rootOfCA = rootCert
	if out.issuer, out.issuerKey, err = ca.GenerateFulcioIntermediate(rootCert, rootKey); err != nil {
		return nil, err
	}
	if out.certificates, err = newKey(); err != nil {
		return nil, err
	}
	out.log, err = newKey()
	return out, err
}

func (s *sigstore) trustedRoot() ([]byte, error) {
	from, until := s.began.Add(-time.Hour), s.began.Add(24*time.Hour)
	authority := &root.FulcioCertificateAuthority{Root: s.rootOfCA, Intermediates: []*x509.Certificate{s.issuer},
		ValidityPeriodStart: from, ValidityPeriodEnd: until, URI: "https://fulcio.virtual.example"}
	logs := func(key *ecdsa.PrivateKey, url string) (map[string]*root.TransparencyLog, error) {
		id, err := idOf(key)
		return map[string]*root.TransparencyLog{string(id): {BaseURL: url, ID: id, ValidityPeriodStart: from, ValidityPeriodEnd: until,
			HashFunc: crypto.SHA256, PublicKey: key.Public(), SignatureHashFunc: crypto.SHA256}}, err
	}
	certificateLogs, err := logs(s.certificates, "https://ctfe.virtual.example")
	if err != nil {
		return nil, err
	}
	entryLogs, err := logs(s.log, "https://rekor.virtual.example")
	if err != nil {
		return nil, err
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01, []root.CertificateAuthority{authority}, certificateLogs,
		s.stamps.TimestampingAuthorities(), entryLogs)
	if err != nil {
		return nil, err
	}
	return trusted.MarshalJSON()
}

// SHA-256 of the key: what logs are called by.
func idOf(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	id := sha256.Sum256(der)
	return id[:], err
}

func signed(key *ecdsa.PrivateKey, text []byte) ([]byte, error) {
	signer, err := signature.LoadECDSASigner(key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return signer.SignMessage(bytes.NewReader(text))
}

// A signer's certificate as Fulcio's: ten minutes from now on, without a subject. promised: the log that has promised it.
func (s *sigstore) certificate(key *ecdsa.PrivateKey, subject, issuer string, promised *ecdsa.PrivateKey) (*x509.Certificate, error) {
	named, err := asn1.MarshalWithParams(issuer, "utf8")
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	oid := func(last int) asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, last} }
	template := &x509.Certificate{SerialNumber: serial, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(9 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{{Id: oid(1), Value: []byte(issuer)}, {Id: oid(8), Value: named}}}
	if uri, err := url.Parse(subject); err == nil && uri.Scheme != "" {
		template.URIs = []*url.URL{uri}
	} else {
		template.EmailAddresses = []string{subject}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, s.issuer, key.Public(), s.issuerKey)
	if err != nil || promised == nil {
		return parsed(der, err)
	}
	plain, err := parsed(der, nil)
	if err != nil {
		return nil, err
	}
	promise, err := promiseOf(plain, s.issuer, promised)
	if err != nil {
		return nil, err
	}
	template.ExtraExtensions = append(template.ExtraExtensions, promise)
	return parsed(x509.CreateCertificate(rand.Reader, template, s.issuer, key.Public(), s.issuerKey))
}

func parsed(der []byte, err error) (*x509.Certificate, error) {
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// The extension with one SCT (RFC 6962 3.3), which is about the certificate without it.
func promiseOf(plain, issuer *x509.Certificate, key *ecdsa.PrivateKey) (pkix.Extension, error) {
	id, err := idOf(key)
	if err != nil {
		return pkix.Extension{}, err
	}
	at := uint64(time.Now().UnixMilli())
	sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, Timestamp: at, LogID: ct.LogID{KeyID: [32]byte(id)}}
	text, err := ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: ct.MerkleTreeLeaf{Version: ct.V1, LeafType: ct.TimestampedEntryLeafType,
		TimestampedEntry: &ct.TimestampedEntry{Timestamp: at, EntryType: ct.PrecertLogEntryType, PrecertEntry: &ct.PreCert{
			IssuerKeyHash: sha256.Sum256(issuer.RawSubjectPublicKeyInfo), TBSCertificate: plain.RawTBSCertificate}}}})
	if err != nil {
		return pkix.Extension{}, err
	}
	signature, err := tls.CreateSignature(*key, tls.SHA256, text)
	if err != nil {
		return pkix.Extension{}, err
	}
	sct.Signature = ct.DigitallySigned(signature)
	one, err := tls.Marshal(sct)
	if err != nil {
		return pkix.Extension{}, err
	}
	list, err := tls.Marshal(ctx509.SignedCertificateTimestampList{SCTList: []ctx509.SerializedSCT{{Val: one}}})
	if err != nil {
		return pkix.Extension{}, err
	}
	value, err := asn1.Marshal(list)
	return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value}, err
}

// context.Background() where a library wants one: nothing here is asked over a network but the registry.
var ctx = context.Background()
