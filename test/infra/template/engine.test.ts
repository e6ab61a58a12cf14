import { App, Chart } from 'cdk8s'
import { k8s } from 'cdk8s-plus-34'
import { Construct } from 'constructs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { renderChart } from '../../../infra/template/chart.ts'
import { renderManifests } from '../../../infra/template/manifests.ts'
import {
  asJson,
  digest,
  digits,
  equals,
  isSet,
  joined,
  not,
  orElse,
  pick,
  symbolicValues,
  text,
} from '../../../infra/template/operators.ts'
import { contentOf } from '../../../infra/template/included.ts'
import { helperWith, labelSet, literal } from '../../../infra/template/named.ts'
import { part, partWith } from '../../../infra/template/parts.ts'
import type { Val } from '../../../infra/template/expression.ts'
import { buildTree } from '../../../infra/template/objects.ts'
import type { Build } from '../../../infra/template/objects.ts'
import { boolean, group, integer, list, map, string } from '../../../infra/template/schema.ts'
import type { Shape } from '../../../infra/template/schema.ts'
import {
  create,
  each,
  noted,
  onlyWhen,
  spread,
  when,
  whenSet,
} from '../../../infra/template/structure.ts'
import { compileTemplates } from '../support/go-template.ts'

/** What a chart says about itself. */
const ABOUT = {
  metadata: {
    name: 'n',
    description: 'd',
    version: '1',
    appVersion: '1',
    kubeVersion: '1',
    icon: 'https://example.com/icon.svg',
    keywords: [],
    maintainers: [],
    annotations: {},
  },
  texts: new Map<string, string>(),
  readme: '',
  license: '',
}

const ABOUT_LABELS = { name: 'n.labels', comment: 'Labels.' }
const ANY = { pattern: /^/, expected: 'anything' }

const shape = {
  on: boolean(true, 'A switch.'),
  name: string('n', 'A text.'),
  port: integer(80, 'A number.', { min: 1, max: 100 }),
  labels: map('A map.', { key: ANY, value: ANY }),
  secrets: list('A list.', { name: string('', 'A name.') }, { required: ['name'] }),
  inner: group('A group.', { leaf: string('', 'A leaf.') }),
} satisfies Shape

const values = symbolicValues(shape)
type Inner = typeof values.inner
const context = (given: object = {}) => ({
  Values: { on: true, name: 'n', port: 80, labels: {}, secrets: [], inner: { leaf: '' }, ...given },
  Release: { Name: 'r' },
})

/** A chart with one component, `c`, whose objects a test makes. */
const chartOf =
  (objects: (component: Construct) => void): Build =>
  (app: App) => {
    const chart = new Chart(app, 'chart')
    objects(new Construct(chart, 'c'))
    return chart
  }

/** A ConfigMap that uses every value, so that the chart renders. */
const usesAll = (component: Construct): void => {
  create(new Construct(component, 'all'), k8s.KubeConfigMap, {
    metadata: { name: 'all' },
    data: {
      on: pick(values.on, 'yes', 'no'),
      name: values.name,
      port: digits(values.port),
      leaf: values.inner.leaf,
      secrets: pick(isSet(values.secrets), 'some', 'none'),
      ...spread(values.labels),
    },
  })
}

function render(objects: (component: Construct) => void) {
  const tree = buildTree(
    chartOf((component) => {
      usesAll(component)
      objects(component)
    }),
  )
  const { files } = renderChart({ ...ABOUT, shape, rules: [], tree })
  const template = (name: string): string => files.get(`templates/c/${name}.yaml`) ?? ''
  const manifests = (given: object = {}): string =>
    renderManifests(tree, context(given)).get('01-c.yaml')?.split('---\n').slice(1).join('---\n') ??
    ''
  const definitions = (name: string): string => files.get(`templates/_${name}.tpl`) ?? ''
  const chart = (name: string, given: object = {}): unknown =>
    parse(compileTemplates(files)(`templates/c/${name}.yaml`, context(given)))
  return {
    template,
    manifests,
    chart,
    helpers: definitions('helpers'),
    parts: definitions('parts'),
  }
}

const configMap = (component: Construct, data: Record<string, never>): void => {
  create(component, k8s.KubeConfigMap, { metadata: { name: 'x' }, data })
}

describe('a template reads as a Helm user would write it', () => {
  const dataLines = (template: string): readonly string[] => template.split('\n').slice(5, -1)

  it('quotes texts, and leaves numbers and booleans bare', () => {
    const { template } = render((component) => {
      create(component, k8s.KubeService, {
        metadata: { name: 'x' },
        spec: { externalName: values.name, ports: [{ port: values.port }] },
      })
    })
    expect(template('service')).toContain('externalName: {{ .Values.name | quote }}')
    expect(template('service')).toContain('- port: {{ .Values.port }}')
  })

  it('binds with where the tested value is the printed one, and uses if elsewhere', () => {
    const { template } = render((component) => {
      create(component, k8s.KubePod, {
        metadata: { name: 'x' },
        spec: {
          containers: [],
          nodeName: whenSet(values.inner.leaf),
          nodeSelector: whenSet(values.labels),
          hostname: when<string>(values.on, 'fixed'),
        },
      })
    })
    expect(template('pod')).toContain(
      '  {{- with .Values.inner.leaf }}\n  nodeName: {{ . | quote }}\n  {{- end }}',
    )
    expect(template('pod')).toContain('  nodeSelector:\n    {{- toYaml . | nindent 4 }}\n')
    expect(template('pod')).toContain('  {{- if .Values.on }}\n  hostname: fixed\n  {{- end }}')
  })

  it('drops a list whose every element is conditional together with its key', () => {
    const { template, manifests } = render((component) => {
      create(component, k8s.KubeServiceAccount, {
        metadata: { name: 'x' },
        imagePullSecrets: [
          when<k8s.LocalObjectReference>(isSet(values.inner.leaf), { name: values.inner.leaf }),
        ],
      })
    })
    expect(template('serviceaccount').split('\n').slice(4, -1)).toEqual([
      '{{- with .Values.inner.leaf }}',
      'imagePullSecrets:',
      '  - name: {{ . | quote }}',
      '{{- end }}',
    ])
    expect(manifests()).not.toContain('imagePullSecrets')
    expect(manifests({ inner: { leaf: 's' } })).toContain('imagePullSecrets:\n  - name: s\n')
  })

  it('joins an element and its opposite with else', () => {
    const { template } = render((component) => {
      create(component, k8s.KubeServiceAccount, {
        metadata: { name: 'x' },
        imagePullSecrets: [
          when<k8s.LocalObjectReference>(values.on, { name: 'a' }),
          when<k8s.LocalObjectReference>(not(values.on), { name: 'b' }),
        ],
      })
    })
    expect(template('serviceaccount')).toContain(
      '  {{- if .Values.on }}\n  - name: a\n  {{- else }}\n  - name: b\n  {{- end }}',
    )
  })

  it('has no else for what is always there, where its condition holds already', () => {
    const { template, chart, manifests } = render((component) => {
      const args = [when<string>(values.on, 'yes'), when<string>(not(values.on), 'no')]
      create(component, k8s.KubePod, {
        metadata: { name: 'x' },
        spec: {
          containers: [
            when<k8s.Container>(values.on, { name: 'a', args }),
            when<k8s.Container>(not(values.on), { name: 'b', args }),
          ],
        },
      })
    })
    expect(template('pod').match(/{{- else }}/g)).toHaveLength(1)
    for (const [on, name, arg] of [
      [true, 'a', 'yes'],
      [false, 'b', 'no'],
    ] as const) {
      const spec = { containers: [{ name, args: [arg] }] }
      expect(chart('pod', { on })).toMatchObject({ spec })
      expect(parse(manifests({ on }).split('---\n').at(-1) ?? '')).toMatchObject({ spec })
    }
  })

  it('keeps elements with unrelated conditions apart', () => {
    const { template } = render((component) => {
      create(component, k8s.KubeServiceAccount, {
        metadata: { name: 'x' },
        imagePullSecrets: [
          when<k8s.LocalObjectReference>(values.on, { name: 'a' }),
          when<k8s.LocalObjectReference>(not(isSet(values.labels)), { name: 'b' }),
        ],
      })
    })
    expect(template('serviceaccount')).toContain(
      '{{- if .Values.on }}\n  - name: a\n  {{- end }}\n  {{- if not .Values.labels }}\n  - ' +
        'name: b',
    )
  })

  it('ranges over a list', () => {
    const { template, manifests } = render((component) => {
      create(component, k8s.KubeServiceAccount, {
        metadata: { name: 'x' },
        imagePullSecrets: [
          each<{ name: string }, k8s.LocalObjectReference>(values.secrets, (item) => ({
            name: item('name'),
          })),
        ],
      })
    })
    expect(template('serviceaccount')).toContain(
      '{{- with .Values.secrets }}\nimagePullSecrets:\n  {{- range . }}\n  - name: {{ .name ' +
        '| quote }}\n  {{- end }}\n{{- end }}',
    )
    expect(manifests({ secrets: [{ name: 'a' }, { name: 'b' }] })).toContain(
      '  - name: a\n  - name: b\n',
    )
    expect(manifests()).not.toContain('imagePullSecrets')
  })

  it('writes text around harmless parts as it stands, and around others with printf', () => {
    const { template } = render((component) => {
      configMap(component, {
        harmless: text`http://host:${values.port}` as never,
        other: text`http://${values.name}` as never,
      })
    })
    expect(dataLines(template('configmap'))).toEqual([
      '  harmless: http://host:{{ .Values.port }}',
      '  other: {{ printf "http://%s" .Values.name | quote }}',
    ])
  })

  it('includes label sets, and defines them once', () => {
    const labels = spread(labelSet(ABOUT_LABELS, { app: values.name, fixed: 'yes' }))
    const { template, helpers } = render((component) => {
      create(component, k8s.KubeConfigMap, { metadata: { name: 'x', labels } })
    })
    expect(template('configmap')).toContain(
      '  labels:\n    {{- include "n.labels" . | nindent 4 }}',
    )
    expect(helpers).toBe(
      '{{/*\nLabels.\n*/}}\n{{- define "n.labels" -}}\napp: {{ .Values.name | quote ' +
        '}}\nfixed: "yes"\n{{- end }}\n',
    )
  })

  it('asks for a condition, not for its opposite, whatever comes first', () => {
    const { template } = render((component) => {
      create(component, k8s.KubeServiceAccount, {
        metadata: { name: 'x' },
        imagePullSecrets: [
          when<k8s.LocalObjectReference>(not(values.on), { name: 'b' }),
          when<k8s.LocalObjectReference>(not(not(values.on)), { name: 'a' }),
        ],
      })
    })
    expect(template('serviceaccount')).toContain(
      '  {{- if .Values.on }}\n  - name: a\n  {{- else }}\n  - name: b\n  {{- end }}',
    )
  })

  it('writes entries of a map under one condition side by side', () => {
    const { template } = render((component) => {
      configMap(component, {
        a: when<string>(values.on, '1') as never,
        b: '2' as never,
        c: when<string>(values.on, '3') as never,
      })
    })
    expect(dataLines(template('configmap'))).toEqual([
      '  {{- if .Values.on }}',
      '  a: "1"',
      '  c: "3"',
      '  {{- end }}',
      '  b: "2"',
    ])
  })

  it('carries comments, within the condition of what they are about', () => {
    const { template, manifests } = render((component) => {
      configMap(component, {
        a: when<string>(values.on, noted('Says why.', '1')) as never,
        b: noted(`A long one: ${'word '.repeat(20)}`, '2') as never,
      })
    })
    const long = `# A long one: ${'word '.repeat(13)}`.trim()
    expect(dataLines(template('configmap'))).toEqual([
      '  {{- if .Values.on }}',
      '  # Says why.',
      '  a: "1"',
      '  {{- end }}',
      `  ${long}`,
      `  # ${'word '.repeat(7)}`.trimEnd(),
      '  b: "2"',
    ])
    expect(manifests()).toContain('data:\n  a: "1"\n  b: "2"\n')
  })

  it('joins the texts of a list that are there', () => {
    const { template, manifests } = render((component) => {
      configMap(component, { all: joined(',', ['a', pick(values.on, 'b', '')]) as never })
    })
    expect(dataLines(template('configmap'))).toEqual([
      '  all: {{ list "a" (ternary "b" "" .Values.on) | compact | join "," | quote }}',
    ])
    expect(manifests()).toContain('all: a,b\n')
    expect(manifests({ on: false })).toContain('all: a\n')
  })

  it('puts the condition of a construct around all of its objects', () => {
    const { template, manifests } = render((component) => {
      const inner = onlyWhen(values.on, new Construct(component, 'inner'))
      create(inner, k8s.KubeConfigMap, { metadata: { name: 'x' } })
    })
    expect(template('inner-configmap')).toMatch(
      /^\{\{- if \.Values\.on \}\}\napiVersion[^]*\{\{- end \}\}\n$/,
    )
    expect(manifests()).toContain('name: x')
    expect(manifests({ on: false })).not.toContain('name: x')
  })

  it('compares numbers as int64, because Helm has them in two kinds', () => {
    const { template } = render((component) => {
      configMap(component, { same: pick(equals(values.port, 1), 'one', 'other') as never })
    })
    expect(template('configmap')).toContain('ternary "one" "other" (eq (int64 .Values.port) 1)')
  })

  it('keeps literal braces literal', () => {
    const { template, manifests } = render((component) => {
      configMap(component, { braces: '{{ .Values.x }}' as never })
    })
    expect(template('configmap')).toContain('braces: {{ "{{ .Values.x }}" | quote }}')
    expect(manifests()).toContain('braces: "{{ .Values.x }}"')
  })
})

describe('what is named is defined once', () => {
  const about = { name: 'n.thing', comment: 'A thing.' }

  it('an expression with parameters', () => {
    const greeting = helperWith(about, ({ who, of }: { who: Val<string>; of: Inner }) =>
      pick(isSet(of.leaf), text`${who} of ${of.leaf}`, who),
    )
    const { template, manifests, chart, helpers } = render((component) => {
      configMap(component, {
        a: greeting({ who: values.name, of: values.inner }) as never,
        b: greeting({ who: literal('you'), of: values.inner }) as never,
      })
    })
    expect(template('configmap').split('\n').slice(5, -1)).toEqual([
      '  a: {{ include "n.thing" (dict "who" .Values.name "of" .Values.inner "context" ' +
        '.) | quote }}',
      '  b: {{ include "n.thing" (dict "who" "you" "of" .Values.inner "context" .) | quote }}',
    ])
    expect(helpers).toBe(`{{/*
A thing.
*/}}
{{- define "n.thing" -}}
{{- if .of.leaf -}}
{{ .who }} of {{ .of.leaf }}
{{- else -}}
{{- .who -}}
{{- end -}}
{{- end }}
`)
    expect(manifests({ inner: { leaf: 'x' } })).toContain('a: n of x\n  b: you of x\n')
    expect(chart('configmap', { inner: { leaf: 'x' } })).toMatchObject({
      data: { a: 'n of x', b: 'you of x' },
    })
  })

  const secretsOf = partWith(about, ({ first }: { first: Val<string> }) => [
    { name: first },
    when<k8s.LocalObjectReference>(values.on, { name: 'second' }),
  ])
  const account = (component: Construct, first: Val<string>): void => {
    create(component, k8s.KubeServiceAccount, {
      metadata: { name: 'x' },
      imagePullSecrets: [...secretsOf({ first }), { name: 'last' }],
    })
  }

  it('a part of a list, with its conditions inside', () => {
    const { template, manifests, chart, parts } = render((component) => {
      account(component, literal('first'))
      account(new Construct(component, 'other'), values.name)
    })
    expect(template('serviceaccount').split('\n').slice(4, -1)).toEqual([
      'imagePullSecrets:',
      '  {{- include "n.thing" (dict "first" "first" "context" .) | nindent 2 }}',
      '  - name: last',
    ])
    expect(parts).toContain(`{{/*
A thing.
*/}}
{{- define "n.thing" -}}
- name: {{ .first | quote }}
{{- if .context.Values.on }}
- name: second
{{- end }}
{{- end }}
`)
    expect(manifests()).toContain('  - name: first\n  - name: second\n  - name: last\n')
    expect(chart('other-serviceaccount', { on: false })).toMatchObject({
      imagePullSecrets: [{ name: 'n' }, { name: 'last' }],
    })
  })

  it('some entries of a map, and what it comes out as', () => {
    const entries = () => ({ port: digits(values.port), 'on-or-off': pick(values.on, 'on', 'off') })
    const { part, content } = contentOf(about, entries, (props) => props)
    const { template, manifests, chart } = render((component) => {
      configMap(component, { ...part, digest: digest(asJson(content)) } as never)
    })
    expect(template('configmap').split('\n').slice(5, -1)).toEqual([
      '  {{- include "n.thing" . | nindent 2 }}',
      '  digest: {{ include "n.thing" . | fromYaml | toJson | sha256sum | quote }}',
    ])
    expect(chart('configmap', { port: 81 })).toEqual(parse(manifests({ port: 81 })))
    expect(manifests({ port: 81 })).not.toBe(manifests({ port: 82 }))
  })

  it('but not two things under one name', () => {
    const other = part(about, () => [{ name: 'other' }])
    expect(() =>
      render((component) => {
        account(component, values.name)
        create(component, k8s.KubePod, {
          metadata: { name: 'x' },
          spec: { containers: [], imagePullSecrets: other() },
        })
      }),
    ).toThrow('two helpers are named n.thing')
  })

  it('and a group of values is a parameter only as a whole', () => {
    const mixed = { leaf: values.name }
    const named = helperWith(about, ({ group }: { group: typeof mixed }) => group.leaf)
    expect(() => named({ group: mixed })).toThrow('only a group of values')
  })
})

describe('what would go wrong in silence is an error', () => {
  it('a field that Kubernetes does not have', () => {
    const misspelt = { replicas: 1, replica: 1, selector: {}, template: {} }
    const build = chartOf((component) => {
      create(component, k8s.KubeDeployment, { metadata: { name: 'x' }, spec: misspelt })
    })
    expect(() => renderManifests(buildTree(build), context())).toThrow(
      'chart/c/deployment: not fields of a Kubernetes Deployment, or values of the wrong ' +
        'kind: spec.replica',
    )
  })

  it('a value that no template uses', () => {
    const build = chartOf((component) => configMap(component, { name: values.name as never }))
    expect(() => renderChart({ ...ABOUT, shape, rules: [], tree: buildTree(build) })).toThrow(
      'values that no template uses: on, port, labels, secrets, inner.leaf',
    )
  })

  it('a symbolic value in a JavaScript text', () => {
    expect(() => `${values.name as unknown as string}`).toThrow(
      'a symbolic value cannot become text',
    )
  })

  it('an integer that JSON cannot hold', () => {
    expect(() => integer(1, 'Too large.', { min: 0, max: 2 ** 53 })).toThrow('no bound')
  })

  it('two helpers with one name', () => {
    const labels = (value: string) => spread(labelSet(ABOUT_LABELS, { app: value }))
    expect(() =>
      render((component) => {
        create(component, k8s.KubeConfigMap, { metadata: { name: 'x', labels: labels('a') } })
        create(component, k8s.KubeSecret, { metadata: { name: 'x', labels: labels('b') } })
      }),
    ).toThrow('two helpers are named n.labels')
  })
})

describe('the compiler refuses', () => {
  const scope = (): Construct => new Chart(new App(), 'chart')

  it('a misspelt field at any depth, under a condition too', () => {
    // @ts-expect-error replica
    create(scope(), k8s.KubeDeployment, { spec: { replica: values.port } })
    create(scope(), k8s.KubeServiceAccount, {
      // @ts-expect-error nam
      imagePullSecrets: [when<k8s.LocalObjectReference>(values.on, { nam: values.name })],
    })
  })

  it('a text where a number is asked for', () => {
    // @ts-expect-error port
    create(scope(), k8s.KubeService, { spec: { ports: [{ port: values.name }] } })
  })

  it("JavaScript's comparison and arithmetic on a symbolic value", () => {
    // @ts-expect-error no overlap
    expect(values.name === 'n').toBe(false)
    // @ts-expect-error not a number
    expect(() => values.port + 1).toThrow('symbolic')
  })

  it('an alternative of another kind', () => {
    // @ts-expect-error a number is no fallback for a text
    expect(orElse(values.name, 1)).toBeDefined()
  })
})
