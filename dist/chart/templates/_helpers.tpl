{{- define "platform.bootstrap.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: bootstrap
{{- end }}

{{- define "platform.collector.image" -}}
{{- if .Values.collector.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.collector.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.collector.imageName" .) .Values.collector.image.tag }}
{{- else }}
{{- printf "%s:%s" (include "platform.collector.imageName" .) .Values.collector.image.tag }}
{{- end }}
{{- end }}

{{- define "platform.collector.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.collector.image.name) }}
{{- else }}
{{- .Values.collector.image.name }}
{{- end }}
{{- end }}

{{- define "platform.collector.pullSecret" -}}
{{- .Values.collector.image.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.collector.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: collector
{{- end }}

{{- define "platform.databaseHost" -}}
{{- if .Values.dbProxy.enabled }}
{{- "127.0.0.1" }}
{{- else if .Values.postgres.enabled }}
{{- printf "%s-postgres" .Release.Name }}
{{- else }}
{{- .Values.envVars.DB_HOST }}
{{- end }}
{{- end }}

{{- define "platform.databaseSslMode" -}}
{{- if or .Values.postgres.enabled .Values.dbProxy.enabled }}
{{- "disable" }}
{{- else }}
{{- .Values.envVars.DB_SSLMODE }}
{{- end }}
{{- end }}

{{- define "platform.dbProxy.image" -}}
{{- if .Values.dbProxy.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.dbProxy.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.dbProxy.imageName" .) .Values.dbProxy.image.tag }}
{{- else }}
{{- printf "%s:%s" (include "platform.dbProxy.imageName" .) .Values.dbProxy.image.tag }}
{{- end }}
{{- end }}

{{- define "platform.dbProxy.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.dbProxy.image.name) }}
{{- else }}
{{- .Values.dbProxy.image.name }}
{{- end }}
{{- end }}

{{- define "platform.dbProxy.pullSecret" -}}
{{- .Values.dbProxy.image.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.extra-env.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: extra-env
{{- end }}

{{- define "platform.labels" -}}
app.kubernetes.io/part-of: platform
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "platform.platform.image" -}}
{{- if .Values.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.platform.imageName" .) (.Values.image.tag | default .Chart.AppVersion) }}
{{- else }}
{{- printf "%s:%s" (include "platform.platform.imageName" .) (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- define "platform.platform.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.image.name) }}
{{- else }}
{{- .Values.image.name }}
{{- end }}
{{- end }}

{{- define "platform.platform.pullSecret" -}}
{{- .Values.image.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.postgres.image" -}}
{{- if .Values.postgres.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.postgres.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.postgres.imageName" .) .Values.postgres.image.tag }}
{{- else }}
{{- printf "%s:%s" (include "platform.postgres.imageName" .) .Values.postgres.image.tag }}
{{- end }}
{{- end }}

{{- define "platform.postgres.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.postgres.image.name) }}
{{- else }}
{{- .Values.postgres.image.name }}
{{- end }}
{{- end }}

{{- define "platform.postgres.pullSecret" -}}
{{- .Values.postgres.image.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.postgres.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: postgres
{{- end }}

{{- define "platform.secretName.COLLECTOR_JWT_SECRET" -}}
{{- if .Values.secrets.COLLECTOR_JWT_SECRET }}
{{- printf "%s-secrets-overrides" .Release.Name }}
{{- else }}
{{- .Values.secrets.existingSecret | default (printf "%s-secrets" .Release.Name) }}
{{- end }}
{{- end }}

{{- define "platform.secretName.COLLECTOR_JWT_SECRET_PREVIOUS" -}}
{{- if .Values.secrets.COLLECTOR_JWT_SECRET_PREVIOUS }}
{{- printf "%s-secrets-overrides" .Release.Name }}
{{- else }}
{{- .Values.secrets.existingSecret | default (printf "%s-secrets" .Release.Name) }}
{{- end }}
{{- end }}

{{- define "platform.secretName.DB_PASSWORD" -}}
{{- if .Values.secrets.DB_PASSWORD }}
{{- printf "%s-secrets-overrides" .Release.Name }}
{{- else }}
{{- .Values.secrets.existingSecret | default (printf "%s-secrets" .Release.Name) }}
{{- end }}
{{- end }}

{{- define "platform.secretName.PLATFORM_DEBUG_TOKEN" -}}
{{- if .Values.secrets.PLATFORM_DEBUG_TOKEN }}
{{- printf "%s-secrets-overrides" .Release.Name }}
{{- else }}
{{- .Values.secrets.existingSecret | default (printf "%s-secrets" .Release.Name) }}
{{- end }}
{{- end }}

{{- define "platform.secretName.SECRET_KEY_BASE" -}}
{{- if .Values.secrets.SECRET_KEY_BASE }}
{{- printf "%s-secrets-overrides" .Release.Name }}
{{- else }}
{{- .Values.secrets.existingSecret | default (printf "%s-secrets" .Release.Name) }}
{{- end }}
{{- end }}

{{- define "platform.secrets.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: secrets
{{- end }}

{{- define "platform.web.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: web
{{- end }}

{{- define "platform.worker.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: worker
{{- end }}
