#!/usr/bin/env bash
# generate-webhook-certs.sh: a CA and a certificate for the webhook as files, for a chart that is given a caBundle.
# NAMESPACE (gpu-scheduler-system), SERVICE_NAME (gpu-scheduler-webhook) and CERT_DIR (./certs) say what for, and where.
# In CERT_DIR: ca.key, ca.crt, ca.srl, tls.key, tls.crt, csr.conf and webhook-tls-secret.yaml, which holds the namespace
# and the Secret gpu-scheduler-webhook-tls. Needs openssl.
set -euo pipefail

NAMESPACE=${NAMESPACE:-gpu-scheduler-system}
SERVICE_NAME=${SERVICE_NAME:-gpu-scheduler-webhook}
CERT_DIR=${CERT_DIR:-./certs}
days=365

for word in "$NAMESPACE" "$SERVICE_NAME"; do
  if ! [[ $word =~ ^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$ ]]; then
    echo "'$word' is no name of a namespace or Service: write lower case letters, digits and hyphens" >&2
    exit 2
  fi
done
command -v openssl >/dev/null || { echo "openssl is not in PATH: install it" >&2; exit 1; }

umask 077 # keys are nobody else's
mkdir -p "$CERT_DIR"
cd "$CERT_DIR"
name=$SERVICE_NAME.$NAMESPACE.svc

cat >csr.conf <<CONF
[req]
distinguished_name = dn
req_extensions = v3
prompt = no
[dn]
CN = ${name:0:64}
[v3]
basicConstraints = CA:FALSE
keyUsage = nonRepudiation, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth
subjectAltName = DNS:$SERVICE_NAME, DNS:$SERVICE_NAME.$NAMESPACE, DNS:$name, DNS:$name.cluster.local
CONF
log=$(mktemp)
trap 'rm -f "$log" server.csr' EXIT
{
  openssl req -x509 -newkey rsa:2048 -nodes -days $days -keyout ca.key -out ca.crt \
    -subj "/C=US/ST=CA/L=San Francisco/O=GPU Scheduler/CN=GPU Scheduler CA"
  openssl req -new -newkey rsa:2048 -nodes -config csr.conf -keyout tls.key -out server.csr
  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days $days -extfile csr.conf \
    -extensions v3 -out tls.crt
} 2>"$log" || { cat "$log" >&2; exit 1; }

encoded() { base64 <"$1" | tr -d '\n'; }
cat >webhook-tls-secret.yaml <<YAML
apiVersion: v1
kind: Namespace
metadata:
  name: $NAMESPACE
---
apiVersion: v1
kind: Secret
metadata:
  name: $SERVICE_NAME-tls
  namespace: $NAMESPACE
type: kubernetes.io/tls
data:
  tls.crt: $(encoded tls.crt)
  tls.key: $(encoded tls.key)
YAML

echo "Certificates generated successfully!"
echo
echo "CA bundle (for webhook.caBundle):"
encoded ca.crt
echo
echo
echo "Apply the secret: kubectl apply -f $CERT_DIR/webhook-tls-secret.yaml"
