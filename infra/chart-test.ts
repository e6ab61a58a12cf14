/** What `helm test` runs: asks web, inside the cluster, for its health and its diagnosis. Part of the chart alone. */
export const chartTest = `apiVersion: v1
kind: Pod
metadata:
  name: {{ include "platform.fullname" . }}-test
  labels:
    app.kubernetes.io/name: platform
    app.kubernetes.io/instance: {{ .Release.Name | quote }}
    app.kubernetes.io/component: test
    {{- include "platform.labels" . | nindent 4 }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with include "platform.platform.pullSecret" . }}
  imagePullSecrets:
    - name: {{ . | quote }}
  {{- end }}
  {{- with .Values.web.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.web.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    {{- if not .Values.global.openshift }}
    runAsUser: 1000
    {{- end }}
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: test
      image: {{ include "platform.platform.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
      command:
        - node
        - -e
        - |-
          const { env } = process
          const { WEB_URL, PLATFORM_DEBUG_TOKEN } = env
          const ask = (path) =>
            fetch(WEB_URL + path, {
              headers: { 'X-Platform-Debug-Token': PLATFORM_DEBUG_TOKEN },
              signal: AbortSignal.timeout(15_000),
            })
          const run = async () => {
            const health = await ask('/health')
            console.log('/health', health.status, await health.text())
            const debug = await ask('/health/debug')
            const body = await debug.text()
            if (debug.status === 404) throw new Error('/health/debug 404: the token is not that of web')
            const { status, components } = JSON.parse(body)
            console.log('/health/debug', debug.status, status)
            for (const [name, { status, error = '', details }] of Object.entries(components)) {
              console.log(' ', name, status, error)
              if (details?.remediation) console.log('    ', details.remediation)
              for (const { message } of details?.warnings ?? []) console.log('     warning:', message)
            }
            return health.ok && debug.ok && components.platform_pods?.status !== 'fail'
          }
          run().then(
            (isWell) => process.exit(isWell ? 0 : 1),
            (error) => {
              console.error(error.message, error.cause?.message ?? '')
              process.exit(1)
            },
          )
      env:
        - name: WEB_URL
          value: http://{{ include "platform.fullname" . }}-web:{{ .Values.web.servicePort }}
        - name: PLATFORM_DEBUG_TOKEN
          valueFrom:
            secretKeyRef:
              name: {{ include "platform.secretName.PLATFORM_DEBUG_TOKEN" . | quote }}
              key: PLATFORM_DEBUG_TOKEN
      resources:
        requests:
          cpu: 50m
          memory: 64Mi
        limits:
          cpu: 500m
          memory: 256Mi
      securityContext:
        allowPrivilegeEscalation: false
        capabilities:
          drop:
            - ALL
        readOnlyRootFilesystem: true
`
