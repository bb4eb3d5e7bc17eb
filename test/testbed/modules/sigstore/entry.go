// Entries of the log: what Rekor 1 answers when a signature was put into it.
package main

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	"github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/rekor/pkg/pki"
	"github.com/sigstore/rekor/pkg/types"
	_ "github.com/sigstore/rekor/pkg/types/dsse/v0.0.1"
	_ "github.com/sigstore/rekor/pkg/types/hashedrekord/v0.0.1"
	"github.com/sigstore/rekor/pkg/util"
	"github.com/sigstore/sigstore/pkg/signature"
)

type entry struct {
	body    []byte
	kind    string
	at      int64
	index   int64
	logID   []byte
	promise []byte
	proof   *protorekor.InclusionProof
}

// entryOf: of a text and its signature ("hashedrekord"), or of an envelope ("dsse", the text is its JSON).
func (s *sigstore) entryOf(kind string, text, sig, certificate []byte, at time.Time) (*entry, error) {
	has := types.ArtifactProperties{PublicKeyBytes: [][]byte{certificate}, PKIFormat: string(pki.X509)}
	if kind == "dsse" {
		has.ArtifactBytes = text
	} else {
		hash := sha256.Sum256(text)
		has.ArtifactHash, has.SignatureBytes = hex.EncodeToString(hash[:]), sig
	}
	proposed, err := types.NewProposedEntry(ctx, kind, "0.0.1", has)
	if err != nil {
		return nil, err
	}
	made, err := types.CreateVersionedEntry(proposed)
	if err != nil {
		return nil, err
	}
	body, err := types.CanonicalizeEntry(ctx, made)
	if err != nil {
		return nil, err
	}
	id, err := idOf(s.log)
	if err != nil {
		return nil, err
	}
	out := &entry{body: body, kind: kind, at: at.Unix(), index: 1001, logID: id}
	if out.promise, err = s.promised(out); err != nil {
		return nil, err
	}
	out.proof, err = s.proofOf(body)
	return out, err
}

func (e *entry) payload() bundle.RekorPayload {
	return bundle.RekorPayload{Body: base64.StdEncoding.EncodeToString(e.body), IntegratedTime: e.at, LogIndex: e.index,
		LogID: hex.EncodeToString(e.logID)}
}

// The SET.
func (s *sigstore) promised(e *entry) ([]byte, error) {
	text, err := json.Marshal(e.payload())
	if err != nil {
		return nil, err
	}
	if text, err = jsoncanonicalizer.Transform(text); err != nil {
		return nil, err
	}
	return signed(s.log, text)
}

// In a tree of two leaves, of which it is the second.
func (s *sigstore) proofOf(body []byte) (*protorekor.InclusionProof, error) {
	other := sha256.Sum256([]byte("\000another entry"))
	leaf := sha256.Sum256(append([]byte{0}, body...))
	top := sha256.Sum256(bytes.Join([][]byte{{1}, other[:], leaf[:]}, nil))
	signer, err := signature.LoadECDSASigner(s.log, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	note, err := util.CreateAndSignCheckpoint(ctx, "rekor.virtual.example", 1, 2, top[:], signer)
	return &protorekor.InclusionProof{LogIndex: 1, TreeSize: 2, RootHash: top[:], Hashes: [][]byte{other[:]},
		Checkpoint: &protorekor.Checkpoint{Envelope: string(note)}}, err
}

func (e *entry) proto(promise, proof bool) *protorekor.TransparencyLogEntry {
	out := &protorekor.TransparencyLogEntry{LogIndex: e.index, LogId: &protocommon.LogId{KeyId: e.logID}, IntegratedTime: e.at,
		KindVersion: &protorekor.KindVersion{Kind: e.kind, Version: "0.0.1"}, CanonicalizedBody: e.body}
	if promise {
		out.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: e.promise}
	}
	if proof {
		out.InclusionProof = e.proof
	}
	return out
}
