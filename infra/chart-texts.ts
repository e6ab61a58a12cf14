import { valuesTable } from './template/values-files.ts'
import type { ChartMetadata } from './template/chart.ts'
import { schema } from './values.ts'
import packageJson from '../package.json' with { type: 'json' }

/** `Chart.yaml`. The chart has a version of its own; the application's is that of the package. */
export const chartMetadata: ChartMetadata = {
  name: 'platform',
  description: 'Self-hosted platform for AI automations: web, worker and trace collector',
  version: '0.6.11',
  appVersion: packageJson.version,
  // Sidecars that start before the init containers (1.29).
  kubeVersion: '>=1.29.0-0',
}

/** What Helm prints after an install. */
export const notes = `The platform {{ .Chart.AppVersion }} is installed as {{ .Release.Name }}.

Wait until every Deployment is ready:
  kubectl -n {{ .Release.Namespace }} rollout status deployment -l app.kubernetes.io/instance={{ .Release.Name }}

Open it:
  kubectl -n {{ .Release.Namespace }} port-forward service/{{ .Release.Name }}-web 3000:{{ .Values.web.servicePort }}

Check the whole installation once:
  TOKEN=$(kubectl -n {{ .Release.Namespace }} get secret {{ .Values.secrets.existingSecret | default (printf "%s-secrets" .Release.Name) }} -o jsonpath='{.data.PLATFORM_DEBUG_TOKEN}' | base64 -d)
  curl -H "X-Platform-Debug-Token: $TOKEN" http://localhost:3000/health/debug
{{- if eq .Values.envVars.PLATFORM_BASE_URL "http://localhost:3000" }}

envVars.PLATFORM_BASE_URL is still http://localhost:3000. Set it to the address that users and API clients reach:
OAuth access tokens must carry it as their audience.
{{- end }}
`

/** The chart's README. */
export const readme = `# ${chartMetadata.name}

${chartMetadata.description}.

    helm install platform ./chart --set envVars.PLATFORM_BASE_URL=https://platform.example.com

The chart and the plain manifests beside it are rendered from the same source and are equal for every set of values.
Secrets are generated in the cluster by a Job on the first install, kept over upgrades, and never part of a template. The
Secret \`<release>-secrets\` stays when the release is uninstalled, as does the volume of PostgreSQL.

## Values

Unknown keys are refused. Whole numbers are accepted where digits are asked for.

${valuesTable(schema)}`
