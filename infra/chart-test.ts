/** What `helm test` runs: asks web, inside the cluster, for its health. Part of the chart alone. */
export const chartTest = `apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-test
  labels:
    app.kubernetes.io/name: platform
    app.kubernetes.io/instance: {{ .Release.Name }}
    app.kubernetes.io/component: test
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
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
    runAsUser: 1000
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
          fetch(env.WEB_URL + '/health').then(async (response) => {
            console.log('/health', response.status, await response.text())
            if (response.status !== 200) process.exitCode = 1
          })
      env:
        - name: WEB_URL
          value: http://{{ .Release.Name }}-web:{{ .Values.web.servicePort }}
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
