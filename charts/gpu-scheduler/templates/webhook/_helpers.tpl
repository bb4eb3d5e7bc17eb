{{/* What webhook.caBundle means for what is left empty. */}}
{{- define "gpu-scheduler.webhook.placement" -}}
{{- .Values.webhook.placement | default (ternary "Sidecar" "Deployment" (not (empty .Values.webhook.caBundle))) }}
{{- end }}
{{- define "gpu-scheduler.webhook.isSidecar" -}}
{{- if and .Values.webhook.enabled (eq (include "gpu-scheduler.webhook.placement" .) "Sidecar") }}true{{ end }}
{{- end }}

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
{{- .Values.webhook.certs.secretName | default (printf "%s-webhook-%s" (include "gpu-scheduler.fullname" .) (ternary "tls" "cert" (eq (include "gpu-scheduler.webhook.certsMode" .) "secret"))) }}
{{- end }}

{{- define "gpu-scheduler.webhook.serviceAccount" -}}
{{- if eq (include "gpu-scheduler.webhook.placement" .) "Sidecar" }}{{ include "gpu-scheduler.serviceAccount" . }}
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
  - --metrics-address=0.0.0.0:{{ ternary 8081 8080 (eq $isSidecar "true") }}
  - --log-level={{ .Values.webhook.logLevel }}
  {{- if .Values.webhook.injectLimits }}
  - --inject-limits
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
  - {name: https, containerPort: 8443}
  - {name: {{ ternary "webhook-health" "health" (eq $isSidecar "true") }}, containerPort: {{ ternary 8081 8080 (eq $isSidecar "true") }}}
  {{- include "gpu-scheduler.probes" (dict "live" "/healthz" "ready" "/readyz" "port" (ternary "webhook-health" "health" (eq $isSidecar "true"))) | nindent 2 }}
  resources: {{- toYaml .Values.webhook.resources | nindent 4 }}
  securityContext: {{- toYaml .Values.securityContext | nindent 4 }}
  {{- if ne $mode "auto" }}
  volumeMounts:
  - {name: certs, mountPath: /certs, readOnly: true}
  {{- end }}
{{- end }}

{{/* A list; empty where the webhook keeps its certificate itself. */}}
{{- define "gpu-scheduler.webhook.volumes" -}}
{{- if ne (include "gpu-scheduler.webhook.certsMode" .) "auto" }}
- name: certs
  secret:
    secretName: {{ include "gpu-scheduler.webhook.secret" . }}
    {{- if include "gpu-scheduler.webhook.isSidecar" . }}
    optional: true # without it the webhook waits for its certificate, and the scheduler beside it runs
    {{- end }}
{{- end }}
{{- end }}
