// What sigstore-go itself says of a form: whether the forms are what their names say does not hang on our own verifier.
package main

import (
	"bytes"
	"encoding/hex"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// judge: nil: it counts. Neither what a payload under the tag says nor what a statement means is looked at here.
func judge(ours *sigstore, how form, of *made, image v1.Hash) error {
	text, err := ours.trustedRoot()
	if err != nil {
		return err
	}
	trusted, err := root.NewTrustedRootFromJSON(text)
	if err != nil {
		return err
	}
	options := []verify.VerifierOption{verify.WithSignedCertificateTimestamps(1), verify.WithObserverTimestamps(1)}
	if how.promise || how.proof {
		options = append(options, verify.WithTransparencyLog(1)) // else it does not look at entries, nor at their time
	}
	verifier, err := verify.NewVerifier(trusted, options...)
	if err != nil {
		return err
	}
	who, err := verify.NewShortCertificateIdentity(issuer, "", how.signer(), "")
	if err != nil {
		return err
	}
	digest, err := hex.DecodeString(image.Hex)
	if err != nil {
		return err
	}
	about := verify.WithArtifactDigest("sha256", digest)
	if how.tag {
		about = verify.WithArtifact(bytes.NewReader(of.text))
	}
	whole, err := bundle.NewBundle(bundleOf(how, of))
	if err != nil {
		return err
	}
	_, err = verifier.Verify(whole, verify.NewPolicy(about, verify.WithCertificateIdentity(who)))
	return err
}
