{{- define "gpu-scheduler-check.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* At most 50, so that the names of pods, and the label with the StatefulSet's revision, have room. */}}
{{- define "gpu-scheduler-check.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "gpu-scheduler-check.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "gpu-scheduler-check.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "gpu-scheduler-check.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-scheduler-check.name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
{{- end }}

{{/* All but those by which pods are found: what a pod of another component has too. */}}
{{- define "gpu-scheduler-check.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: gpu-scheduler
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "gpu-scheduler-check.labels" -}}
{{ include "gpu-scheduler-check.selectorLabels" . }}
app: {{ include "gpu-scheduler-check.name" . | toYaml }}
{{ include "gpu-scheduler-check.commonLabels" . }}
{{- end }}

{{/* The annotation's lines, one of each row. */}}
{{- define "gpu-scheduler-check.map" -}}
{{- $seen := dict }}
{{- range .Values.gpuScheduling.schedulingMap }}
{{- $index := toString .podIndex }}
{{- if hasKey $seen $index }}
{{- fail (printf "gpuScheduling.schedulingMap has podIndex %s twice; give each pod one row" $index) }}
{{- end }}
{{- $_ := set $seen $index true }}
{{ $index }}={{ .nodeName }}:{{ .gpuDevices }}
{{- end }}
{{- end }}

{{/* What all pods say of where and how they run. */}}
{{- define "gpu-scheduler-check.pod" -}}
serviceAccountName: {{ include "gpu-scheduler-check.serviceAccount" . | toYaml }}
automountServiceAccountToken: false
schedulerName: {{ .Values.gpuScheduling.schedulerName | toYaml }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | toYaml }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- end }}

{{/* Their container, but for its name and command. */}}
{{- define "gpu-scheduler-check.container" -}}
image: {{ printf "%s:%s%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) (empty .Values.image.digest | ternary "" (printf "@%s" .Values.image.digest)) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext: {{- toYaml .Values.securityContext | nindent 2 }}
{{- end }}
