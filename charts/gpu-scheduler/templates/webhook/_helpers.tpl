{{- define "gpu-scheduler.webhook.isSidecar" -}}
{{- if and .Values.webhook.enabled (eq .Values.webhook.placement "Sidecar") }}true{{ end }}
{{- end }}

{{/* Of its health and metrics; beside the scheduler that one has the other port. */}}
{{- define "gpu-scheduler.webhook.healthPort" -}}
{{- .Values.webhook.healthPort | default (ternary 8081 8080 (eq .Values.webhook.placement "Sidecar")) }}
{{- end }}

{{/* What webhook.caBundle means for a mode that is left empty. */}}
{{- define "gpu-scheduler.webhook.certsMode" -}}
{{- $mode := .Values.webhook.certs.mode | default (ternary "secret" "auto" (not (empty .Values.webhook.caBundle))) }}
{{- if and (eq $mode "secret") (empty .Values.webhook.caBundle) }}
{{- fail "webhook.certs.mode=secret needs webhook.caBundle, base64 of the CA of that certificate: or leave the mode at auto, which reads the Secret webhook.certs.secretName and sees to the trust itself" }}
{{- end }}
{{- if and (ne $mode "secret") .Values.webhook.caBundle }}
{{- fail (printf "webhook.caBundle is for a certificate of yours, and webhook.certs.mode is %s: leave one of the two out" $mode) }}
{{- end }}
{{- $mode }}
{{- end }}

{{- define "gpu-scheduler.webhook.secret" -}}
{{- .Values.webhook.certs.secretName | default (printf "%s-webhook-cert" (include "gpu-scheduler.fullname" .)) }}
{{- end }}

{{/* "true" where the certificate is yours and its Secret has no name here: then either name serves, as the two guides' scripts
make them: <name>-webhook-cert and <name>-webhook-tls. */}}
{{- define "gpu-scheduler.webhook.eitherSecret" -}}
{{- if and (eq (include "gpu-scheduler.webhook.certsMode" .) "secret") (empty .Values.webhook.certs.secretName) }}true{{ end }}
{{- end }}

{{- define "gpu-scheduler.webhook.serviceAccount" -}}
{{- if eq .Values.webhook.placement "Sidecar" }}{{ include "gpu-scheduler.serviceAccount" . }}
{{- else }}{{ include "gpu-scheduler.fullname" . }}-webhook{{ end }}
{{- end }}

{{/* The container, in a pod of its own or beside the scheduler. */}}
{{- define "gpu-scheduler.webhook.container" -}}
{{- $isSidecar := include "gpu-scheduler.webhook.isSidecar" . }}
{{- $mode := include "gpu-scheduler.webhook.certsMode" . }}
{{- $name := printf "%s-webhook" (include "gpu-scheduler.fullname" .) }}
- name: webhook
  image: {{ include "gpu-scheduler.image" (dict "root" . "image" .Values.webhook.image) | quote }}
  imagePullPolicy: {{ include "gpu-scheduler.pullPolicy" (dict "root" . "image" .Values.webhook.image) }}
  command:
  - gpu-scheduler-webhook
  args:
  - --scheduler-names={{ include "gpu-scheduler.schedulerNames" . }}
  - --device-order={{ .Values.webhook.deviceOrder }}
  - --addr=0.0.0.0:{{ .Values.webhook.port }}
  - --metrics-address=0.0.0.0:{{ include "gpu-scheduler.webhook.healthPort" . }}
  - --log-level={{ .Values.webhook.logLevel }}
  - --inject-limits={{ .Values.webhook.injectLimits }}
  {{- if eq (include "gpu-scheduler.gate" .) "add" }}
  - --gate
  {{- end }}
  {{- if eq $mode "auto" }}
  - --service={{ $name }}
  - --cert-secret={{ include "gpu-scheduler.webhook.secret" . }}
  - --mutating-config={{ $name }}
  - --validating-config={{ if .Values.webhook.validateClaims }}{{ $name }}{{ end }}
  {{- else }}
  - --tls-cert-file=/certs/tls.crt
  - --tls-private-key-file=/certs/tls.key
  {{- end }}
  {{- range .Values.webhook.extraArgs }}
  - {{ . | quote }}
  {{- end }}
  ports:
  - {name: https, containerPort: {{ .Values.webhook.port }}}
  - {name: {{ ternary "webhook-health" "health" (eq $isSidecar "true") }}, containerPort: {{ include "gpu-scheduler.webhook.healthPort" . }}}
  {{- include "gpu-scheduler.probes" (dict "live" "/healthz" "ready" "/readyz" "port" (ternary "webhook-health" "health" (eq $isSidecar "true"))) | nindent 2 }}
  resources: {{- toYaml .Values.webhook.resources | nindent 4 }}
  securityContext: {{- toYaml .Values.securityContext | nindent 4 }}
  {{- $mounts := .Values.webhook.extraVolumeMounts | default list }}
  {{- if ne $mode "auto" }}
  {{- $mounts = prepend $mounts (dict "name" "certs" "mountPath" "/certs" "readOnly" true) }}
  {{- end }}
  {{- with $mounts }}
  volumeMounts: {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* A list of one; none where the webhook keeps its certificate itself. */}}
{{- define "gpu-scheduler.webhook.ownVolumes" -}}
{{- $name := include "gpu-scheduler.fullname" . }}
{{- if include "gpu-scheduler.webhook.eitherSecret" . }}
- name: certs
  projected: # of both the second; without either the webhook ends, says so, and is started again
    sources:
    - secret: {name: {{ $name }}-webhook-cert, optional: true}
    - secret: {name: {{ $name }}-webhook-tls, optional: true}
{{- else if ne (include "gpu-scheduler.webhook.certsMode" .) "auto" }}
- name: certs
  secret:
    secretName: {{ include "gpu-scheduler.webhook.secret" . | toYaml }}
    {{- if include "gpu-scheduler.webhook.isSidecar" . }}
    optional: true # without it the webhook ends and is started again, and the scheduler beside it runs
    {{- end }}
{{- end }}
{{- end }}
{{- define "gpu-scheduler.webhook.volumes" -}}
{{ include "gpu-scheduler.webhook.ownVolumes" . }}
{{- with .Values.webhook.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
