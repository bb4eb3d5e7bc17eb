# shellcheck shell=bash
# What the cases about signatures have in common: two registries, of which one has the referrers API, and images in them.

PLAIN=127.0.0.1:5001
REFERRERS=127.0.0.1:5002

mcv() { COSIGN_PASSWORD=secret "$GS_BIN/mcv" --plain-http -l warning "$@"; }
# push IMAGE [TEXT [MCV-FLAG...]]: a cache that has TEXT in it.
push() {
  local folder=$CASE_DIR/cache key=MCELTMXFCSPAMZYLZ3C3WPPYYVTVR4QOYNE52X3X6FIH7Z6N6X5A
  mkdir -p "$folder/$key"
  echo "{\"hash\": \"6088b9b2\", \"name\": \"${2:-$1}\", \"target\": {\"backend\": \"hip\", \"arch\": \"gfx90a\", \"warp_size\": 64}}" >"$folder/$key/add_kernel.json"
  echo '{"child_paths": {}}' >"$folder/$key/__grp__add_kernel.json"
  mcv -c -i "$1" -d "$folder" --no-gpu --push "${@:3}" >>"$CASE_DIR/push.log" 2>&1 || fail "mcv --push: $(tail -n 2 "$CASE_DIR/push.log")"
}

start_registries() {
  local address
  cat >"$CASE_DIR/registry.yml" <<YAML
version: 0.1
storage: {filesystem: {rootdirectory: $CASE_DIR/registry}}
http: {addr: "$PLAIN"}
YAML
  run_helper registry env REGISTRY_LOG_LEVEL=warn docker-registry serve "$CASE_DIR/registry.yml"
  run_helper referrers "$(tool sigstore)" registry $REFERRERS
  for address in $PLAIN $REFERRERS; do
    eventually "registry $address" 200 curl --silent --output /dev/null --write-out '%{http_code}' "http://$address/v2/"
  done
}
