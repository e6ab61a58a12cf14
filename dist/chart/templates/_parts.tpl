{{/*
The entries of a map of texts, where toYaml would lose line breaks at their
ends.
*/}}
{{- define "map.entries" -}}
{{- range $key, $value := . }}
{{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/*
The bounds and targets of an autoscaler.
*/}}
{{- define "platform.autoscaling" -}}
{{- with .autoscaling.behavior }}
behavior:
  {{- toYaml . | nindent 2 }}
{{- end }}
maxReplicas: {{ .autoscaling.maxReplicas }}
{{- if or (gt (int64 .autoscaling.targetCPUUtilizationPercentage) 0) (gt (int64 .autoscaling.targetMemoryUtilizationPercentage) 0) }}
metrics:
  {{- if gt (int64 .autoscaling.targetCPUUtilizationPercentage) 0 }}
  - type: Resource
    resource:
      name: cpu
      target:
        type: Utilization
        averageUtilization: {{ .autoscaling.targetCPUUtilizationPercentage }}
  {{- end }}
  {{- if gt (int64 .autoscaling.targetMemoryUtilizationPercentage) 0 }}
  - type: Resource
    resource:
      name: memory
      target:
        type: Utilization
        averageUtilization: {{ .autoscaling.targetMemoryUtilizationPercentage }}
  {{- end }}
{{- end }}
minReplicas: {{ .autoscaling.minReplicas }}
{{- end }}

{{/*
The pod of the Job bootstrap. A Job cannot be changed: its name has the digest
of this.
*/}}
{{- define "platform.bootstrap.pod" -}}
metadata:
  labels:
    app.kubernetes.io/component: bootstrap
    {{- include "platform.selectorLabels" . | nindent 4 }}
    {{- include "map.entries" .Values.commonLabels | nindent 4 }}
  annotations:
    checksum/secrets: {{ list .Values.secrets.existingSecret .Values.secrets.revision .Values.secrets.PLATFORM_DEBUG_TOKEN .Values.secrets.SECRET_KEY_BASE .Values.secrets.SECRET_KEY_BASE_PREVIOUS .Values.secrets.PLATFORM_OAUTH_API_KEY .Values.secrets.OAUTH_ENCRYPTION_KEY .Values.secrets.OAUTH_ENCRYPTION_KEY_PREVIOUS .Values.secrets.OIDC_CLIENT_SECRET .Values.secrets.COLLECTOR_JWT_SECRET .Values.secrets.COLLECTOR_JWT_SECRET_PREVIOUS .Values.secrets.REGISTRY_KEY .Values.secrets.DB_PASSWORD | toJson | sha256sum | quote }}
spec:
  serviceAccountName: {{ include "platform.fullname" . }}-bootstrap
  automountServiceAccountToken: true
  # Kubernetes would add a handful of variables for each Service of the namespace.
  enableServiceLinks: false
  {{- with list (include "platform.pullSecret" (dict "image" .Values.image "context" .)) (include "platform.databasePullSecret" .) | uniq | compact }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- include "platform.scheduling" (dict "pods" .Values.web "context" .) | nindent 2 }}
  restartPolicy: OnFailure
  securityContext:
    {{- include "platform.podSecurityContext" (dict "user" 1000 "context" .) | nindent 4 }}
  {{- if .Values.dbProxy.enabled }}
  initContainers:
    {{- include "platform.dbProxy" . | nindent 4 }}
  {{- end }}
  containers:
    - name: bootstrap
      image: {{ include "platform.image" (dict "image" .Values.image "context" .) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
      command:
        - node
        - build/tasks/main.js
        - {{ ternary "secrets:follow" "secrets:bootstrap" (not (empty .Values.secrets.existingSecret)) | quote }}
      env:
        - name: LOG_LEVEL
          value: {{ .Values.envVars.LOG_LEVEL | quote }}
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              apiVersion: v1
              fieldPath: metadata.namespace
        - name: PLATFORM_SECRET
          value: {{ .Values.secrets.existingSecret | default (printf "%s-secrets" (include "platform.fullname" .)) | quote }}
        - name: PLATFORM_SECRET_KEPT
          value: {{ include "platform.fullname" . }}-keys
        {{- if or .Values.secrets.PLATFORM_DEBUG_TOKEN .Values.secrets.SECRET_KEY_BASE .Values.secrets.SECRET_KEY_BASE_PREVIOUS .Values.secrets.PLATFORM_OAUTH_API_KEY .Values.secrets.OAUTH_ENCRYPTION_KEY .Values.secrets.OAUTH_ENCRYPTION_KEY_PREVIOUS .Values.secrets.OIDC_CLIENT_SECRET .Values.secrets.COLLECTOR_JWT_SECRET .Values.secrets.COLLECTOR_JWT_SECRET_PREVIOUS .Values.secrets.REGISTRY_KEY .Values.secrets.DB_PASSWORD }}
        - name: PLATFORM_SECRET_OVERRIDES
          value: {{ include "platform.fullname" . }}-secrets-overrides
        {{- end }}
        - name: PLATFORM_SECRET_KEYS
          value: {{ list (ternary "PLATFORM_DEBUG_TOKEN" "" (not .Values.secretKeyRefs.PLATFORM_DEBUG_TOKEN.name)) (ternary "SECRET_KEY_BASE" "" (not .Values.secretKeyRefs.SECRET_KEY_BASE.name)) (ternary "PLATFORM_OAUTH_API_KEY" "" (not (empty (and .Values.oauth.enabled (not .Values.secretKeyRefs.PLATFORM_OAUTH_API_KEY.name))))) (ternary "OAUTH_ENCRYPTION_KEY" "" (not (empty (and .Values.oauth.enabled (not .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY.name))))) (ternary "COLLECTOR_JWT_SECRET" "" (not (empty (and .Values.collector.enabled (not .Values.secretKeyRefs.COLLECTOR_JWT_SECRET.name))))) (ternary "REGISTRY_KEY" "" (not (empty (and (and .Values.internalRegistry.enabled .Values.crews.fromSource (not .Values.internalRegistry.htpasswdSecret)) (not .Values.secretKeyRefs.REGISTRY_KEY.name))))) (ternary "DB_PASSWORD" "" (not (empty (and (not .Values.dbProxy.autoIamAuthn) (not .Values.secretKeyRefs.DB_PASSWORD.name))))) | compact | join "," | quote }}
        - name: RESTART_DEPLOYMENTS
          value: {{ list (printf "%s-web" (include "platform.fullname" .)) (printf "%s-worker" (include "platform.fullname" .)) (ternary (printf "%s-oauth" (include "platform.fullname" .)) "" .Values.oauth.enabled) (ternary (printf "%s-collector" (include "platform.fullname" .)) "" .Values.collector.enabled) (ternary (printf "%s-internal-registry" (include "platform.fullname" .)) "" (not (empty (and .Values.internalRegistry.enabled .Values.crews.fromSource (not .Values.internalRegistry.htpasswdSecret))))) | compact | join "," | quote }}
        {{- include "platform.databaseEnv" . | nindent 8 }}
        {{- if .Values.secretKeyRefs.DB_PASSWORD.name }}
        - name: DB_PASSWORD
          valueFrom:
            secretKeyRef:
              name: {{ include "platform.secretName" (dict "reference" .Values.secretKeyRefs.DB_PASSWORD "value" .Values.secrets.DB_PASSWORD "context" .) | quote }}
              key: {{ .Values.secretKeyRefs.DB_PASSWORD.key | quote }}
        {{- end }}
        {{- if and .Values.buildkit.enabled .Values.crews.fromSource .Values.rbac.create (not .Values.buildkit.tlsSecret) }}
        - name: BUILD_TLS_SECRET
          value: {{ include "platform.fullname" . }}-build-tls
        - name: BUILD_TLS_HOST
          value: {{ include "platform.fullname" . }}-buildkit.{{ .Release.Namespace }}
        {{- end }}
        {{- if .Values.postgres.enabled }}
        - name: RESTART_POSTGRES
          value: {{ include "platform.fullname" . }}-postgres
        {{- end }}
        {{- include "platform.nodeEnv" . | nindent 8 }}
      resources:
        {{- include "platform.initResources" . | nindent 8 }}
      {{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap }}
      volumeMounts:
        {{- include "platform.caMount" . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "platform.securityContext" (dict "user" 1000 "context" .) | nindent 8 }}
  {{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap }}
  volumes:
    {{- include "platform.caVolume" . | nindent 4 }}
  {{- end }}
  {{- include "platform.hostNames" (dict "hosts" .Values.web "context" .) | nindent 2 }}
{{- end }}

{{/*
Where containers have global.caBundle.
*/}}
{{- define "platform.caMount" -}}
{{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap }}
- name: ca-bundle
  mountPath: /etc/platform/ca
  readOnly: true
{{- end }}
{{- end }}

{{/*
The certificate authorities of global.caBundle.
*/}}
{{- define "platform.caVolume" -}}
{{- with .Values.global.caBundle.secret }}
- name: ca-bundle
  secret:
    items:
      - path: ca.crt
        key: {{ $.Values.global.caBundle.key | quote }}
    secretName: {{ . | quote }}
{{- end }}
{{- with .Values.global.caBundle.configMap }}
- name: ca-bundle
  configMap:
    name: {{ . | quote }}
    items:
      - path: ca.crt
        key: {{ $.Values.global.caBundle.key | quote }}
{{- end }}
{{- end }}

{{/*
The pod of the Job configuration. A Job cannot be changed: its name has the
digest of this.
*/}}
{{- define "platform.configuration.pod" -}}
metadata:
  labels:
    app.kubernetes.io/component: configuration
    {{- include "platform.selectorLabels" . | nindent 4 }}
    {{- include "map.entries" .Values.commonLabels | nindent 4 }}
  annotations:
    checksum/configuration: {{ list .Values.configuration.resources | toJson | sha256sum | quote }}
spec:
  serviceAccountName: {{ include "platform.fullname" . }}-configuration
  automountServiceAccountToken: false
  # Kubernetes would add a handful of variables for each Service of the namespace.
  enableServiceLinks: false
  {{- with list (include "platform.pullSecret" (dict "image" .Values.image "context" .)) (include "platform.databasePullSecret" .) | uniq | compact }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- include "platform.scheduling" (dict "pods" .Values.web "context" .) | nindent 2 }}
  restartPolicy: OnFailure
  securityContext:
    {{- include "platform.podSecurityContext" (dict "user" 1000 "context" .) | nindent 4 }}
  {{- if .Values.dbProxy.enabled }}
  initContainers:
    {{- include "platform.dbProxy" . | nindent 4 }}
  {{- end }}
  containers:
    - name: configuration
      image: {{ include "platform.image" (dict "image" .Values.image "context" .) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
      command:
        - node
        - build/tasks/main.js
      args:
        - configure
        {{- if .Values.configuration.resources }}
        - /etc/platform/configuration/values
        {{- end }}
        {{- if .Values.configuration.existingConfigMap }}
        - /etc/platform/configuration/own
        {{- end }}
        {{- if .Values.configuration.prune }}
        - --prune
        {{- end }}
      {{- with .Values.configuration.secrets }}
      envFrom:
        {{- range . }}
        - prefix: CONFIGURATION_SECRET_
          secretRef:
            name: {{ .name | quote }}
        {{- end }}
      {{- end }}
      env:
        {{- include "platform.databaseEnv" . | nindent 8 }}
        {{- include "platform.databasePassword" . | nindent 8 }}
        - name: LOG_LEVEL
          value: {{ .Values.envVars.LOG_LEVEL | quote }}
        {{- if .Values.upgrade.requireProof }}
        - name: UPGRADE_PROOF_KEY
          value: {{ .Values.upgrade.proofKey | quote }}
        - name: UPGRADE_PROOF_DAYS
          value: {{ .Values.upgrade.proofDays | quote }}
        {{- end }}
        - name: PLATFORM_URL
          value: http://{{ include "platform.fullname" . }}-web:{{ .Values.web.servicePort }}
        - name: PLATFORM_VERSION
          value: {{ include "platform.version" . | quote }}
        {{- include "platform.nodeEnv" . | nindent 8 }}
      resources:
        {{- include "platform.initResources" . | nindent 8 }}
      {{- if or (or .Values.global.caBundle.secret .Values.global.caBundle.configMap) .Values.configuration.resources .Values.configuration.existingConfigMap }}
      volumeMounts:
        {{- include "platform.caMount" . | nindent 8 }}
        {{- if .Values.configuration.resources }}
        - name: values
          mountPath: /etc/platform/configuration/values
          readOnly: true
        {{- end }}
        {{- if .Values.configuration.existingConfigMap }}
        - name: own
          mountPath: /etc/platform/configuration/own
          readOnly: true
        {{- end }}
      {{- end }}
      securityContext:
        {{- include "platform.securityContext" (dict "user" 1000 "context" .) | nindent 8 }}
  {{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap .Values.configuration.resources .Values.configuration.existingConfigMap }}
  volumes:
    {{- include "platform.caVolume" . | nindent 4 }}
    {{- if .Values.configuration.resources }}
    - name: values
      configMap:
        name: {{ include "platform.fullname" . }}-configuration
    {{- end }}
    {{- with .Values.configuration.existingConfigMap }}
    - name: own
      configMap:
        name: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- include "platform.hostNames" (dict "hosts" .Values.web "context" .) | nindent 2 }}
{{- end }}

{{/*
Installs a crew, and follows it until it is online.
*/}}
{{- define "platform.crewInstaller" -}}
- name: {{ .name | quote }}
  image: {{ include "platform.image" (dict "image" .context.Values.image "context" .context) | quote }}
  imagePullPolicy: {{ .context.Values.image.pullPolicy | quote }}
  command:
    - node
    - build/tasks/main.js
    - {{ .task | quote }}
  {{- if or .context.Values.extraEnvVars .context.Values.envFromSecrets }}
  envFrom:
    {{- include "platform.extraEnvFrom" .context | nindent 4 }}
  {{- end }}
  env:
    {{- include "platform.databaseEnv" .context | nindent 4 }}
    {{- include "platform.databasePassword" .context | nindent 4 }}
    {{- if .context.Values.upgrade.requireProof }}
    - name: UPGRADE_PROOF_KEY
      value: {{ .context.Values.upgrade.proofKey | quote }}
    - name: UPGRADE_PROOF_DAYS
      value: {{ .context.Values.upgrade.proofDays | quote }}
    {{- end }}
    - name: LOG_LEVEL
      value: {{ .context.Values.envVars.LOG_LEVEL | quote }}
    {{- include "platform.proxyEnv" .context | nindent 4 }}
    {{- include "platform.secretKeyBase" .context | nindent 4 }}
    - name: K8S_NAMESPACE
      value: {{ include "platform.crewNamespace" .context | quote }}
    - name: POD_NAMESPACE
      valueFrom:
        fieldRef:
          apiVersion: v1
          fieldPath: metadata.namespace
    - name: RELEASE_NAME
      value: {{ .context.Release.Name | quote }}
    - name: CREW_NAMESPACE_ISOLATION
      value: {{ ternary "true" "false" .context.Values.crews.namespaceIsolation | quote }}
    - name: CREW_NETWORK_POLICY
      value: {{ ternary "true" "false" .context.Values.networkPolicy.enabled | quote }}
    {{- with .context.Values.networkPolicy.modelNamespace }}
    - name: CREW_MODEL_NAMESPACE
      value: {{ . | quote }}
    {{- end }}
    {{- with .context.Values.networkPolicy.toolNamespace }}
    - name: CREW_TOOL_NAMESPACE
      value: {{ . | quote }}
    {{- end }}
    - name: CREW_PRIVATE_RANGES
      value: {{ ternary "true" "false" .context.Values.networkPolicy.crewPrivateRanges | quote }}
    - name: CREW_IMAGE
      value: {{ include "platform.image" (dict "image" .context.Values.image "context" .context) | quote }}
    - name: CREW_ARBITRARY_USER
      value: {{ ternary "true" "false" .context.Values.global.openshift | quote }}
    {{- if or .context.Values.global.caBundle.secret .context.Values.global.caBundle.configMap }}
    - name: CREW_CA_FILE
      value: /etc/platform/ca/ca.crt
    {{- end }}
    {{- with .context.Values.outgoing.llmPrivateOrigins }}
    - name: LLM_PRIVATE_ORIGINS
      value: {{ . | quote }}
    {{- end }}
    {{- with .context.Values.outgoing.toolPrivateOrigins }}
    - name: TOOL_PRIVATE_ORIGINS
      value: {{ . | quote }}
    {{- end }}
    {{- if include "platform.pullSecret" (dict "image" .context.Values.image "context" .context) }}
    - name: CREW_IMAGE_PULL_FILE
      value: /etc/platform/pull/.dockerconfigjson
    - name: CREW_IMAGE_PULL_SECRET
      value: {{ include "platform.pullSecret" (dict "image" .context.Values.image "context" .context) | quote }}
    {{- end }}
    {{- include "platform.nodeEnv" .context | nindent 4 }}
  resources:
    {{- include "platform.initResources" .context | nindent 4 }}
  {{- if or (or .context.Values.global.caBundle.secret .context.Values.global.caBundle.configMap) (include "platform.pullSecret" (dict "image" .context.Values.image "context" .context)) }}
  volumeMounts:
    {{- include "platform.caMount" .context | nindent 4 }}
    {{- if include "platform.pullSecret" (dict "image" .context.Values.image "context" .context) }}
    - name: pull-credentials
      mountPath: /etc/platform/pull
      readOnly: true
    {{- end }}
  {{- end }}
  securityContext:
    {{- include "platform.securityContext" (dict "user" 1000 "context" .context) | nindent 4 }}
{{- end }}

{{/*
The pod of the Job crews. A Job cannot be changed: its name has the digest of
this.
*/}}
{{- define "platform.crews.pod" -}}
metadata:
  labels:
    app.kubernetes.io/component: crews
    {{- include "platform.selectorLabels" . | nindent 4 }}
    {{- include "map.entries" .Values.commonLabels | nindent 4 }}
  annotations:
    checksum/extra-env: {{ list .Values.extraEnvVars | toJson | sha256sum | quote }}
    checksum/secrets: {{ list .Values.secrets.existingSecret .Values.secrets.revision .Values.secrets.SECRET_KEY_BASE | toJson | sha256sum | quote }}
spec:
  serviceAccountName: {{ include "platform.fullname" . }}-crews
  automountServiceAccountToken: true
  # Kubernetes would add a handful of variables for each Service of the namespace.
  enableServiceLinks: false
  {{- with list (include "platform.pullSecret" (dict "image" .Values.image "context" .)) (include "platform.databasePullSecret" .) | uniq | compact }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- include "platform.scheduling" (dict "pods" .Values.web "context" .) | nindent 2 }}
  restartPolicy: OnFailure
  securityContext:
    {{- include "platform.podSecurityContext" (dict "user" 1000 "context" .) | nindent 4 }}
  {{- if .Values.dbProxy.enabled }}
  initContainers:
    {{- include "platform.dbProxy" . | nindent 4 }}
  {{- end }}
  containers:
    {{- include "platform.crewInstaller" (dict "name" "assistant" "task" "designer:agent:install" "context" .) | nindent 4 }}
    {{- include "platform.crewInstaller" (dict "name" "runner" "task" "designer:runner:install" "context" .) | nindent 4 }}
  {{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap (include "platform.pullSecret" (dict "image" .Values.image "context" .)) }}
  volumes:
    {{- include "platform.caVolume" . | nindent 4 }}
    {{- with include "platform.pullSecret" (dict "image" .Values.image "context" .) }}
    - name: pull-credentials
      secret:
        items:
          - path: .dockerconfigjson
            key: .dockerconfigjson
        optional: true
        secretName: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- include "platform.hostNames" (dict "hosts" .Values.web "context" .) | nindent 2 }}
{{- end }}

{{/*
The main database, but for its password.
*/}}
{{- define "platform.databaseEnv" -}}
- name: DB_HOST
  value: {{ include "platform.databaseHost" . | quote }}
- name: DB_PORT
  value: {{ .Values.envVars.DB_PORT | quote }}
- name: DB_NAME
  value: {{ .Values.envVars.DB_NAME | quote }}
- name: DB_USER
  value: {{ .Values.envVars.DB_USER | quote }}
- name: DB_SSLMODE
  value: {{ include "platform.databaseSslMode" . | quote }}
{{- end }}

{{/*
The password of the main database: empty while the proxy injects an IAM token.
*/}}
{{- define "platform.databasePassword" -}}
{{- if .Values.dbProxy.autoIamAuthn }}
- name: DB_PASSWORD
{{- else }}
- name: DB_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" (dict "reference" .Values.secretKeyRefs.DB_PASSWORD "value" .Values.secrets.DB_PASSWORD "context" .) | quote }}
      key: {{ .Values.secretKeyRefs.DB_PASSWORD.key | quote }}
{{- end }}
{{- end }}

{{/*
The sidecar that authenticates to a managed database. An init container that
keeps running: it is up before the migrations need it, and ends after the
service does.
*/}}
{{- define "platform.dbProxy" -}}
{{- if .Values.dbProxy.enabled }}
- name: db-proxy
  restartPolicy: Always
  image: {{ include "platform.image" (dict "image" .Values.dbProxy.image "context" .) | quote }}
  imagePullPolicy: {{ .Values.dbProxy.image.pullPolicy | quote }}
  args:
    - --port={{ .Values.envVars.DB_PORT }}
    - --structured-logs
    - --exit-zero-on-sigterm
    - --health-check
    - --http-address=0.0.0.0
    # The proxy's own choice is 9090, where the collector serves its metrics.
    - --http-port={{ .Values.dbProxy.healthPort }}
    {{- if .Values.dbProxy.autoIamAuthn }}
    - --auto-iam-authn
    {{- end }}
    {{- if .Values.dbProxy.privateIp }}
    - --private-ip
    {{- end }}
    - {{ .Values.dbProxy.instanceConnectionName | quote }}
  ports:
    - name: proxy-health
      containerPort: {{ .Values.dbProxy.healthPort }}
  {{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap }}
  env:
    - name: SSL_CERT_DIR
      value: /etc/platform/ca
  volumeMounts:
    {{- include "platform.caMount" . | nindent 4 }}
  {{- end }}
  startupProbe:
    httpGet:
      path: /startup
      port: proxy-health
    failureThreshold: 60
    periodSeconds: 1
    timeoutSeconds: 5
  livenessProbe:
    httpGet:
      path: /liveness
      port: proxy-health
    failureThreshold: 3
    periodSeconds: 10
    timeoutSeconds: 5
  resources:
    {{- toYaml .Values.dbProxy.resources | nindent 4 }}
  securityContext:
    {{- include "platform.securityContext" (dict "user" 65532 "context" .) | nindent 4 }}
{{- end }}
{{- end }}

{{/*
How many pods stay, or how many may go, by the values of podDisruptionBudget.
*/}}
{{- define "platform.disruptionBounds" -}}
{{- if or .budget.minAvailable .budget.minAvailablePercentage }}
minAvailable: {{ ternary (printf "%v%%" .budget.minAvailablePercentage) .budget.minAvailable (not (empty .budget.minAvailablePercentage)) | toJson }}
{{- else }}
maxUnavailable: {{ ternary (printf "%v%%" .budget.maxUnavailablePercentage) .budget.maxUnavailable (not (empty .budget.maxUnavailablePercentage)) | toJson }}
{{- end }}
{{- end }}

{{/*
The variables of extraEnvVars, and of the Secrets in envFromSecrets.
*/}}
{{- define "platform.extraEnvFrom" -}}
{{- if .Values.extraEnvVars }}
- configMapRef:
    name: {{ include "platform.fullname" . }}-extra-env
{{- end }}
{{- range .Values.envFromSecrets }}
- secretRef:
    name: {{ .name | quote }}
{{- end }}
{{- end }}

{{/*
Where containers have extraSecretMounts and extraConfigMapMounts.
*/}}
{{- define "platform.extraMounts" -}}
{{- range .Values.extraSecretMounts }}
- name: secret-{{ .mountPath | sha256sum | trunc 8 }}
  mountPath: {{ .mountPath | quote }}
  readOnly: true
{{- end }}
{{- range .Values.extraConfigMapMounts }}
- name: config-{{ .mountPath | sha256sum | trunc 8 }}
  mountPath: {{ .mountPath | quote }}
  readOnly: true
{{- end }}
{{- end }}

{{/*
The volumes of extraSecretMounts and extraConfigMapMounts.
*/}}
{{- define "platform.extraVolumes" -}}
{{- range .Values.extraSecretMounts }}
- name: secret-{{ .mountPath | sha256sum | trunc 8 }}
  secret:
    secretName: {{ .name | quote }}
{{- end }}
{{- range .Values.extraConfigMapMounts }}
- name: config-{{ .mountPath | sha256sum | trunc 8 }}
  configMap:
    name: {{ .name | quote }}
{{- end }}
{{- end }}

{{/*
How the pods of a component look up names, and their run time.
*/}}
{{- define "platform.hostNames" -}}
{{- with .hosts.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .hosts.dnsPolicy }}
dnsPolicy: {{ . | quote }}
{{- end }}
{{- with .hosts.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .hosts.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- end }}

{{/*
The resources of short-lived containers, which never decide where a pod fits.
*/}}
{{- define "platform.initResources" -}}
requests:
  cpu: 50m
  memory: 64Mi
limits:
  cpu: 500m
  memory: 256Mi
{{- end }}

{{/*
The options of every program of Node.js.
*/}}
{{- define "platform.nodeEnv" -}}
# Name look-ups block one thread each: with Node's four, a slow DNS server would
# stall the verification of tokens.
- name: UV_THREADPOOL_SIZE
  value: "16"
{{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/platform/ca/ca.crt
{{- end }}
{{- end }}

{{/*
The key that seals OAuth tokens, with the former one.
*/}}
{{- define "platform.oauthEncryptionKey" -}}
- name: OAUTH_ENCRYPTION_KEY
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" (dict "reference" .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY "value" .Values.secrets.OAUTH_ENCRYPTION_KEY "context" .) | quote }}
      key: {{ .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY.key | quote }}
{{- if or .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY_PREVIOUS.name .Values.secrets.OAUTH_ENCRYPTION_KEY_PREVIOUS .Values.secrets.existingSecret }}
- name: OAUTH_ENCRYPTION_KEY_PREVIOUS
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" (dict "reference" .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY_PREVIOUS "value" .Values.secrets.OAUTH_ENCRYPTION_KEY_PREVIOUS "context" .) | quote }}
      key: {{ .Values.secretKeyRefs.OAUTH_ENCRYPTION_KEY_PREVIOUS.key | quote }}
      optional: true
{{- end }}
{{- end }}

{{/*
Pod Security "restricted", with the user of the image; OpenShift assigns its
own.
*/}}
{{- define "platform.podSecurityContext" -}}
{{- if not .context.Values.global.openshift }}
fsGroup: {{ .user }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
{{- if not .context.Values.global.openshift }}
runAsGroup: {{ .user }}
{{- end }}
runAsNonRoot: true
{{- if not .context.Values.global.openshift }}
runAsUser: {{ .user }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/*
The times of a probe, by its values.
*/}}
{{- define "platform.probeTimes" -}}
failureThreshold: {{ .probe.failureThreshold }}
{{- with .probe.initialDelaySeconds }}
# The server keeps no delay of 0.
initialDelaySeconds: {{ . }}
{{- end }}
periodSeconds: {{ .probe.periodSeconds }}
timeoutSeconds: {{ .probe.timeoutSeconds }}
{{- end }}

{{/*
The proxy for addresses outside of the cluster.
*/}}
{{- define "platform.proxyEnv" -}}
{{- with .Values.global.proxy.http }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .Values.global.proxy.https }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- if or .Values.global.proxy.http .Values.global.proxy.https .Values.global.proxy.noProxy }}
- name: NO_PROXY
  value: {{ include "platform.noProxy" . | quote }}
{{- end }}
{{- end }}

{{/*
Where the pods of a component run, by its values.
*/}}
{{- define "platform.scheduling" -}}
{{- with .pods.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .pods.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pods.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pods.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The key that signs sessions and seals LLM keys, with the former one.
*/}}
{{- define "platform.secretKeyBase" -}}
- name: SECRET_KEY_BASE
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" (dict "reference" .Values.secretKeyRefs.SECRET_KEY_BASE "value" .Values.secrets.SECRET_KEY_BASE "context" .) | quote }}
      key: {{ .Values.secretKeyRefs.SECRET_KEY_BASE.key | quote }}
{{- if or .Values.secretKeyRefs.SECRET_KEY_BASE_PREVIOUS.name .Values.secrets.SECRET_KEY_BASE_PREVIOUS .Values.secrets.existingSecret }}
- name: SECRET_KEY_BASE_PREVIOUS
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" (dict "reference" .Values.secretKeyRefs.SECRET_KEY_BASE_PREVIOUS "value" .Values.secrets.SECRET_KEY_BASE_PREVIOUS "context" .) | quote }}
      key: {{ .Values.secretKeyRefs.SECRET_KEY_BASE_PREVIOUS.key | quote }}
      optional: true
{{- end }}
{{- end }}

{{/*
A container that can neither change its image nor gain a privilege.
*/}}
{{- define "platform.securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop:
    - ALL
readOnlyRootFilesystem: true
runAsNonRoot: true
{{- if not .context.Values.global.openshift }}
runAsUser: {{ .user }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/*
The pod of the Job setup. A Job cannot be changed: its name has the digest of
this.
*/}}
{{- define "platform.setup.pod" -}}
metadata:
  labels:
    app.kubernetes.io/component: setup
    {{- include "platform.selectorLabels" . | nindent 4 }}
    {{- include "map.entries" .Values.commonLabels | nindent 4 }}
spec:
  serviceAccountName: {{ include "platform.fullname" . }}-setup
  automountServiceAccountToken: false
  # Kubernetes would add a handful of variables for each Service of the namespace.
  enableServiceLinks: false
  {{- with list (include "platform.pullSecret" (dict "image" .Values.image "context" .)) (include "platform.databasePullSecret" .) | uniq | compact }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . | quote }}
    {{- end }}
  {{- end }}
  {{- include "platform.scheduling" (dict "pods" .Values.web "context" .) | nindent 2 }}
  restartPolicy: OnFailure
  securityContext:
    {{- include "platform.podSecurityContext" (dict "user" 1000 "context" .) | nindent 4 }}
  {{- if .Values.dbProxy.enabled }}
  initContainers:
    {{- include "platform.dbProxy" . | nindent 4 }}
  {{- end }}
  containers:
    - name: setup
      image: {{ include "platform.image" (dict "image" .Values.image "context" .) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
      command:
        - node
        - build/tasks/main.js
        - setup
      env:
        {{- include "platform.databaseEnv" . | nindent 8 }}
        {{- include "platform.databasePassword" . | nindent 8 }}
        - name: LOG_LEVEL
          value: {{ .Values.envVars.LOG_LEVEL | quote }}
        {{- if .Values.upgrade.requireProof }}
        - name: UPGRADE_PROOF_KEY
          value: {{ .Values.upgrade.proofKey | quote }}
        - name: UPGRADE_PROOF_DAYS
          value: {{ .Values.upgrade.proofDays | quote }}
        {{- end }}
        {{- include "platform.nodeEnv" . | nindent 8 }}
      resources:
        {{- include "platform.initResources" . | nindent 8 }}
      {{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap }}
      volumeMounts:
        {{- include "platform.caMount" . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "platform.securityContext" (dict "user" 1000 "context" .) | nindent 8 }}
  {{- if or .Values.global.caBundle.secret .Values.global.caBundle.configMap }}
  volumes:
    {{- include "platform.caVolume" . | nindent 4 }}
  {{- end }}
  {{- include "platform.hostNames" (dict "hosts" .Values.web "context" .) | nindent 2 }}
{{- end }}

{{/*
Keeps the pods of a component apart.
*/}}
{{- define "platform.topologySpread" -}}
- maxSkew: {{ .context.Values.topologySpread.maxSkew }}
  topologyKey: {{ .context.Values.topologySpread.topologyKey | quote }}
  whenUnsatisfiable: {{ .context.Values.topologySpread.whenUnsatisfiable | quote }}
  labelSelector:
    matchLabels:
      app.kubernetes.io/component: {{ .component | quote }}
      {{- include "platform.selectorLabels" .context | nindent 6 }}
{{- end }}

{{/*
Holds a pod back until the own PostgreSQL accepts connections.
*/}}
{{- define "platform.waitForPostgres" -}}
{{- if .isNeeded }}
- name: wait-for-postgres
  image: {{ include "platform.image" (dict "image" .context.Values.postgres.image "context" .context) | quote }}
  imagePullPolicy: {{ .context.Values.postgres.image.pullPolicy | quote }}
  command:
    - sh
    - -c
    - "trap 'exit 143' TERM; until pg_isready; do sleep 2 & wait $!; done"
  env:
    - name: PGHOST
      value: {{ include "platform.databaseHost" .context | quote }}
    - name: PGPORT
      value: {{ .context.Values.envVars.DB_PORT | quote }}
    - name: PGUSER
      value: {{ .context.Values.envVars.DB_USER | quote }}
  resources:
    {{- include "platform.initResources" .context | nindent 4 }}
  securityContext:
    {{- include "platform.securityContext" (dict "user" 999 "context" .context) | nindent 4 }}
{{- end }}
{{- end }}
