import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { renderChart } from '../../../infra/template/chart.ts'
import { renderManifests } from '../../../infra/template/manifests.ts'
import { buildTree } from '../../../infra/template/objects.ts'
import { checkValues } from '../../../infra/template/validate.ts'
import { compileTemplates } from '../support/go-template.ts'
import { build, shape } from './example.ts'

const tree = buildTree(build)
const about = {
  metadata: {
    name: 'web',
    description: 'One web server.',
    version: '1.0.0',
    appVersion: '1.29',
    kubeVersion: '>=1.30.0-0',
    icon: 'https://example.com/icon.svg',
    keywords: [],
    maintainers: [],
    annotations: {},
  },
  shape,
  rules: [],
  texts: new Map(),
  readme: '',
  license: '',
}
const { files } = renderChart({ ...about, tree })
const paths = [...files.keys()].filter((path) => /^templates\/.*\.yaml$/.test(path))
const render = compileTemplates(
  new Map([...files].filter(([path]) => path.startsWith('templates/'))),
  files,
)

const contextOf = (overrides: object) => {
  const { values, mistakes } = checkValues(shape, overrides)
  expect(mistakes).toEqual([])
  return {
    Values: values,
    Release: { Name: 'demo', Namespace: 'prod', Service: 'Helm' },
    Chart: {},
  }
}

const objectsIn = (stream: string): readonly unknown[] =>
  parseAllDocuments(stream).flatMap((document) => {
    const object: unknown = document.toJS()
    return object === null ? [] : [object]
  })

const chartOf = (overrides: object): readonly unknown[] => {
  const context = contextOf(overrides)
  return objectsIn(paths.map((path) => render(path, context)).join('---\n'))
}
const plainOf = (overrides: object): readonly unknown[] =>
  objectsIn([...renderManifests(tree, contextOf(overrides)).values()].join('---\n'))

describe('the example of the engine', () => {
  it.each([
    {},
    { replicas: 3, labels: { tier: 'front', odd: 'yes: no' }, exposed: false },
    { cache: { enabled: true }, secrets: [{ name: 'one' }, { name: 'two' }] },
    { aliases: [{ name: 'one' }, { name: 'yes' }], labels: { tier: 'front' } },
    { cache: { enabled: true, share: 0.75, idleSeconds: null } },
    { cache: { enabled: true, directory: '/data', port: 7000 }, image: 'caddy:2' },
  ])('is the same objects in both readings with %j', (overrides) => {
    const chart = chartOf(overrides)
    expect(chart).toEqual(plainOf(overrides))
    expect(chart.length).toBeGreaterThan(0)
  })

  it('reads as if it were written by hand', () => {
    expect(files.get('templates/web/deployment.yaml')).toBe(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "web.name" . | quote }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      app: {{ include "web.name" . | quote }}
  template:
    metadata:
      labels:
        app: {{ include "web.name" . | quote }}
        {{- include "map.entries" .Values.labels | nindent 8 }}
    spec:
      containers:
        - name: server
          image: {{ .Values.image | quote }}
          {{- with .Values.secrets }}
          envFrom:
            {{- range . }}
            - secretRef:
                name: {{ .name | quote }}
            {{- end }}
          {{- end }}
          env:
            {{- if .Values.cache.enabled }}
            - name: CACHE_PORT
              value: {{ .Values.cache.port | quote }}
            - name: CACHE_HOST
              value: localhost
            - name: CACHE_SHARE
              value: {{ .Values.cache.share | quote }}
            {{- if gt (float64 .Values.cache.share) 0.5 }}
            - name: CACHE_LARGE
              value: "true"
            {{- end }}
            {{- if .Values.cache.idleSeconds }}
            - name: CACHE_IDLE_SECONDS
              value: {{ .Values.cache.idleSeconds | quote }}
            {{- end }}
            {{- else }}
            - name: CACHE_OFF
              value: "true"
            {{- end }}
        {{- if .Values.cache.enabled }}
        - name: cache
          image: valkey:8
          ports:
            {{- include "web.ports" (dict "port" .Values.cache.port "context" .) | nindent 12 }}
          {{- with .Values.cache.directory }}
          workingDir: {{ . | quote }}
          {{- end }}
        {{- end }}
`)
  })

  it('comes out the same when the tree is read again', () => {
    expect(renderChart({ ...about, tree }).files).toEqual(files)
  })

  it('repeats an object over a list', () => {
    expect(files.get('templates/web/exposed-alias-service.yaml')).toBe(`{{- if .Values.exposed }}
{{- range .Values.aliases }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .name | quote }}
  labels:
    app: {{ include "web.name" $ | quote }}
    {{- include "map.entries" $.Values.labels | nindent 4 }}
spec:
  type: ExternalName
  externalName: {{ include "web.name" $ }}.{{ $.Release.Namespace }}.svc
{{- end }}
{{- end }}
`)
  })

  it('refuses values that are none of the chart, with the nearest one', () => {
    const cache = { port: 80, share: 1.5, idleSeconds: 0.5 }
    const { mistakes } = checkValues(shape, { replica: 2, cache })
    expect(mistakes.map(({ path, problem }) => [path, problem])).toEqual([
      ['replica', expect.stringContaining('replicas')],
      ['cache.port', expect.stringContaining('a whole number between 1024 and 65535')],
      ['cache.share', expect.stringContaining('a number between 0.01 and 1')],
      ['cache.idleSeconds', expect.stringContaining('between 1 and 86400, or null for none')],
    ])
  })
})
