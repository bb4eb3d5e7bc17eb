#!/usr/bin/env bash
# gen-webhook-certs.sh [NAMESPACE]: a certificate for gpu-scheduler-webhook, as a Secret of that namespace (default:
# default). Nobody needs it: the webhook makes one by itself. It is for those who want their own CA, or who follow a
# guide that begins with it. Also piped: curl ... | bash -s -- NAMESPACE
# Needs openssl and kubectl. Leaves no file behind.
set -euo pipefail

namespace=${1:-default}
service=gpu-scheduler-webhook
secret=gpu-scheduler-webhook-cert
days=365

if ! [[ $namespace =~ ^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$ ]]; then
  echo "'$namespace' is no name of a namespace: write lower case letters, digits and hyphens" >&2
  exit 2
fi
for tool in openssl kubectl; do
  command -v "$tool" >/dev/null || { echo "$tool is not in PATH: install it" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=$service.$namespace.svc
common=${name:0:64} # a common name has no more room; the other names say it whole

echo "1/5 a CA: $name"
openssl req -x509 -newkey rsa:2048 -nodes -days $days -subj "/CN=${common:0:61} CA" -keyout "$work/ca.key" -out "$work/ca.crt" 2>"$work/log" ||
  { cat "$work/log" >&2; exit 1; }
echo "2/5 a key and a request for $service, $service.$namespace, $name, $name.cluster.local"
cat >"$work/csr.conf" <<CONF
[v3]
basicConstraints = CA:FALSE
keyUsage = nonRepudiation, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth
subjectAltName = DNS:$service, DNS:$service.$namespace, DNS:$name, DNS:$name.cluster.local
CONF
openssl req -new -newkey rsa:2048 -nodes -subj "/CN=$common" -keyout "$work/tls.key" -out "$work/tls.csr" 2>"$work/log" ||
  { cat "$work/log" >&2; exit 1; }
echo "3/5 the CA signs it, for $days days"
openssl x509 -req -in "$work/tls.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days $days \
  -extfile "$work/csr.conf" -extensions v3 -out "$work/tls.crt" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }

echo "4/5 whom the API server is to trust: beside the new CA the one of what is shown now, until that is no longer shown"
for kind in mutatingwebhookconfiguration validatingwebhookconfiguration; do
  if ! kubectl get "$kind" "$service" >/dev/null 2>&1; then
    echo "    $kind/$service is not there, or not yours to read; the webhook writes it there"
    continue
  fi
  # The first one: those behind it are of certificates before.
  kubectl get "$kind" "$service" -o jsonpath='{.webhooks[0].clientConfig.caBundle}' | openssl base64 -d -A |
    awk '!over { print } /END CERTIFICATE/ { over = 1 }' | cat "$work/ca.crt" - >"$work/bundle"
  kubectl patch "$kind" "$service" --type=json -p '[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle",
    "value": "'"$(openssl base64 -A <"$work/bundle")"'"}]' >/dev/null
  echo "    $kind/$service"
done

echo "5/5 namespace $namespace and secret $secret"
kubectl create namespace "$namespace" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
kubectl create secret generic "$secret" -n "$namespace" --type=kubernetes.io/tls --from-file=tls.crt="$work/tls.crt" \
  --from-file=tls.key="$work/tls.key" --from-file=ca.crt="$work/ca.crt" --dry-run=client -o yaml | kubectl apply --server-side --force-conflicts -f - >/dev/null
kubectl label secret "$secret" -n "$namespace" app.kubernetes.io/managed-by- >/dev/null # yours: the webhook never writes it

echo
echo "Secret created: $secret (namespace: $namespace)"
