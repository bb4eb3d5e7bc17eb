# shellcheck shell=bash
# Real server only: no API server, but what Go compiles.
# Needs: sigstore
# Signatures without a key, by somebody whom a CA knows: signers in a Sigstore that lies in memory (modules/sigstore) sign in
# each form that counts, and in others. What sigstore-go says of each is asked too, so that a form is what its name says.

# shellcheck source=../signing.sh
source "$CONTRACT/signing.sh"

SUBJECT=me@example.com
WORKFLOW=https://github.com/me/caches/.github/workflows/build.yml@refs/heads/main
ISSUER=https://accounts.example.com

declare -A WRONG=(
  [tag-neither]='nothing proves when it was signed'
  [tag-no-sct]='the certificate has no promise of a CT log \(SCT\) in it'
  [tag-other-digest]='it is about another digest'
  [tag-other-entry]="the log's entry is about another signature"
  [bundle-neither]='nothing proves when it was signed'
  [bundle-proof-only]='nothing proves when it was signed'
  [bundle-no-sct]='the certificate has no promise of a CT log \(SCT\) in it'
  [bundle-other-ct-log]='no CT log \(SCT\) of the certificate is in the trusted root'
  [bundle-other-log]='the log of its entry is not in the trusted root'
  [bundle-other-ca]='its certificate was not good at'
  [bundle-other-digest]='it is about another digest'
  [bundle-other-entry]="the log's entry is about another signature"
  [bundle-late]='its certificate was not good at'
  [bundle-attestation]='attestations, which are no signatures: 1'
)

# by_identity IMAGE SUBJECT [ISSUER [ROOT]]
by_identity() {
  mcv --verify -i "$1" --trusted-root "$CASE_DIR/${4:-trusted_root}.json" --certificate-identity "$2" --certificate-oidc-issuer "${3:-$ISSUER}"
}

step "two registries"
start_registries

for registry in $PLAIN $REFERRERS; do
  step "by who is named, certified by whom, and proven when: at $registry"
  push "$registry/keyless:v1"
  "$(tool sigstore)" keyless "$registry/keyless:v1" "$CASE_DIR" >"$CASE_DIR/forms" 2>>"$CASE_DIR/sigstore.log"
  expect "forms" 7 "$(($(wc -l <"$CASE_DIR/forms") - ${#WRONG[@]}))"
  while read -r form verdict; do
    image=$registry/keyless/$form:v1
    if [[ -n ${WRONG[$form]:-} ]]; then
      expect_refused "$form" "(no signature of .* counts: .*|has no signatures; )(${WRONG[$form]})" by_identity "$image" $SUBJECT
      # What a signature means is no matter of sigstore-go's.
      if [[ $form != tag-other-digest && $form != bundle-attestation ]]; then expect "sigstore-go of $form" does-not "$verdict"; fi
      continue
    fi
    expect "sigstore-go of $form" counts "$verdict"
    who=$SUBJECT
    if [[ $form == *-both ]]; then who=$WORKFLOW; fi
    expect_output_like "$form" "^Signed by \"$who\" by \"$ISSUER\"" by_identity "$image" "$who"
    expect_refused "$form of somebody else" 'who is not trusted' by_identity "$image" you@example.com
    expect_refused "$form of another issuer" "by the issuer \"$ISSUER\", which is not trusted" by_identity "$image" "$who" https://accounts.example.org
    expect_refused "$form in another Sigstore" 'not in the trusted root|not good at|timestamp' by_identity "$image" "$who" $ISSUER other_root
  done <"$CASE_DIR/forms"
done
