import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextOf, platformManifests } from '../../infra/render.ts'
import { usersOf } from '../../infra/template/chart.ts'
import type { Context } from '../../infra/template/expression.ts'
import { isFreeField } from '../../infra/template/free.ts'
import { mergeOverrides } from '../../infra/template/merge.ts'
import type { SourceObject } from '../../infra/template/objects.ts'
import { leavesOf } from '../../infra/template/leaves.ts'
import type { LeafField } from '../../infra/template/schema.ts'
import { ValuesError } from '../../infra/template/values-error.ts'
import { valuesSchema } from '../../infra/template/values-files.ts'
import { schema } from '../../infra/values.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { readVersions } from '../../scripts/release/versions.ts'
import { firstOfEach, isLong } from '../support/long.ts'
import { arbitraryValues } from './support/arbitrary-values.ts'
import { chart, parseYaml, RELEASE, tree } from './support/platform.ts'

const mistakesOf = (...overrides: readonly unknown[]): readonly string[] => {
  try {
    contextOf(overrides, RELEASE)
    return []
  } catch (thrown) {
    if (thrown instanceof ValuesError) return thrown.mistakes
    throw thrown
  }
}

describe('a mistake in the values is refused with its path, the value and what is allowed', () => {
  it.each([
    [{ colector: {} }, 'colector: unknown key; did you mean collector?'],
    [
      { collector: { config: { retentonWeeks: '4' } } },
      'collector.config.retentonWeeks: unknown key; did you mean retentionWeeks?',
    ],
    [{ rbac: { zzz: 1 } }, 'rbac.zzz: unknown key; known keys: create, admissionPolicy'],
    [
      { collector: { image: { pullPolicy: 'Sometimes' } } },
      'collector.image.pullPolicy: expected one of "IfNotPresent", "Always", "Never", got ' +
        '"Sometimes"',
    ],
    [
      { collector: { config: { storageType: 'mysql' } } },
      'collector.config.storageType: expected "postgres", the only value that is supported, ' +
        'got "mysql"',
    ],
    [
      { collector: { config: { retentionWeeks: 'abc' } } },
      'collector.config.retentionWeeks: expected a string of digits from "1" to "5200", got "abc"',
    ],
    [
      { collector: { port: 70_000 } },
      'collector.port: expected a whole number between 1024 and 65535, got 70000',
    ],
    [{ collector: { enabled: 'yes' } }, 'collector.enabled: expected true or false, got "yes"'],
    [
      { collector: { port: null } },
      'collector.port: null removes the default, and the chart needs a value here',
    ],
    [{ collector: [] }, 'collector: expected a map, got []'],
    [
      { collector: { nodeSelector: { disk: 1 } } },
      'collector.nodeSelector.disk: expected a label value: up to 63 letters, digits, dots, ' +
        'dashes and underscores, got 1; write it in quotes, or use --set-string',
    ],
    [
      { collector: { tolerations: [{ ky: 'a', operator: 'Exists' }] } },
      'collector.tolerations[0].ky: unknown key; did you mean key?',
    ],
    [
      { collector: { resources: { limits: { cpu: '0.5 cores' } } } },
      'collector.resources.limits.cpu: expected a quantity such as "500m", 0.5 or "1Gi", or ' +
        'null for none, got "0.5 cores"',
    ],
    [
      { collector: { metricsPort: 8080 } },
      'collector.metricsPort must differ from collector.port (collector.metricsPort: 8080, ' +
        'collector.port: 8080)',
    ],
    [
      { postgres: { collectorDatabase: 'platform' } },
      'postgres.collectorDatabase must differ from envVars.DB_NAME: the collector never uses ' +
        'the main database (postgres.collectorDatabase: "platform", envVars.DB_NAME: ' +
        '"platform", collector.database.host: "")',
    ],
    [
      { dbProxy: { autoIamAuthn: true } },
      'dbProxy.autoIamAuthn needs dbProxy.enabled: true: it is the proxy that injects the ' +
        'token (dbProxy.autoIamAuthn: true, dbProxy.enabled: false)',
    ],
    ['a text', 'values: expected a map, got "a text"'],
    [
      { image: { tag: 2 } },
      'image.tag: expected an image tag in quotes, such as "1.2.3", got 2; write it in ' +
        'quotes, or use --set-string',
    ],
    [
      { extraEnvVars: { A: true } },
      'extraEnvVars.A: expected a string, got true; write it in quotes, or use --set-string',
    ],
    [{ web: { replica: 2 } }, 'web.replica: unknown key; did you mean replicaCount?'],
    [
      { web: { resources: { limits: { 'ephemeral-storage': null } } } },
      'web.resources.limits.ephemeral-storage: null is no value here; leave the key out',
    ],
  ])('%j', (overrides, message) => {
    expect(mistakesOf(overrides)).toEqual([message])
  })

  it('lists all of them at once', () => {
    const overrides = {
      colector: {},
      collector: { port: 9090, image: { pullPolicy: 'no' } },
      postgres: { enabled: false },
    }
    expect(mistakesOf(overrides).map((mistake) => mistake.split(/[: ]/)[0])).toEqual([
      'colector',
      'collector.image.pullPolicy',
      'collector.metricsPort',
      'envVars.DB_HOST',
      'secrets.DB_PASSWORD',
    ])
  })

  it('leaves out rules about a value that is refused itself', () => {
    // The default of the port, which stands in for it, is that of the metrics here.
    expect(mistakesOf({ collector: { port: 'x', metricsPort: 8080 } })).toEqual([
      'collector.port: expected a whole number between 1024 and 65535, got "x"',
    ])
  })

  it('never shows a secret', () => {
    const [mistake] = mistakesOf({ secrets: { SECRET_KEY_BASE: 'too-short-token' } })
    expect(mistake).toContain('secrets.SECRET_KEY_BASE: expected at least 32')
    expect(mistake).toContain('got 15 characters')
    expect(mistake).not.toContain('too-short')
  })
})

describe('the debug token', () => {
  it('may have any length: it overrides the generated one (5.1)', () => {
    expect(mistakesOf({ secrets: { PLATFORM_DEBUG_TOKEN: 'mine' } })).toEqual([])
    expect(mistakesOf({ secrets: { PLATFORM_DEBUG_TOKEN: 'two words' } })).toHaveLength(1)
  })
})

describe('overrides in TypeScript', () => {
  it('take what the reader takes: numbers for digits and amounts, null for no amount', () => {
    const overrides = {
      collector: { config: { retentionWeeks: 4 } },
      web: { trustedProxies: 2, resources: { limits: { cpu: null }, requests: { cpu: 0.5 } } },
      postgres: { storage: { size: 21_474_836_480 } },
    } satisfies ValuesOverrides
    expect(mistakesOf(overrides)).toEqual([])
  })

  it('are refused by the compiler where the reader refuses them', () => {
    // @ts-expect-error a text is no list
    expect(mistakesOf({ web: { tolerations: 'all' } } satisfies ValuesOverrides)).toHaveLength(1)
    // @ts-expect-error no such field
    const misspelt = { web: { affinity: { nodeAfinity: {} } } } satisfies ValuesOverrides
    expect(mistakesOf(misspelt)).toHaveLength(1)
  })
})

describe('files of values merge as in Helm', () => {
  const valuesOf = (...files: readonly unknown[]) => contextOf(files, RELEASE)['Values']

  it('lets later files win, merges maps and replaces lists', () => {
    const merged = valuesOf(
      { collector: { port: 1111, nodeSelector: { a: '1', b: '1' }, tolerations: [{ key: 'a' }] } },
      { collector: { port: 2222, nodeSelector: { b: '2' }, tolerations: [{ key: 'b' }] } },
    )
    expect(merged).toMatchObject({
      collector: { port: 2222, nodeSelector: { a: '1', b: '2' }, tolerations: [{ key: 'b' }] },
    })
  })

  it('reads whole numbers as digits where digits are asked for (2.6 retentionWeeks)', () => {
    expect(valuesOf({ collector: { config: { retentionWeeks: 4 } } })).toMatchObject({
      collector: { config: { retentionWeeks: '4' } },
    })
  })

  it('gives the defaults of 2.6 when nothing is set', () => {
    expect(valuesOf()).toMatchObject({
      collector: {
        enabled: true,
        image: {
          host: '',
          tag: readVersions().collector,
          pullPolicy: 'IfNotPresent',
          pullSecret: '',
        },
        replicaCount: 1,
        port: 8080,
        metricsPort: 9090,
        config: { storageType: 'postgres', sinkType: 'memory_batch', retentionWeeks: '13' },
        resources: {
          limits: { cpu: '500m', memory: '512Mi' },
          requests: { cpu: '100m', memory: '128Mi' },
        },
        nodeSelector: {},
      },
      postgres: { collectorDatabase: 'collector' },
    })
  })
})

/** Values in which the effect of every leaf can be seen. */
const EXTERNAL = {
  envVars: { DB_HOST: 'db.example.com' },
  dbProxy: { instanceConnectionName: 'a:b:c' },
  secrets: { DB_PASSWORD: 'password' },
  httpRoute: { gateway: 'gateway' },
}
const SCALED = { autoscaling: { enabled: true, minReplicas: 5 } }
const BALANCED = { service: { type: 'LoadBalancer' } }
const PROMETHEUS = { prometheusUrl: 'http://prometheus:9090' }
const EVERYTHING = {
  ...EXTERNAL,
  web: { ...SCALED, ...BALANCED },
  worker: SCALED,
  oauth: { ...SCALED, ...BALANCED },
  collector: { autoscaling: { ...SCALED.autoscaling, keda: PROMETHEUS } },
  ingress: {
    enabled: true,
    host: 'a.example.com',
    tlsSecret: 'certificate',
    oauthHost: 'oauth.example.com',
  },
  httpRoute: {
    enabled: true,
    gateway: 'gateway',
    host: 'a.example.com',
    oauthHost: 'oauth.example.com',
  },
  podMonitor: { enabled: true },
  prometheusRule: { enabled: true },
  grafanaDashboards: { enabled: true },
  tools: { upstream: 'https://index.example.com/simple', upstreamSecret: 'index' },
  mail: { smtpSecret: 'smtp' },
}
const SIGN_IN = {
  auth: {
    provider: 'oidc',
    issuerUrl: 'https://idp.example.com',
    clientId: 'platform',
    adminClaim: 'groups',
    adminValue: 'admins',
    groupsClaim: 'groups',
    groups: 'crews -> Acme: editor',
  },
  secrets: { OIDC_CLIENT_SECRET: 'secret' },
}
const TRACES = {
  collector: {
    database: { host: 'traces.example.com', passwordSecret: 'traces' },
    readDatabase: { urlSecret: 'replica' },
    citus: { distribute: true, coordinatorSecret: 'coordinator' },
    grpc: { enabled: true },
  },
}
const KEDA = { enabled: true, keda: { enabled: true } }
const BY_WORK = {
  worker: { autoscaling: KEDA },
  collector: { autoscaling: mergeOverrides([KEDA, { keda: PROMETHEUS }]) },
}
const REFERENCED = {
  auth: SIGN_IN.auth,
  secretKeyRefs: Object.fromEntries(
    Object.keys(schema.secretKeyRefs.shape).map((key) => [key, { name: 'mine' }]),
  ),
}
const PROOF = { requireProof: true, proofKey: `302a300506032b6570032100${'0f'.repeat(32)}` }
const BACKUP = { backup: { enabled: true, passphraseSecret: 'passphrase' } }
const S3 = { bucket: 'backups', endpoint: 'https://s3.example.com', credentialsSecret: 'bucket' }
const DEFAULTS = {}
/** Those with the most effects come first. */
const BASES = [
  mergeOverrides([EVERYTHING, SIGN_IN, TRACES]),
  DEFAULTS,
  { buildkit: { enabled: false } },
  REFERENCED,
  { global: { caBundle: { secret: 'ca' } } },
  BACKUP,
  { backup: { passphraseSecret: 'passphrase' } },
  { upgrade: PROOF },
  { upgrade: { proofKey: PROOF.proofKey } },
  { configuration: { existingConfigMap: 'settings' } },
  { backup: { ...BACKUP.backup, s3: S3 } },
  { backup: { s3: S3 }, collector: { archive: { enabled: true } } },
  { collector: { archive: { enabled: true, existingClaim: 'archive' } } },
  { ...BY_WORK, serviceMonitor: { enabled: true } },
  { ...EXTERNAL, postgres: { enabled: false } },
  { ...EXTERNAL, postgres: { enabled: false }, dbProxy: { ...EXTERNAL.dbProxy, enabled: true } },
]

const ALTERNATIVES = {
  map: [{ flipped: 'yes' }, { flipped: '7' }],
  object: [{ nodeAffinity: {} }, { scaleUp: {} }],
  quantity: ['7Gi', '7m'],
  texts: [['flipped'], ['10.0.0.0/8']],
  list: [
    [{ key: 'flipped', operator: 'Exists' }],
    [{ name: 'flipped' }],
    [{ name: 'flipped', mountPath: '/f' }],
  ],
}

/** The components have the same fields below the same keys. */
const kindOf = ({ path }: { readonly path: string }): string => path.split('.').at(-1) ?? ''

describe('every value matters (npm run test:long: of each component)', () => {
  it.each(firstOfEach(leavesOf(schema), kindOf).map(({ path, field }) => [path, field] as const))(
    '%s',
    (path, field) => {
      const users = new Set(usersOf(chart.usedBy, path))
      const used = tree.objects.filter((each) => users.has(templateOf(each)))
      const candidates = new Set(alternatives(path, field))
      const base = bases.find((each) =>
        [...candidates].some((value) => {
          const changed = contextWith(each, nested(path, value))
          if ('context' in changed) {
            return used.some((object) => rendered(changed.context, object) !== known(each, object))
          }
          // What the field itself refuses, it refuses whatever the others are.
          if (changed.mistakes.some((mistake) => mistake.startsWith(`${path}: expected`))) {
            candidates.delete(value)
          }
          return false
        }),
      )
      // What made this value matter makes its neighbours matter, too.
      if (base) bases = [base, ...bases.filter((each) => each !== base)]
      // A word list of one has nothing to flip to; what it holds must at least arrive in a
      // manifest.
      const [word, ...others] = field.kind === 'string' ? (field.words ?? []) : []
      const arrives = (): boolean =>
        word !== undefined &&
        others.length === 0 &&
        tree.objects.some((each) => known(DEFAULTS, each).includes(`"${word}"`))
      expect(base !== undefined || arrives()).toBe(true)
    },
  )

  const templateOf = ({ component, name }: SourceObject): string =>
    `templates/${component}/${name}.yaml`

  const rendered = (context: Context, object: SourceObject): string =>
    JSON.stringify(platformManifests(context, { ...tree, objects: [object] }))

  /** The context with these values, or the mistakes in them. */
  const contextWith = (
    ...overrides: readonly unknown[]
  ): { readonly context: Context } | { readonly mistakes: readonly string[] } => {
    try {
      return { context: contextOf(overrides, RELEASE) }
    } catch (thrown) {
      if (thrown instanceof ValuesError) return { mistakes: thrown.mistakes }
      throw thrown
    }
  }

  let bases = BASES
  const unchanged = new Map<unknown, { context: Context; texts: Map<SourceObject, string> }>()

  /** An object with the values of a base, as it is rendered once. */
  function known(base: unknown, object: SourceObject): string {
    const of = unchanged.get(base) ?? { context: contextOf([base], RELEASE), texts: new Map() }
    unchanged.set(base, of)
    const text = of.texts.get(object) ?? rendered(of.context, object)
    of.texts.set(object, text)
    return text
  }

  const nested = (path: string, value: unknown): unknown =>
    path.split('.').reduceRight((inner: unknown, key) => ({ [key]: inner }), value)

  /** An example, or a mount of a volume that is there already. */
  const partFor = (path: string, example: unknown): unknown =>
    path.endsWith('.extraVolumeMounts')
      ? [{ name: path.startsWith('buildkit') ? 'cache' : 'tmp', mountPath: '/flipped' }]
      : example

  function alternatives(path: string, field: LeafField): readonly unknown[] {
    if (field.kind === 'boolean') return [!field.default]
    if (field.kind === 'integer') return [field.default < field.max ? field.default + 1 : field.min]
    if (isFreeField(field)) return [partFor(path, field.example)]
    if (field.kind !== 'string') return ALTERNATIVES[field.kind]
    if (field.words) return field.words.filter((word) => word !== field.default)
    if (path.startsWith('secrets.')) return ['flipped-flipped-flipped-flipped-flipped']
    if (path.endsWith('.digest')) return [`sha256:${'f'.repeat(64)}`]
    if (path.endsWith('.proofKey')) return [PROOF.proofKey.replaceAll('0f', '0e')]
    return [
      'flipped',
      'openid flipped',
      '7',
      '7000000',
      '7s',
      'cards,keys',
      '10.0.0.0/8',
      'https://flipped.example.com',
      'flipped.example.com/class',
      'x:y:flipped',
      'flipped/',
      'flipped@example.com',
      '7 7 * * *',
      '{"flipped":true}',
    ]
  }
})

describe('the chart documents and guards the same values', () => {
  const jsonSchema = JSON.parse(chart.files.get('values.schema.json') ?? '') as object
  // It interprets the schema: to compile it takes longer than to try all values.
  const validator = new Validator(jsonSchema, '7')
  const isValid = (values: unknown): boolean => validator.validate(values).valid

  it('has the defaults in values.yaml, valid by its own schema', () => {
    const [defaults] = parseYaml(chart.files.get('values.yaml') ?? '')
    expect(defaults).toEqual(contextOf([], RELEASE)['Values'])
    expect(isValid(defaults)).toBe(true)
  })

  it('explains every key in values.yaml and in the README', () => {
    const readme = chart.files.get('README.md') ?? ''
    const comments = chart.files.get('values.yaml')?.replaceAll(/\s+#? */g, ' ') ?? ''
    const leaves = leavesOf(schema)
    const rows = new Set([...readme.matchAll(/\| `([^`]+)` \|/g)].map(([, path]) => path))
    expect(leaves.filter(({ path }) => !rows.has(path))).toEqual([])
    // The components have many fields, and their explanations, in common.
    const docs = new Set(leaves.map(({ field }) => field.doc))
    expect([...docs].filter((doc) => !comments.includes(doc))).toEqual([])
  })

  it('closes every map of the schema but global, where parent charts put their keys', () => {
    const open: string[] = []
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return
      if (
        'properties' in node &&
        'type' in node &&
        !('additionalProperties' in node && node.additionalProperties === false)
      ) {
        open.push(path)
      }
      for (const [key, member] of Object.entries(node)) visit(member, `${path}/${key}`)
    }
    visit(valuesSchema(schema), '')
    expect(open).toEqual(['/properties/global'])
  })

  it('accepts in the schema what synth accepts, for any values', () => {
    fc.assert(fc.property(arbitraryValues(schema), isValid), { numRuns: isLong ? 100 : 10 })
  })
})
