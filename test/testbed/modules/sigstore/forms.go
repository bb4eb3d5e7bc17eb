// The forms in which somebody without a key has signed an image, good ones and others.
package main

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	ocitypes "github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	rekorbundle "github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v2/pkg/oci/mutate"
	ociremote "github.com/sigstore/cosign/v2/pkg/oci/remote"
	cosignstatic "github.com/sigstore/cosign/v2/pkg/oci/static"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	subject       = "me@example.com"
	workflow      = "https://github.com/me/caches/.github/workflows/build.yml@refs/heads/main"
	issuer        = "https://accounts.example.com"
	bundleType    = "application/vnd.dev.sigstore.bundle.v0.3+json"
	statementType = "application/vnd.in-toto+json"
	signPredicate = "https://sigstore.dev/cosign/sign/v1"
)

type form struct {
	name                  string
	tag                   bool // cosign 2's tag; else a bundle beside the image
	message               bool // the bundle is of the manifest itself, and not of a statement
	promise, proof, stamp bool
	workflow              bool // the signer is one; else somebody with a mail address
	predicate             string
	noSCT, otherCTLog     bool
	otherLog              bool // the entry is of another Sigstore's log
	otherCA               bool
	otherDigest           bool // it says another one
	otherEntry            bool // the entry is about another signature
	late                  bool // it was logged an hour after the certificate's end
}

var forms = []form{
	{name: "tag-logged", tag: true, promise: true},
	{name: "tag-stamped", tag: true, stamp: true},
	{name: "tag-both", tag: true, promise: true, stamp: true, workflow: true},
	{name: "bundle-logged", promise: true, proof: true},
	{name: "bundle-both", promise: true, proof: true, stamp: true, workflow: true},
	{name: "bundle-rekor2", proof: true, stamp: true}, // as Rekor 2 has it: no promise, the time is the stamp's
	{name: "bundle-message", message: true, promise: true, proof: true},

	{name: "tag-neither", tag: true},
	{name: "tag-no-sct", tag: true, promise: true, noSCT: true},
	{name: "tag-other-digest", tag: true, promise: true, otherDigest: true},
	{name: "tag-other-entry", tag: true, promise: true, otherEntry: true},
	{name: "bundle-neither"},
	{name: "bundle-proof-only", proof: true},
	{name: "bundle-no-sct", promise: true, proof: true, noSCT: true},
	{name: "bundle-other-ct-log", promise: true, proof: true, otherCTLog: true},
	{name: "bundle-other-log", promise: true, proof: true, otherLog: true},
	{name: "bundle-other-ca", promise: true, proof: true, otherCA: true},
	{name: "bundle-other-digest", promise: true, proof: true, otherDigest: true},
	{name: "bundle-other-entry", promise: true, proof: true, otherEntry: true},
	{name: "bundle-late", promise: true, proof: true, late: true},
	{name: "bundle-attestation", promise: true, proof: true, predicate: "https://slsa.dev/provenance/v1"},
}

// What a form comes to before it is written.
type made struct {
	text        []byte // of the tag's layer, of the statement, or the manifest
	sig         []byte
	certificate *x509.Certificate
	entry       *entry
	stamp       []byte
}

func signAs(ours, other *sigstore, how form, from name.Reference) (string, error) {
	image, err := remote.Get(from)
	if err != nil {
		return "", err
	}
	copied, err := image.Image()
	if err != nil {
		return "", err
	}
	to, err := name.ParseReference(from.Context().Name()+"/"+how.name+":v1", name.Insecure)
	if err != nil {
		return "", err
	}
	if err := remote.Write(to, copied); err != nil {
		return "", err
	}
	signature, err := makeForm(ours, other, how, to, image)
	if err != nil {
		return "", err
	}
	at := to.Context().Digest(image.Digest.String())
	verdict := "counts"
	if err := judge(ours, how, signature, image.Digest); err != nil {
		log.Printf("%s: %v", how.name, err)
		verdict = "does-not"
	}
	if how.tag {
		return verdict, writeTag(how, signature, ours, at)
	}
	return verdict, writeBundle(how, signature, at)
}

func makeForm(ours, other *sigstore, how form, to name.Reference, image *remote.Descriptor) (*made, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	out := &made{}
	if out.certificate, err = certificateFor(ours, other, how, key); err != nil {
		return nil, err
	}
	digest := image.Digest.Hex
	if how.otherDigest {
		digest = strings.Repeat("a", len(digest))
	}
	kind := "hashedrekord"
	signedText := []byte(nil)
	switch {
	case how.tag:
		out.text = fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":"sha256:%s"},`+
			`"type":"cosign container image signature"},"optional":null}`, to.Context().Name(), digest)
		signedText = out.text
	case how.message:
		out.text, signedText = image.Manifest, image.Manifest
	default:
		kind = "dsse"
		out.text = fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
			digest, how.predicateType())
		signedText = dsse.PAE(statementType, out.text)
	}
	if out.sig, err = signed(key, signedText); err != nil {
		return nil, err
	}
	if out.stamp, err = ours.stamps.TimestampResponse(out.sig); err != nil {
		return nil, err
	}
	out.entry, err = entryFor(ours, other, how, kind, out, key, signedText)
	return out, err
}

func certificateFor(ours, other *sigstore, how form, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	by, promised := ours, ours.certificates
	if how.otherCA {
		by = other
	}
	if how.otherCTLog {
		promised = other.certificates
	}
	if how.noSCT {
		promised = nil
	}
	return by.certificate(key, how.signer(), issuer, promised)
}

func entryFor(ours, other *sigstore, how form, kind string, of *made, key *ecdsa.PrivateKey, signedText []byte) (*entry, error) {
	sig, log, at := of.sig, ours, time.Now()
	if how.otherEntry {
		var err error
		if sig, err = signed(key, signedText); err != nil { // the same key and text: ECDSA draws a number
			return nil, err
		}
	}
	if how.otherLog {
		log = other
	}
	if how.late {
		at = at.Add(time.Hour)
	}
	text := of.text
	if kind == "dsse" {
		envelope := dsse.Envelope{PayloadType: statementType, Payload: base64.StdEncoding.EncodeToString(of.text),
			Signatures: []dsse.Signature{{Sig: base64.StdEncoding.EncodeToString(sig)}}}
		var err error
		if text, err = json.Marshal(envelope); err != nil {
			return nil, err
		}
	}
	return log.entryOf(kind, text, sig, pemOf(of.certificate), at)
}

func (how form) signer() string {
	if how.workflow {
		return workflow
	}
	return subject
}

func pemOf(certificates ...*x509.Certificate) []byte {
	var out []byte
	for _, one := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Raw})...)
	}
	return out
}

func writeTag(how form, of *made, by *sigstore, at name.Digest) error {
	options := []cosignstatic.Option{cosignstatic.WithCertChain(pemOf(of.certificate), pemOf(by.issuer, by.rootOfCA))}
	if how.promise {
		options = append(options, cosignstatic.WithBundle(&rekorbundle.RekorBundle{SignedEntryTimestamp: of.entry.promise, Payload: of.entry.payload()}))
	}
	if how.stamp {
		options = append(options, cosignstatic.WithRFC3161Timestamp(rekorbundle.TimestampToRFC3161Timestamp(of.stamp)))
	}
	layer, err := cosignstatic.NewSignature(of.text, base64.StdEncoding.EncodeToString(of.sig), options...)
	if err != nil {
		return err
	}
	entity, err := ociremote.SignedEntity(at)
	if err != nil {
		return err
	}
	if entity, err = mutate.AttachSignatureToEntity(entity, layer); err != nil {
		return err
	}
	return ociremote.WriteSignatures(at.Repository, entity)
}

// bundleOf: also what lies under the tag, as the first version of bundles would have it.
func bundleOf(how form, of *made) *protobundle.Bundle {
	material := &protobundle.VerificationMaterial{Content: &protobundle.VerificationMaterial_Certificate{
		Certificate: &protocommon.X509Certificate{RawBytes: of.certificate.Raw}}}
	out := &protobundle.Bundle{MediaType: bundleType, VerificationMaterial: material}
	if how.tag {
		out.MediaType = "application/vnd.dev.sigstore.bundle+json;version=0.1"
		material.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
			Certificates: []*protocommon.X509Certificate{{RawBytes: of.certificate.Raw}}}}
	}
	if how.promise || how.proof {
		material.TlogEntries = []*protorekor.TransparencyLogEntry{of.entry.proto(how.promise, how.proof)}
	}
	if how.stamp {
		material.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: of.stamp}}}
	}
	if how.tag || how.message {
		hash := sha256.Sum256(of.text)
		out.Content = &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{Signature: of.sig,
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: hash[:]}}}
	} else {
		out.Content = &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{Payload: of.text, PayloadType: statementType,
			Signatures: []*protodsse.Signature{{Sig: of.sig}}}}
	}
	return out
}

func writeBundle(how form, of *made, at name.Digest) error {
	text, err := protojson.Marshal(bundleOf(how, of))
	if err != nil {
		return err
	}
	if how.message {
		return ociremote.WriteReferrer(at, bundleType, []v1.Layer{static.NewLayer(text, ocitypes.MediaType(bundleType))}, nil)
	}
	return ociremote.WriteAttestationNewBundleFormat(at, text, how.predicateType())
}

func (how form) predicateType() string {
	if how.predicate != "" {
		return how.predicate
	}
	return signPredicate
}
