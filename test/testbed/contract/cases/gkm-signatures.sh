# shellcheck shell=bash
# Real server only: no API server, but what Go compiles.
# Needs: sigstore cosign
# Signatures by keys: cosign's as mcv reads them, and mcv's as cosign does, with keys of each kind and in both formats of cosign
# 2.6. Before two registries: Debian's, which has no referrers API, and one that has it. Those without a key: gkm-keyless.

# shellcheck source=../signing.sh
source "$CONTRACT/signing.sh"

KINDS=(generated p384 rsa ed25519)

# Nothing but the registry can be asked in here, so what needs more fails.
cosign() { HOME=$CASE_DIR COSIGN_PASSWORD=secret COSIGN_YES=true "$(tool cosign)" "$@" 2>&1; }
cosign_signs() { cosign sign --key "$CASE_DIR/$1.key" --tlog-upload=false "${@:2}" >>"$CASE_DIR/cosign.log" || fail "cosign sign: $(tail -n 2 "$CASE_DIR/cosign.log")"; }
# It wants a trusted root for bundles, though a key needs nothing of it.
cosign_verifies() { cosign verify --insecure-ignore-tlog=true --trusted-root "$CASE_DIR/trusted-root.json" --key "$CASE_DIR/$1.pub" "${@:2}" >>"$CASE_DIR/cosign.log" || fail "cosign verify $*: $(tail -n 3 "$CASE_DIR/cosign.log")"; }
digest() { mcv --inspect -i "$1" --output json | jq -r .digest; }
registry_get() { curl --silent --fail "http://$1" --header 'Accept: application/vnd.oci.image.manifest.v1+json'; }
registry_put() { curl --silent --fail --request PUT --header 'Content-Type: application/vnd.oci.image.manifest.v1+json' --data-binary @- "http://$1"; }
signed_by_key() { expect_output_like "mcv --verify of $2" '^Signed by key sha256:' mcv --verify -i "$2" --key "$CASE_DIR/$1.pub"; }
refuses_key() { expect_refused "mcv --verify of $2" "$3" mcv --verify -i "$2" --key "$CASE_DIR/$1.pub"; }

step "two registries, and keys as cosign makes them, and as it takes them over"
start_registries
echo '{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}' >"$CASE_DIR/trusted-root.json"
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out "$CASE_DIR/p384.pem" 2>/dev/null
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out "$CASE_DIR/rsa.pem" 2>/dev/null
openssl genpkey -algorithm ED25519 -out "$CASE_DIR/ed25519.pem"
cosign generate-key-pair --output-key-prefix "$CASE_DIR/generated" >>"$CASE_DIR/cosign.log"
cosign generate-key-pair --output-key-prefix "$CASE_DIR/other" >>"$CASE_DIR/cosign.log"
for kind in p384 rsa ed25519; do cosign import-key-pair --key "$CASE_DIR/$kind.pem" --output-key-prefix "$CASE_DIR/$kind" >>"$CASE_DIR/cosign.log"; done

step "what cosign signs with a key counts: as a tag and as a bundle, in either registry"
for kind in "${KINDS[@]}"; do
  push "$PLAIN/gkm/$kind-tag:v1"
  push "$PLAIN/gkm/$kind-bundle:v1"
  cosign_signs "$kind" "$PLAIN/gkm/$kind-tag:v1"
  cosign_signs "$kind" --new-bundle-format "$PLAIN/gkm/$kind-bundle:v1"
  signed_by_key "$kind" "$PLAIN/gkm/$kind-tag:v1"
  signed_by_key "$kind" "$PLAIN/gkm/$kind-bundle:v1"
done
push $REFERRERS/gkm/tag:v1
push $REFERRERS/gkm/bundle:v1
cosign_signs generated $REFERRERS/gkm/tag:v1
cosign_signs generated --new-bundle-format $REFERRERS/gkm/bundle:v1
for name in tag bundle; do signed_by_key generated "$REFERRERS/gkm/$name:v1"; done

step "another key, another image, a signature that was put beside another image: refused, and why"
for of in gkm/tag gkm/bundle; do
  refuses_key other "$REFERRERS/$of:v1" 'it is of none of the keys'
  signed=$(digest "$REFERRERS/$of:v1")
  push "$REFERRERS/$of:v1" another
  now=$(digest "$REFERRERS/$of:v1")
  if [[ $now == "$signed" ]]; then fail "the image stayed $now"; fi
  refuses_key generated "$REFERRERS/$of:v1" "$now has no signatures"
  case $of in
    */tag) registry_get "$REFERRERS/v2/$of/manifests/${signed/:/-}.sig" | registry_put "$REFERRERS/v2/$of/manifests/${now/:/-}.sig" ;;
    */bundle) # with the other image as its subject
      artifact=$(curl --silent --fail "http://$REFERRERS/v2/$of/referrers/$signed" | jq -r '.manifests[0].digest')
      registry_get "$REFERRERS/v2/$of/manifests/$artifact" | jq -c --arg now "$now" '.subject.digest = $now' >"$CASE_DIR/moved"
      registry_put "$REFERRERS/v2/$of/manifests/sha256:$(sha256sum "$CASE_DIR/moved" | cut -d' ' -f1)" <"$CASE_DIR/moved"
      ;;
  esac
  refuses_key generated "$REFERRERS/$of:v1" "no signature of $REFERRERS/$of@$now counts: .*it is about another digest"
  expect_refused "mcv -e of $of" 'it is about another digest' mcv -e --no-gpu -i "$REFERRERS/$of:v1" -d "$CASE_DIR/there" --verify --key "$CASE_DIR/generated.pub"
  if [[ -e $CASE_DIR/there ]]; then fail "something of $of was written"; fi
done

step "what mcv signs counts with cosign, in both formats; cosign's own stay beside ours"
# Where cosign finds a bundle it looks at nothing else, so the tag's signature is taken to where there is none.
for kind in "${KINDS[@]}"; do
  for registry in $PLAIN $REFERRERS; do
    push "$registry/gkm/ours-$kind:v1" "$kind" --sign "$CASE_DIR/$kind.key"
    cosign_verifies "$kind" --new-bundle-format "$registry/gkm/ours-$kind:v1"
    signed=$(digest "$registry/gkm/ours-$kind:v1")
    for tag in v1 "${signed/:/-}.sig"; do
      skopeo copy --quiet --preserve-digests --src-tls-verify=false --dest-tls-verify=false \
        "docker://$registry/gkm/ours-$kind:$tag" "docker://$registry/gkm/tag-of-$kind:$tag"
    done
    cosign_verifies "$kind" "$registry/gkm/tag-of-$kind:v1"
  done
done
cosign_signs other $PLAIN/gkm/ours-p384:v1
cosign_signs other --new-bundle-format $PLAIN/gkm/ours-p384:v1
push $PLAIN/gkm/ours-p384:v1 p384 --sign "$CASE_DIR/rsa.pem"
for key in p384 other rsa; do
  cosign_verifies $key --new-bundle-format $PLAIN/gkm/ours-p384:v1
  signed_by_key $key $PLAIN/gkm/ours-p384:v1
done
