{{/*
The configuration of BuildKit.
*/}}
{{- define "platform.buildkitConfig" -}}
[frontend."gateway.v0"]
  enabled = false
[worker.oci]
  gc = true
  maxUsedSpace = "{{ .Values.buildkit.cacheGigabytes }}GB"
[registry."{{ include "platform.fullname" . }}-internal-registry:{{ .Values.internalRegistry.port }}"]
  http = true
{{ .Values.buildkit.config }}
{{- end }}

{{/*
The labels of all objects, where others win over those of commonLabels.
*/}}
{{- define "platform.chartLabels" -}}
app.kubernetes.io/part-of: platform
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{- end }}

{{/*
The namespace of the crews: crews.namespace, or one beside that of the release.
*/}}
{{- define "platform.crewNamespace" -}}
{{- .Values.crews.namespace | default (printf "%s-crews" .Release.Namespace) -}}
{{- end }}

{{/*
The host of the main database: the proxy beside it, the own one, or an external
one.
*/}}
{{- define "platform.databaseHost" -}}
{{- if .Values.dbProxy.enabled -}}
127.0.0.1
{{- else if .Values.postgres.enabled -}}
{{ include "platform.fullname" . }}-postgres
{{- else -}}
{{- .Values.envVars.DB_HOST -}}
{{- end -}}
{{- end }}

{{/*
The pull secret of what stands between a pod and its database, or nothing.
*/}}
{{- define "platform.databasePullSecret" -}}
{{- if .Values.dbProxy.enabled -}}
{{- include "platform.pullSecret" (dict "image" .Values.dbProxy.image "context" .) -}}
{{- else if .Values.postgres.enabled -}}
{{- include "platform.pullSecret" (dict "image" .Values.postgres.image "context" .) -}}
{{- end -}}
{{- end }}

{{/*
No TLS inside of the pod or to the own PostgreSQL; to others as the values say.
*/}}
{{- define "platform.databaseSslMode" -}}
{{- if or .Values.postgres.enabled .Values.dbProxy.enabled -}}
disable
{{- else -}}
{{- .Values.envVars.DB_SSLMODE -}}
{{- end -}}
{{- end }}

{{/*
The beginning of the names of all objects: fullnameOverride, or the name of the
release. Names have up to 63 characters: a release of more than 40 is shortened,
so that a component and the digest of a Job fit behind it.
*/}}
{{- define "platform.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if regexMatch "^.{41}" (include "platform.releaseName" .) -}}
{{ include "platform.releaseName" . | trunc 31 | trimSuffix "-" }}-{{ include "platform.releaseName" . | sha256sum | trunc 8 }}
{{- else -}}
{{- include "platform.releaseName" . -}}
{{- end -}}
{{- end }}

{{/*
The reference of an image, on its own host, the global registry, or that of the
node.
*/}}
{{- define "platform.image" -}}
{{- if .image.host | default .context.Values.global.image.registry -}}
{{ .image.host | default .context.Values.global.image.registry | trimSuffix "/" }}/{{ include "platform.imagePath" (dict "image" .image "context" .context) }}:{{ include "platform.imageVersion" (dict "image" .image "context" .context) }}
{{- else -}}
{{ include "platform.imagePath" (dict "image" .image "context" .context) }}:{{ include "platform.imageVersion" (dict "image" .image "context" .context) }}
{{- end -}}
{{- end }}

{{/*
The path of an image: its own, or the global prefix before its last component.
*/}}
{{- define "platform.imagePath" -}}
{{- if .context.Values.global.image.namePrefixOverride -}}
{{ .context.Values.global.image.namePrefixOverride }}/{{ base .image.name }}
{{- else -}}
{{- .image.name -}}
{{- end -}}
{{- end }}

{{/*
The tag of an image, with its digest where it has one. Only the image of the
platform may be without a tag, which then is its version.
*/}}
{{- define "platform.imageVersion" -}}
{{- if .image.digest -}}
{{ .image.tag | default .context.Chart.AppVersion }}@{{ .image.digest }}
{{- else -}}
{{- .image.tag | default .context.Chart.AppVersion -}}
{{- end -}}
{{- end }}

{{/*
The labels of all objects, with those of commonLabels.
*/}}
{{- define "platform.labels" -}}
app.kubernetes.io/part-of: platform
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
{{- range $key, $value := .Values.commonLabels }}
{{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/*
What is called without the proxy: the pod itself, the API of Kubernetes, the
Services of the platform by both of their names, and what global.proxy.noProxy
lists.
*/}}
{{- define "platform.noProxy" -}}
localhost,127.0.0.1,::1,$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local,{{ include "platform.fullname" . }}-web,{{ include "platform.fullname" . }}-web.{{ .Release.Namespace }},{{ include "platform.fullname" . }}-worker,{{ include "platform.fullname" . }}-worker.{{ .Release.Namespace }},{{ include "platform.fullname" . }}-oauth,{{ include "platform.fullname" . }}-oauth.{{ .Release.Namespace }},{{ include "platform.fullname" . }}-collector,{{ include "platform.fullname" . }}-collector.{{ .Release.Namespace }},{{ include "platform.fullname" . }}-internal-registry,{{ include "platform.fullname" . }}-internal-registry.{{ .Release.Namespace }},{{ include "platform.fullname" . }}-buildkit,{{ include "platform.fullname" . }}-buildkit.{{ .Release.Namespace }}{{ ternary (printf ",%s" .Values.global.proxy.noProxy) "" (not (empty .Values.global.proxy.noProxy)) }}
{{- end }}

{{/*
The pull secret of an image, or the global one.
*/}}
{{- define "platform.pullSecret" -}}
{{- .image.pullSecret | default .context.Values.global.image.pullSecret -}}
{{- end }}

{{/*
The configuration of the registry.
*/}}
{{- define "platform.registryConfig" -}}
version: 0.1
log:
  level: info
  formatter: json
  accesslog:
    disabled: true
http:
  addr: {{ ternary "127.0.0.1:5010" (printf ":%v" .Values.internalRegistry.port) (not (empty (and .Values.internalRegistry.enabled .Values.crews.fromSource (not .Values.internalRegistry.htpasswdSecret)))) }}
  relativeurls: true
  headers:
    X-Content-Type-Options: [nosniff]
storage:
  filesystem:
    rootdirectory: /var/lib/registry
  delete:
    enabled: true
health:
  storagedriver:
    enabled: true
{{- end }}

{{/*
The name of the release, with the part that nameOverride adds.
*/}}
{{- define "platform.releaseName" -}}
{{- if .Values.nameOverride -}}
{{ .Release.Name }}-{{ .Values.nameOverride }}
{{- else -}}
{{- .Release.Name -}}
{{- end -}}
{{- end }}

{{/*
The Secret that holds a key: the one that secretKeyRefs names, or the one of the
values in secrets, or else secrets.existingSecret or the generated one.
*/}}
{{- define "platform.secretName" -}}
{{- .reference.name | default (ternary (printf "%s-secrets-overrides" (include "platform.fullname" .context)) (.context.Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .context))) (not (empty .value))) -}}
{{- end }}

{{/*
The labels of all pods of a release. Selectors cannot be changed after the
install, so neither can these.
*/}}
{{- define "platform.selectorLabels" -}}
app.kubernetes.io/name: platform
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/*
The proxies before web: as the values say, or one where the chart makes a route.
*/}}
{{- define "platform.trustedProxies" -}}
{{- if eq (toString .Values.web.trustedProxies) "" -}}
{{- if or .Values.ingress.enabled .Values.httpRoute.enabled -}}
1
{{- else -}}
0
{{- end -}}
{{- else -}}
{{- toString .Values.web.trustedProxies -}}
{{- end -}}
{{- end }}

{{/*
The version that is deployed: the tag, or a digest without one.
*/}}
{{- define "platform.version" -}}
{{- .Values.image.tag | default (.Values.image.digest | default .Chart.AppVersion) -}}
{{- end }}
