{{- define "platform.backup.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: backup
{{- end }}

{{- define "platform.bootstrap.content" -}}
{{- list "e36ee4a9" .Chart.AppVersion .Release.Name .Release.Namespace .Values.buildkit.enabled .Values.buildkit.tlsSecret .Values.collector.enabled .Values.commonLabels .Values.crews.fromSource .Values.dbProxy.autoIamAuthn .Values.dbProxy.enabled .Values.dbProxy.healthPort .Values.dbProxy.image.digest .Values.dbProxy.image.host .Values.dbProxy.image.name .Values.dbProxy.image.pullPolicy .Values.dbProxy.image.pullSecret .Values.dbProxy.image.tag .Values.dbProxy.instanceConnectionName .Values.dbProxy.privateIp .Values.dbProxy.resources .Values.envVars.DB_HOST .Values.envVars.DB_NAME .Values.envVars.DB_PORT .Values.envVars.DB_SSLMODE .Values.envVars.DB_USER .Values.envVars.LOG_LEVEL .Values.fullnameOverride .Values.global.caBundle.configMap .Values.global.caBundle.key .Values.global.caBundle.secret .Values.global.image.namePrefixOverride .Values.global.image.pullSecret .Values.global.image.registry .Values.global.openshift .Values.image.digest .Values.image.host .Values.image.name .Values.image.pullPolicy .Values.image.pullSecret .Values.image.tag .Values.internalRegistry.enabled .Values.internalRegistry.htpasswdSecret .Values.nameOverride .Values.oauth.enabled .Values.postgres.enabled .Values.postgres.image.pullSecret .Values.rbac.create .Values.secretKeyRefs.COLLECTOR_JWT_SECRET.name .Values.secretKeyRefs.DB_PASSWORD.key .Values.secretKeyRefs.DB_PASSWORD.name .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY.name .Values.secretKeyRefs.PLATFORM_DEBUG_TOKEN.name .Values.secretKeyRefs.PLATFORM_OAUTH_API_KEY.name .Values.secretKeyRefs.REGISTRY_KEY.name .Values.secretKeyRefs.SECRET_KEY_BASE.name .Values.secrets.COLLECTOR_JWT_SECRET .Values.secrets.COLLECTOR_JWT_SECRET_PREVIOUS .Values.secrets.DB_PASSWORD .Values.secrets.OAUTH_ENCRYPTION_KEY .Values.secrets.OAUTH_ENCRYPTION_KEY_PREVIOUS .Values.secrets.OIDC_CLIENT_SECRET .Values.secrets.PLATFORM_DEBUG_TOKEN .Values.secrets.PLATFORM_OAUTH_API_KEY .Values.secrets.REGISTRY_KEY .Values.secrets.SECRET_KEY_BASE .Values.secrets.SECRET_KEY_BASE_PREVIOUS .Values.secrets.existingSecret .Values.web.affinity .Values.web.dnsConfig .Values.web.dnsPolicy .Values.web.hostAliases .Values.web.nodeSelector .Values.web.priorityClassName .Values.web.runtimeClassName .Values.web.tolerations | toJson | sha256sum | trunc 8 }}
{{- end }}

{{- define "platform.bootstrap.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: bootstrap
{{- end }}

{{- define "platform.buildkit.image" -}}
{{- if .Values.buildkit.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.buildkit.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.buildkit.imageName" .) (include "platform.buildkit.imageVersion" .) }}
{{- else }}
{{- printf "%s:%s" (include "platform.buildkit.imageName" .) (include "platform.buildkit.imageVersion" .) }}
{{- end }}
{{- end }}

{{- define "platform.buildkit.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.buildkit.image.name) }}
{{- else }}
{{- .Values.buildkit.image.name }}
{{- end }}
{{- end }}

{{- define "platform.buildkit.imageVersion" -}}
{{- if .Values.buildkit.image.digest }}
{{- printf "%s@%s" .Values.buildkit.image.tag .Values.buildkit.image.digest }}
{{- else }}
{{- .Values.buildkit.image.tag }}
{{- end }}
{{- end }}

{{- define "platform.buildkit.pullSecret" -}}
{{- .Values.buildkit.image.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.buildkit.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: buildkit
{{- end }}

{{- define "platform.chartLabels" -}}
app.kubernetes.io/part-of: platform
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{- end }}

{{- define "platform.collector.image" -}}
{{- if .Values.collector.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.collector.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.collector.imageName" .) (include "platform.collector.imageVersion" .) }}
{{- else }}
{{- printf "%s:%s" (include "platform.collector.imageName" .) (include "platform.collector.imageVersion" .) }}
{{- end }}
{{- end }}

{{- define "platform.collector.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.collector.image.name) }}
{{- else }}
{{- .Values.collector.image.name }}
{{- end }}
{{- end }}

{{- define "platform.collector.imageVersion" -}}
{{- if .Values.collector.image.digest }}
{{- printf "%s@%s" .Values.collector.image.tag .Values.collector.image.digest }}
{{- else }}
{{- .Values.collector.image.tag }}
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

{{- define "platform.crewNamespace" -}}
{{- .Values.crews.namespace | default (printf "%s-crews" .Release.Namespace) }}
{{- end }}

{{- define "platform.crews.content" -}}
{{- list "d25b48c2" .Chart.AppVersion .Release.Name .Release.Namespace .Values.commonLabels .Values.crews.namespace .Values.crews.namespaceIsolation .Values.dbProxy.autoIamAuthn .Values.dbProxy.enabled .Values.dbProxy.healthPort .Values.dbProxy.image.digest .Values.dbProxy.image.host .Values.dbProxy.image.name .Values.dbProxy.image.pullPolicy .Values.dbProxy.image.pullSecret .Values.dbProxy.image.tag .Values.dbProxy.instanceConnectionName .Values.dbProxy.privateIp .Values.dbProxy.resources .Values.envFromSecrets .Values.envVars.DB_HOST .Values.envVars.DB_NAME .Values.envVars.DB_PORT .Values.envVars.DB_SSLMODE .Values.envVars.DB_USER .Values.envVars.LOG_LEVEL .Values.extraEnvVars .Values.fullnameOverride .Values.global.caBundle.configMap .Values.global.caBundle.key .Values.global.caBundle.secret .Values.global.image.namePrefixOverride .Values.global.image.pullSecret .Values.global.image.registry .Values.global.openshift .Values.global.proxy.http .Values.global.proxy.https .Values.global.proxy.noProxy .Values.image.digest .Values.image.host .Values.image.name .Values.image.pullPolicy .Values.image.pullSecret .Values.image.tag .Values.nameOverride .Values.networkPolicy.crewPrivateRanges .Values.networkPolicy.enabled .Values.networkPolicy.modelNamespace .Values.networkPolicy.toolNamespace .Values.outgoing.llmPrivateOrigins .Values.outgoing.toolPrivateOrigins .Values.postgres.enabled .Values.postgres.image.pullSecret .Values.secretKeyRefs.DB_PASSWORD.key .Values.secretKeyRefs.DB_PASSWORD.name .Values.secretKeyRefs.SECRET_KEY_BASE.key .Values.secretKeyRefs.SECRET_KEY_BASE.name .Values.secretKeyRefs.SECRET_KEY_BASE_PREVIOUS.key .Values.secretKeyRefs.SECRET_KEY_BASE_PREVIOUS.name .Values.secrets.DB_PASSWORD .Values.secrets.SECRET_KEY_BASE .Values.secrets.SECRET_KEY_BASE_PREVIOUS .Values.secrets.existingSecret .Values.web.affinity .Values.web.dnsConfig .Values.web.dnsPolicy .Values.web.hostAliases .Values.web.nodeSelector .Values.web.priorityClassName .Values.web.runtimeClassName .Values.web.tolerations | toJson | sha256sum | trunc 8 }}
{{- end }}

{{- define "platform.crews.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: crews
{{- end }}

{{- define "platform.databaseHost" -}}
{{- if .Values.dbProxy.enabled }}
{{- "127.0.0.1" }}
{{- else if .Values.postgres.enabled }}
{{- printf "%s-postgres" (include "platform.fullname" .) }}
{{- else }}
{{- .Values.envVars.DB_HOST }}
{{- end }}
{{- end }}

{{- define "platform.databasePullSecret" -}}
{{- if .Values.dbProxy.enabled }}
{{- include "platform.dbProxy.pullSecret" . }}
{{- else if .Values.postgres.enabled }}
{{- include "platform.postgres.pullSecret" . }}
{{- else }}
{{- "" }}
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
{{- printf "%s/%s:%s" (.Values.dbProxy.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.dbProxy.imageName" .) (include "platform.dbProxy.imageVersion" .) }}
{{- else }}
{{- printf "%s:%s" (include "platform.dbProxy.imageName" .) (include "platform.dbProxy.imageVersion" .) }}
{{- end }}
{{- end }}

{{- define "platform.dbProxy.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.dbProxy.image.name) }}
{{- else }}
{{- .Values.dbProxy.image.name }}
{{- end }}
{{- end }}

{{- define "platform.dbProxy.imageVersion" -}}
{{- if .Values.dbProxy.image.digest }}
{{- printf "%s@%s" .Values.dbProxy.image.tag .Values.dbProxy.image.digest }}
{{- else }}
{{- .Values.dbProxy.image.tag }}
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

{{- define "platform.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride }}
{{- else if regexMatch "^.{41}" (include "platform.releaseName" .) }}
{{- printf "%s-%s" (include "platform.releaseName" . | trunc 31 | trimSuffix "-") (include "platform.releaseName" . | sha256sum | trunc 8) }}
{{- else }}
{{- include "platform.releaseName" . }}
{{- end }}
{{- end }}

{{- define "platform.internal-registry.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: internal-registry
{{- end }}

{{- define "platform.internalRegistry.image" -}}
{{- if .Values.internalRegistry.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.internalRegistry.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.internalRegistry.imageName" .) (include "platform.internalRegistry.imageVersion" .) }}
{{- else }}
{{- printf "%s:%s" (include "platform.internalRegistry.imageName" .) (include "platform.internalRegistry.imageVersion" .) }}
{{- end }}
{{- end }}

{{- define "platform.internalRegistry.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.internalRegistry.image.name) }}
{{- else }}
{{- .Values.internalRegistry.image.name }}
{{- end }}
{{- end }}

{{- define "platform.internalRegistry.imageVersion" -}}
{{- if .Values.internalRegistry.image.digest }}
{{- printf "%s@%s" .Values.internalRegistry.image.tag .Values.internalRegistry.image.digest }}
{{- else }}
{{- .Values.internalRegistry.image.tag }}
{{- end }}
{{- end }}

{{- define "platform.internalRegistry.pullSecret" -}}
{{- .Values.internalRegistry.image.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.labels" -}}
app.kubernetes.io/part-of: platform
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{- range $key, $value := .Values.commonLabels }}
{{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "platform.network.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: network
{{- end }}

{{- define "platform.noProxy" -}}
{{- printf "localhost,127.0.0.1,::1,$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local,%s-web,%s-web.%s,%s-worker,%s-worker.%s,%s-oauth,%s-oauth.%s,%s-collector,%s-collector.%s,%s-internal-registry,%s-internal-registry.%s,%s-buildkit,%s-buildkit.%s%s" (include "platform.fullname" .) (include "platform.fullname" .) .Release.Namespace (include "platform.fullname" .) (include "platform.fullname" .) .Release.Namespace (include "platform.fullname" .) (include "platform.fullname" .) .Release.Namespace (include "platform.fullname" .) (include "platform.fullname" .) .Release.Namespace (include "platform.fullname" .) (include "platform.fullname" .) .Release.Namespace (include "platform.fullname" .) (include "platform.fullname" .) .Release.Namespace (ternary (printf ",%s" .Values.global.proxy.noProxy) "" (not (empty .Values.global.proxy.noProxy))) }}
{{- end }}

{{- define "platform.oauth.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: oauth
{{- end }}

{{- define "platform.platform.image" -}}
{{- if .Values.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.platform.imageName" .) (include "platform.platform.imageVersion" .) }}
{{- else }}
{{- printf "%s:%s" (include "platform.platform.imageName" .) (include "platform.platform.imageVersion" .) }}
{{- end }}
{{- end }}

{{- define "platform.platform.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.image.name) }}
{{- else }}
{{- .Values.image.name }}
{{- end }}
{{- end }}

{{- define "platform.platform.imageVersion" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" (.Values.image.tag | default .Chart.AppVersion) .Values.image.digest }}
{{- else }}
{{- .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "platform.platform.pullSecret" -}}
{{- .Values.image.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.postgres.image" -}}
{{- if .Values.postgres.image.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.postgres.image.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.postgres.imageName" .) (include "platform.postgres.imageVersion" .) }}
{{- else }}
{{- printf "%s:%s" (include "platform.postgres.imageName" .) (include "platform.postgres.imageVersion" .) }}
{{- end }}
{{- end }}

{{- define "platform.postgres.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.postgres.image.name) }}
{{- else }}
{{- .Values.postgres.image.name }}
{{- end }}
{{- end }}

{{- define "platform.postgres.imageVersion" -}}
{{- if .Values.postgres.image.digest }}
{{- printf "%s@%s" .Values.postgres.image.tag .Values.postgres.image.digest }}
{{- else }}
{{- .Values.postgres.image.tag }}
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

{{- define "platform.python.image" -}}
{{- if .Values.crews.pythonImage.host | default .Values.global.image.registry }}
{{- printf "%s/%s:%s" (.Values.crews.pythonImage.host | default .Values.global.image.registry | trimSuffix "/") (include "platform.python.imageName" .) (include "platform.python.imageVersion" .) }}
{{- else }}
{{- printf "%s:%s" (include "platform.python.imageName" .) (include "platform.python.imageVersion" .) }}
{{- end }}
{{- end }}

{{- define "platform.python.imageName" -}}
{{- if .Values.global.image.namePrefixOverride }}
{{- printf "%s/%s" .Values.global.image.namePrefixOverride (base .Values.crews.pythonImage.name) }}
{{- else }}
{{- .Values.crews.pythonImage.name }}
{{- end }}
{{- end }}

{{- define "platform.python.imageVersion" -}}
{{- if .Values.crews.pythonImage.digest }}
{{- printf "%s@%s" .Values.crews.pythonImage.tag .Values.crews.pythonImage.digest }}
{{- else }}
{{- .Values.crews.pythonImage.tag }}
{{- end }}
{{- end }}

{{- define "platform.python.pullSecret" -}}
{{- .Values.crews.pythonImage.pullSecret | default .Values.global.image.pullSecret }}
{{- end }}

{{- define "platform.releaseLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "platform.releaseName" -}}
{{- if .Values.nameOverride }}
{{- printf "%s-%s" .Release.Name .Values.nameOverride }}
{{- else }}
{{- .Release.Name }}
{{- end }}
{{- end }}

{{- define "platform.secretName.COLLECTOR_JWT_SECRET" -}}
{{- .Values.secretKeyRefs.COLLECTOR_JWT_SECRET.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.COLLECTOR_JWT_SECRET))) }}
{{- end }}

{{- define "platform.secretName.COLLECTOR_JWT_SECRET_PREVIOUS" -}}
{{- .Values.secretKeyRefs.COLLECTOR_JWT_SECRET_PREVIOUS.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.COLLECTOR_JWT_SECRET_PREVIOUS))) }}
{{- end }}

{{- define "platform.secretName.DB_PASSWORD" -}}
{{- .Values.secretKeyRefs.DB_PASSWORD.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.DB_PASSWORD))) }}
{{- end }}

{{- define "platform.secretName.OAUTH_ENCRYPTION_KEY" -}}
{{- .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.OAUTH_ENCRYPTION_KEY))) }}
{{- end }}

{{- define "platform.secretName.OAUTH_ENCRYPTION_KEY_PREVIOUS" -}}
{{- .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY_PREVIOUS.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.OAUTH_ENCRYPTION_KEY_PREVIOUS))) }}
{{- end }}

{{- define "platform.secretName.OIDC_CLIENT_SECRET" -}}
{{- .Values.secretKeyRefs.OIDC_CLIENT_SECRET.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.OIDC_CLIENT_SECRET))) }}
{{- end }}

{{- define "platform.secretName.PLATFORM_DEBUG_TOKEN" -}}
{{- .Values.secretKeyRefs.PLATFORM_DEBUG_TOKEN.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.PLATFORM_DEBUG_TOKEN))) }}
{{- end }}

{{- define "platform.secretName.PLATFORM_OAUTH_API_KEY" -}}
{{- .Values.secretKeyRefs.PLATFORM_OAUTH_API_KEY.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.PLATFORM_OAUTH_API_KEY))) }}
{{- end }}

{{- define "platform.secretName.REGISTRY_KEY" -}}
{{- .Values.secretKeyRefs.REGISTRY_KEY.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.REGISTRY_KEY))) }}
{{- end }}

{{- define "platform.secretName.SECRET_KEY_BASE" -}}
{{- .Values.secretKeyRefs.SECRET_KEY_BASE.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.SECRET_KEY_BASE))) }}
{{- end }}

{{- define "platform.secretName.SECRET_KEY_BASE_PREVIOUS" -}}
{{- .Values.secretKeyRefs.SECRET_KEY_BASE_PREVIOUS.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .)) (.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .))) (not (empty .Values.secrets.SECRET_KEY_BASE_PREVIOUS))) }}
{{- end }}

{{- define "platform.secrets.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: secrets
{{- end }}

{{- define "platform.setup.content" -}}
{{- list "d1da9adc" .Chart.AppVersion .Release.Name .Values.commonLabels .Values.dbProxy.autoIamAuthn .Values.dbProxy.enabled .Values.dbProxy.healthPort .Values.dbProxy.image.digest .Values.dbProxy.image.host .Values.dbProxy.image.name .Values.dbProxy.image.pullPolicy .Values.dbProxy.image.pullSecret .Values.dbProxy.image.tag .Values.dbProxy.instanceConnectionName .Values.dbProxy.privateIp .Values.dbProxy.resources .Values.envVars.DB_HOST .Values.envVars.DB_NAME .Values.envVars.DB_PORT .Values.envVars.DB_SSLMODE .Values.envVars.DB_USER .Values.envVars.LOG_LEVEL .Values.fullnameOverride .Values.global.caBundle.configMap .Values.global.caBundle.key .Values.global.caBundle.secret .Values.global.image.namePrefixOverride .Values.global.image.pullSecret .Values.global.image.registry .Values.global.openshift .Values.image.digest .Values.image.host .Values.image.name .Values.image.pullPolicy .Values.image.pullSecret .Values.image.tag .Values.nameOverride .Values.postgres.enabled .Values.postgres.image.pullSecret .Values.secretKeyRefs.DB_PASSWORD.key .Values.secretKeyRefs.DB_PASSWORD.name .Values.secrets.DB_PASSWORD .Values.secrets.existingSecret .Values.web.affinity .Values.web.dnsConfig .Values.web.dnsPolicy .Values.web.hostAliases .Values.web.nodeSelector .Values.web.priorityClassName .Values.web.runtimeClassName .Values.web.tolerations | toJson | sha256sum | trunc 8 }}
{{- end }}

{{- define "platform.setup.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: setup
{{- end }}

{{- define "platform.test.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: test
{{- end }}

{{- define "platform.version" -}}
{{- .Values.image.tag | default (.Values.image.digest | default .Chart.AppVersion) }}
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
