const affinity = (term: object): object => ({
  web: {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  },
})

const nodes = (requirement: object): object => ({
  web: {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [requirement] }],
        },
      },
    },
  },
})

/** The values of the first requirement that `nodes` makes. */
const FIRST_EXPRESSION_VALUES =
  'web.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.' +
  'nodeSelectorTerms[0].matchExpressions[0].values'
const tolerations = (toleration: object): object => ({ web: { tolerations: [toleration] } })
const mounts = (...mountPaths: readonly string[]): object => ({
  extraSecretMounts: mountPaths.map((mountPath) => ({ name: 'ca', mountPath })),
})

const backupAt = (schedule: string): object => ({
  backup: { enabled: true, passphraseSecret: 'passphrase', schedule },
})

const spread = (members: object): object => ({
  web: {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...members },
    ],
  },
})

/** A variable with an amount of the container. */
const amountOf = (resource: string, divisor: string | number): object => ({
  name: 'AMOUNT',
  valueFrom: { resourceFieldRef: { resource, divisor } },
})

/** Values of which an API server would refuse an object, and the key that both readings name. */
export const REFUSED_BY_KUBERNETES: readonly (readonly [string, object, string])[] = [
  [
    'a limit below the default request',
    { web: { resources: { limits: { memory: '128Mi' } } } },
    'web.resources.requests.memory',
  ],
  [
    'a request above its limit in another unit',
    { postgres: { resources: { requests: { cpu: '2001m' } } } },
    'postgres.resources.requests.cpu',
  ],
  [
    'a request as a number above its limit',
    { web: { resources: { requests: { memory: 1073741824 } } } },
    'web.resources.requests.memory',
  ],
  [
    'a request of disk above its limit',
    {
      web: {
        resources: {
          requests: { 'ephemeral-storage': '2Gi' },
          limits: { 'ephemeral-storage': '2G' },
        },
      },
    },
    'web.resources.requests.ephemeral-storage',
  ],
  [
    'a quantity without digits',
    { web: { resources: { limits: { cpu: 'much' } } } },
    'web.resources.limits.cpu',
  ],
  ['a volume of no size', { postgres: { storage: { size: '0' } } }, 'postgres.storage.size'],
  [
    'a volume of no size, with a unit',
    { internalRegistry: { storage: { size: '0.0Gi' } } },
    'internalRegistry.storage.size',
  ],
  [
    'tolerationSeconds without NoExecute',
    tolerations({ key: 'a', tolerationSeconds: 1 }),
    'web.tolerations[0].effect',
  ],
  [
    'a toleration of no key that is not Exists',
    tolerations({ value: 'a' }),
    'web.tolerations[0].operator',
  ],
  [
    'a toleration that exists with a value',
    tolerations({ key: 'a', operator: 'Exists', value: 'b' }),
    'web.tolerations[0].value',
  ],
  ['a mount over the scratch volume', mounts('/tmp'), 'extraSecretMounts'],
  ['two mounts in one place', mounts('/etc/ca', '/etc/ca'), 'extraSecretMounts'],
  [
    'a Secret and a ConfigMap in one place',
    { ...mounts('/etc/ca'), extraConfigMapMounts: [{ name: 'ca', mountPath: '/etc/ca' }] },
    'extraSecretMounts',
  ],
  ['a mount on a path with steps back', mounts('/etc/../tmp'), 'extraSecretMounts[0].mountPath'],
  [
    'a host name with a label over 63 characters',
    { ingress: { host: `${'a'.repeat(64)}.example.com` } },
    'ingress.host',
  ],
  [
    'a host name over 253 characters',
    { ingress: { host: `${'a.'.repeat(127)}a` } },
    'ingress.host',
  ],
  ['an address as a host name', { ingress: { host: '10.0.0.1' } }, 'ingress.host'],
  ['a star inside a host name', { ingress: { host: 'a.*.example.com' } }, 'ingress.host'],
  ['the name of an object with two dots', { image: { pullSecret: 'a..b' } }, 'image.pullSecret'],
  [
    'the name of an object over 253 characters',
    { image: { pullSecret: 'a'.repeat(254) } },
    'image.pullSecret',
  ],
  ['a label whose prefix is no domain', { web: { podLabels: { 'a..b/c': 'd' } } }, 'web.podLabels'],
  [
    'a label whose prefix has a dash beside a dot',
    { web: { nodeSelector: { 'a-.b/c': 'd' } } },
    'web.nodeSelector',
  ],
  [
    'a label value over 63 characters',
    { web: { podLabels: { a: 'b'.repeat(64) } } },
    'web.podLabels.a',
  ],
  ['a variable over 253 characters', { extraEnvVars: { ['A'.repeat(254)]: '' } }, 'extraEnvVars'],
  ['a port that a pod without privileges cannot take', { web: { port: 80 } }, 'web.port'],
  [
    'affinity to a field that there is not',
    { web: { affinity: { nodeAfinity: {} } } },
    'web.affinity.nodeAfinity',
  ],
  [
    'affinity of nothing',
    { web: { affinity: { nodeAffinity: null } } },
    'web.affinity.nodeAffinity',
  ],
  [
    'affinity without a place',
    affinity({ labelSelector: {} }),
    'web.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey',
  ],
  [
    'matchLabelKeys without a selector',
    affinity({ topologyKey: 'zone', matchLabelKeys: ['a'] }),
    'web.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector',
  ],
  ['a requirement In nothing', nodes({ key: 'disk', operator: 'In' }), FIRST_EXPRESSION_VALUES],
  [
    'a requirement that exists with values',
    nodes({ key: 'disk', operator: 'Exists', values: ['a'] }),
    FIRST_EXPRESSION_VALUES,
  ],
  [
    'a requirement above two numbers',
    nodes({ key: 'disk', operator: 'Gt', values: ['1', '2'] }),
    FIRST_EXPRESSION_VALUES,
  ],
  ...['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'].map(
    (member) =>
      [
        `an init container with ${member} that does not stay`,
        { web: { extraInitContainers: [{ name: 'a', image: 'b', [member]: {} }] } },
        'web.extraInitContainers[0].restartPolicy',
      ] as const,
  ),
  [
    'matchLabelKeys of a spread without a selector',
    spread({ matchLabelKeys: ['pod-template-hash'] }),
    'web.topologySpreadConstraints[0].labelSelector',
  ],
  [
    'CPU in a unit of bytes',
    { web: { extraEnv: [amountOf('limits.cpu', '1Mi')] } },
    'web.extraEnv[0].valueFrom.resourceFieldRef.divisor',
  ],
  [
    'memory in thousandths',
    {
      web: { extraContainers: [{ name: 'a', image: 'b', env: [amountOf('limits.memory', '1m')] }] },
    },
    'web.extraContainers[0].env[0].valueFrom.resourceFieldRef.divisor',
  ],
  [
    'memory in a number of bytes',
    { worker: { extraEnv: [amountOf('requests.memory', 1024)] } },
    'worker.extraEnv[0].valueFrom.resourceFieldRef.divisor',
  ],
  ...['preStop', 'postStart'].map(
    (moment) =>
      [
        `a pause in ${moment} that is longer than the time to end`,
        { web: { lifecycle: { [moment]: { sleep: { seconds: 31 } } } } },
        `web.lifecycle.${moment}.sleep.seconds`,
      ] as const,
  ),
  [
    'a pause of a worker that is longer than its time to end',
    { worker: { drainSeconds: 10, lifecycle: { preStop: { sleep: { seconds: 41 } } } } },
    'worker.lifecycle.preStop.sleep.seconds',
  ],
  [
    'an organization of a blank that breaks a line',
    { collector: { config: { organizationRetentionDays: { '\u2028': '30' } } } },
    'collector.config.organizationRetentionDays',
  ],
  ['a backup at no minute', { backup: { schedule: '60 * * * *' } }, 'backup.schedule'],
  ['a backup at no hour', { backup: { schedule: '0 24 * * *' } }, 'backup.schedule'],
  ['a backup at no day', { backup: { schedule: '0 0 0 * *' } }, 'backup.schedule'],
  [
    'a backup at a day of the week that is called 7',
    { backup: { schedule: '0 0 * * 7' } },
    'backup.schedule',
  ],
  [
    'a backup at hours from late to early',
    { backup: { schedule: '0 20-5 * * *' } },
    'backup.schedule',
  ],
  [
    'a backup at days from late to early',
    { backup: { schedule: '0 0 * * FRI-MON' } },
    'backup.schedule',
  ],
  ['a backup at each of no steps', { backup: { schedule: '*/0 * * * *' } }, 'backup.schedule'],
  [
    'a backup at what is no field',
    { backup: { schedule: '6* -,263/ //,,5 **1 b,' } },
    'backup.schedule',
  ],
]

/** Values that look unusual and that Kubernetes takes. */
export const TAKEN_BY_KUBERNETES: readonly (readonly [string, object])[] = [
  [
    'an init container that stays, with probes',
    {
      web: {
        extraInitContainers: [
          {
            name: 'a',
            image: 'b',
            restartPolicy: 'Always',
            startupProbe: { exec: { command: ['true'] } },
            lifecycle: { preStop: { exec: { command: ['true'] } } },
          },
        ],
      },
    },
  ],
  [
    'matchLabelKeys of a spread',
    spread({
      labelSelector: { matchLabels: { app: 'a' } },
      matchLabelKeys: ['pod-template-hash'],
    }),
  ],
  [
    'amounts in their units',
    {
      worker: {
        extraEnv: [
          amountOf('limits.cpu', '1m'),
          { ...amountOf('requests.cpu', 1), name: 'CPU' },
          { ...amountOf('limits.memory', '1Gi'), name: 'MEMORY' },
          { ...amountOf('requests.ephemeral-storage', '0'), name: 'DISK' },
        ],
      },
    },
  ],
  ['a backup at */15 * * * *', backupAt('*/15 * * * *')],
  ['a backup at 0 4,16 1-7 * MON-FRI', backupAt('0 4,16 1-7 * MON-FRI')],
  ['a backup at 02 02 * * 0', backupAt('02 02 * * 0')],
  ['a backup at 5/20 22-23 31 JAN-MAR,12 5-6', backupAt('5/20 22-23 31 JAN-MAR,12 5-6')],
  ['a volume in bytes', { postgres: { storage: { size: 21_474_836_480 } } }],
  ['CPU as a bare number', { web: { resources: { limits: { cpu: 0.5 } } } }],
  ['memory in bytes', { web: { resources: { limits: { memory: 1073741824 } } } }],
  ['no CPU limit', { web: { resources: { limits: { cpu: null } } } }],
  [
    'no limits and no requests',
    {
      web: {
        resources: { limits: { cpu: null, memory: null }, requests: { cpu: null, memory: null } },
      },
    },
  ],
  [
    'limits of disk',
    {
      web: {
        resources: {
          limits: { 'ephemeral-storage': '1Gi' },
          requests: { 'ephemeral-storage': '256Mi' },
        },
      },
    },
  ],
  [
    'equal amounts in two units',
    {
      web: {
        resources: {
          limits: { cpu: '1', memory: '1Gi' },
          requests: { cpu: '1000m', memory: '1024Mi' },
        },
      },
    },
  ],
  ['one Secret in two places', mounts('/etc/ca', '/opt/ca')],
  ['a mount below the scratch volume', mounts('/tmp/ca')],
  [
    'a Secret with a long name and dots',
    { extraSecretMounts: [{ name: `a.${'b'.repeat(200)}`, mountPath: '/etc/ca' }] },
  ],
  [
    'a star before a host name',
    { ingress: { enabled: true, host: '*.example.com', tlsSecret: 'wildcard' } },
  ],
  [
    'a day-long toleration',
    tolerations({ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5_000_000 }),
  ],
  [
    'matchLabelKeys',
    affinity({
      topologyKey: 'zone',
      labelSelector: { matchLabels: { app: 'a' } },
      matchLabelKeys: ['pod-template-hash'],
    }),
  ],
  [
    'PostgreSQL under an IPv6 address',
    {
      envVars: { DB_HOST: '2001:db8::1' },
      postgres: { enabled: false },
      secrets: { DB_PASSWORD: 'p' },
    },
  ],
  [
    'PostgreSQL under a name with underscores',
    {
      envVars: { DB_HOST: 'db_main.internal' },
      postgres: { enabled: false },
      secrets: { DB_PASSWORD: 'p' },
    },
  ],
  [
    'keys of a parent chart in global',
    { global: { storageClass: 'fast', image: { registry: 'r.example.com' } } },
  ],
]
