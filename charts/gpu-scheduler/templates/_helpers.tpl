{{/* At most 48, so that with a component's name it is a label's value still. */}}
{{- define "gpu-scheduler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 48 | trimSuffix "-" }}
{{- end }}

{{/* The name of the scheduler's objects; those of the others begin with it. At most 48, so that theirs have room; without a
dot, which a release may have in its name and a Service may not. */}}
{{- define "gpu-scheduler.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- $whole | replace "." "-" | trunc 48 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "gpu-scheduler.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default .Values.serviceAccountName | default (include "gpu-scheduler.fullname" .) }}
{{- else }}
{{- required "serviceAccount.name is needed with serviceAccount.create=false" (.Values.serviceAccount.name | default .Values.serviceAccountName) }}
{{- end }}
{{- end }}

{{- define "gpu-scheduler.leaseNamespace" -}}
{{- default .Release.Namespace .Values.leaseNamespace }}
{{- end }}

{{/* Labels by which a component is found, and nothing that changes: dict "root" $ "component" "" | "webhook" | ... */}}
{{- define "gpu-scheduler.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-scheduler.componentName" . | toYaml }}
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
{{- end }}

{{- define "gpu-scheduler.componentName" -}}
{{- $name := include "gpu-scheduler.name" .root }}
{{- if .component }}{{ printf "%s-%s" $name .component }}{{ else }}{{ $name }}{{ end }}
{{- end }}

{{/* `app` is what the usage guide selects by, and how the scheduler knows an agent's pod. */}}
{{- define "gpu-scheduler.labels" -}}
{{ include "gpu-scheduler.selectorLabels" . }}
app: {{ if .component }}gpu-scheduler-{{ .component }}{{ else }}gpu-scheduler{{ end }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: gpu-scheduler
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Of pods: those, and what the user adds (validate.yaml keeps theirs apart from ours). */}}
{{- define "gpu-scheduler.podLabels" -}}
{{ include "gpu-scheduler.labels" . }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* dict "root" $ "image" .Values.webhook.image: a component's image; what it does not say is that of `image`. A digest is of
one repository and tag: with one of its own it has none of `image`. */}}
{{- define "gpu-scheduler.image" -}}
{{- $own := .image | default dict }}
{{- $common := .root.Values.image }}
{{- $digest := $own.digest | default (ternary $common.digest "" (and (empty $own.repository) (empty $own.tag))) }}
{{- printf "%s:%s" ($own.repository | default $common.repository) ($own.tag | default $common.tag | default .root.Chart.AppVersion) }}
{{- with $digest }}@{{ . }}{{ end }}
{{- end }}
{{- define "gpu-scheduler.pullPolicy" -}}
{{- ((.image | default dict).pullPolicy) | default .root.Values.image.pullPolicy }}
{{- end }}

{{/* "true" in modes in which a kube-scheduler of ours asks. */}}
{{- define "gpu-scheduler.isAsked" -}}
{{- if ne .Values.scheduler.mode "own" }}true{{ end }}
{{- end }}

{{/* schedulerNames whose pods the webhook tells their GPUs, parted by commas. */}}
{{- define "gpu-scheduler.schedulerNames" -}}
{{- if eq .Values.scheduler.mode "own" }}{{ .Values.scheduler.name }}
{{- else if eq .Values.scheduler.mode "both" }}{{ .Values.scheduler.name }},{{ .Values.kubeScheduler.profileName }}
{{- else }}{{ .Values.kubeScheduler.profileName }}{{ end }}
{{- end }}

{{/* off, env or devices, though YAML reads off as false. agent.enforce is the name that older charts have for it. */}}
{{- define "gpu-scheduler.enforcement" -}}
{{- $mode := toString (.Values.enforcement.mode | default "off") }}
{{- if hasKey .Values.agent "enforce" }}
{{- $old := toString (.Values.agent.enforce | default "off") }}
{{- if and (ne $mode "env") (ne $mode $old) }}
{{- fail (printf "agent.enforce=%s is the old name of enforcement.mode, which is %s: leave the old one out" $old $mode) }}
{{- end }}
{{- $mode = $old }}
{{- end }}
{{- $mode }}
{{- end }}

{{/* "serve": the agents answer for pods that have a gate; "add": the webhook gives it to pods, too; "": neither. */}}
{{- define "gpu-scheduler.gate" -}}
{{- $gate := toString .Values.enforcement.gate }}
{{- if eq $gate "draining" }}serve
{{- else if or (eq $gate "true") (and (eq $gate "auto") .Values.webhook.enabled .Values.agent.enabled (eq (include "gpu-scheduler.enforcement" .) "devices")) }}add
{{- end }}
{{- end }}

{{/* Replicas apart, and on nodes of the control plane where there are some: dict "root" $ "component" ... */}}
{{- define "gpu-scheduler.affinity" -}}
{{- if .root.Values.affinity }}
{{- toYaml .root.Values.affinity }}
{{- else -}}
nodeAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    preference:
      matchExpressions:
      - {key: node-role.kubernetes.io/control-plane, operator: Exists}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels: {{- include "gpu-scheduler.selectorLabels" . | nindent 10 }}
{{- end }}
{{- end }}

{{/* What every Deployment's pods say of where they run: dict "root" $ "component" ..., "nodeSelector" of its own, if any. */}}
{{- define "gpu-scheduler.placement" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . | toYaml }}
{{- end }}
affinity: {{- include "gpu-scheduler.affinity" . | nindent 2 }}
{{- with .nodeSelector | default .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- end }}

{{/* httpGet probes of a port: dict "live" path "ready" path "port" name; "liveness" and "readiness" of the user's, if any: what
they say counts, the rest is ours; but one that asks in another way than by httpGet has nothing of that. */}}
{{- define "gpu-scheduler.probes" -}}
{{- $live := dict "httpGet" (dict "path" .live "port" .port) "initialDelaySeconds" 10 "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 3 }}
{{- $ready := dict "httpGet" (dict "path" .ready "port" .port) "periodSeconds" 5 "timeoutSeconds" 5 }}
livenessProbe: {{- include "gpu-scheduler.probe" (dict "ours" $live "theirs" (.liveness | default dict)) | nindent 2 }}
readinessProbe: {{- include "gpu-scheduler.probe" (dict "ours" $ready "theirs" (.readiness | default dict)) | nindent 2 }}
{{- end }}
{{- define "gpu-scheduler.probe" -}}
{{- $otherwise := or (hasKey .theirs "tcpSocket") (hasKey .theirs "grpc") (hasKey .theirs "exec") }}
{{- toYaml (mergeOverwrite (ternary (omit .ours "httpGet") .ours $otherwise) (deepCopy .theirs)) }}
{{- end }}

{{/* The user's volumes of the scheduler's pod, as a list; one that is the webhook's too is there once. */}}
{{- define "gpu-scheduler.volumes" -}}
{{- $volumes := concat (.Values.extraVolumes | default list) (.Values.volumes | default list) }}
{{- if include "gpu-scheduler.webhook.isSidecar" . }}
{{- $volumes = concat $volumes (.Values.webhook.extraVolumes | default list) }}
{{- end }}
{{- toYaml ($volumes | uniq) }}
{{- end }}
