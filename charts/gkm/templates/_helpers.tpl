{{/* Labels of a component: dict "root" $ "component" "operator" | "agent" | "csi-node". Those in selectors are beside it. */}}
{{- define "gkm.labels" -}}
{{ include "gkm.selectorLabels" . }}
app.kubernetes.io/name: gkm-{{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: gkm
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* By what users of GKM select, and nothing that changes. */}}
{{- define "gkm.selectorLabels" -}}
{{- if eq .component "operator" }}control-plane: operator
{{- else if eq .component "csi-node" }}app: gkm-csi-node
role: gkm-csi
{{- else }}app: gkm-{{ .component }}{{ end }}
{{- end }}

{{/* Of pods: those, and what the user adds (validate.yaml keeps theirs apart from ours). */}}
{{- define "gkm.podLabels" -}}
{{ include "gkm.labels" . }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* dict "root" $ "image" .Values.agent.image: a component's image; what it does not say is that of `image`. A digest is of
one repository and tag: with one of its own it has none of `image`. */}}
{{- define "gkm.image" -}}
{{- $own := .image | default dict }}
{{- $common := .root.Values.image }}
{{- $digest := $own.digest | default (ternary $common.digest "" (and (empty $own.repository) (empty $own.tag))) }}
{{- printf "%s:%s" ($own.repository | default $common.repository) ($own.tag | default $common.tag | default .root.Chart.AppVersion) }}
{{- with $digest }}@{{ . }}{{ end }}
{{- end }}
{{- define "gkm.pullPolicy" -}}
{{- ((.image | default dict).pullPolicy) | default .root.Values.image.pullPolicy }}
{{- end }}

{{/* httpGet probes of port health. */}}
{{- define "gkm.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: health}
  initialDelaySeconds: 10
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{/* A variable of a key of gkm-config: dict "name" GO_LOG "key" gkm.agent.log.level */}}
{{- define "gkm.fromConfig" -}}
- name: {{ .name }}
  valueFrom: {configMapKeyRef: {name: gkm-config, key: {{ .key }}}}
{{- end }}

{{/* What pods of a DaemonSet say of where they run, and of what starts them anew: dict "root" $ "own" .Values.agent */}}
{{- define "gkm.nodePod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .own.priorityClassName }}
priorityClassName: {{ . | toYaml }}
{{- end }}
{{- with .own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}

{{/* gkm-config. */}}
{{- define "gkm.config" -}}
gkm.operator.log.level: {{ .Values.operator.logLevel }}
gkm.agent.log.level: {{ .Values.agent.logLevel }}
gkm.csi.log.level: {{ .Values.csi.logLevel }}
gkm.agent.image: {{ include "gkm.image" (dict "root" . "image" .Values.agent.image) | quote }}
gkm.csi.image: {{ include "gkm.image" (dict "root" . "image" .Values.csi.image) | quote }}
gkm.nogpu: {{ .Values.noGpu | toString | quote }}
gkm.kyverno.enabled: {{ .Values.kyverno.enabled | toString | quote }}
{{- end }}
{{/* A pod starts anew when what it reads at its start changes: dict "root" $ "reads" LIST */}}
{{- define "gkm.podAnnotations" -}}
checksum/config: {{ .reads | toJson | sha256sum }}
{{- with .root.Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The Secret of registries, where agents and operator look for it: docker's config file; and whom to trust there. */}}
{{- define "gkm.registryVolume" -}}
{{- if .Values.registrySecret }}
- name: registry
  secret:
    secretName: {{ .Values.registrySecret | toYaml }}
    items: [{key: .dockerconfigjson, path: config.json}]
{{- end }}
{{- if .Values.registryCa }}
- name: registry-ca
  configMap: {name: gkm-registry-ca}
{{- end }}
{{- end }}

{{/* Replicas of a component apart. */}}
{{- define "gkm.apart" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels: {{- include "gkm.selectorLabels" . | nindent 10 }}
{{- end }}
