import { CA_DIRECTORY } from './kit/ca-bundle.ts'
import { all, equals, isSet, not } from './template/operators.ts'
import type { Symbolic } from './template/operators.ts'
import type { Rule } from './template/rules.ts'
import { values } from './values.ts'
import type { Values } from './values.ts'

/** The names and places that the chart itself takes in the pods of a component. */
interface Taken {
  readonly containers: readonly string[]
  readonly volumes: readonly string[]
  /** Where its main container has mounts. */
  readonly mounts: readonly string[]
}

const CA = 'ca-bundle'
const BEFORE = ['db-proxy', 'wait-for-postgres', 'migrate']

/** What is taken, by component; a test holds it against the manifests. */
export const TAKEN = {
  web: {
    containers: ['web', ...BEFORE],
    volumes: ['tmp', CA, 'prices'],
    mounts: ['/tmp', CA_DIRECTORY, '/etc/prices'],
  },
  worker: {
    containers: ['worker', ...BEFORE],
    volumes: ['tmp', CA, 'prices', 'build-certificates'],
    mounts: ['/tmp', CA_DIRECTORY, '/etc/prices', '/etc/platform/builds'],
  },
  oauth: { containers: ['oauth', ...BEFORE], volumes: ['tmp', CA], mounts: ['/tmp', CA_DIRECTORY] },
  collector: {
    containers: ['collector', ...BEFORE],
    volumes: ['tmp', CA, 'certificate', 'redaction', 'prices'],
    mounts: ['/tmp', CA_DIRECTORY, '/certificate', '/etc/redaction', '/etc/prices'],
  },
  postgres: {
    containers: ['postgres'],
    volumes: ['data', 'tmp', 'var-run-postgresql'],
    mounts: ['/tmp', '/var/lib/postgresql', '/var/run/postgresql'],
  },
  buildkit: {
    containers: ['buildkitd'],
    volumes: [CA, 'cache', 'config', 'certificates'],
    mounts: ['/home/user/.local/share/buildkit', '/etc/buildkit', '/certificates', CA_DIRECTORY],
  },
  internalRegistry: {
    containers: ['registry', 'gate'],
    volumes: ['data', 'config', 'tmp', CA, 'auth'],
    mounts: ['/tmp', '/var/lib/registry', '/etc/distribution', '/auth'],
  },
} as const satisfies Readonly<Record<string, Taken>>

type Component = keyof typeof TAKEN

// oxlint-disable-next-line typescript/consistent-type-assertions -- the keys are those of TAKEN
const components = Object.keys(TAKEN) as readonly Component[]

type Additions = Symbolic<
  Pick<
    Values['web'],
    | 'extraInitContainers'
    | 'extraContainers'
    | 'extraVolumes'
    | 'extraVolumeMounts'
    | 'dnsPolicy'
    | 'dnsConfig'
  >
>

/** What an operator adds to the pods of a component has names and places of its own. */
export const ownNames: readonly Rule[] = [
  {
    lists: [values.extraSecretMounts, values.extraConfigMapMounts],
    member: 'mountPath',
    taken: ['/tmp', CA_DIRECTORY],
    message:
      'extraSecretMounts and extraConfigMapMounts need a mountPath of its own for each, ' +
      `neither /tmp nor ${CA_DIRECTORY}`,
  },
  ...components.flatMap(rulesOf),
]

function rulesOf(component: Component): readonly Rule[] {
  const given: Additions = values[component]
  const { containers, volumes, mounts } = TAKEN[component]
  return [
    {
      lists: [given.extraInitContainers, given.extraContainers],
      member: 'name',
      taken: containers,
      message: needs(`${component}.extraInitContainers and extraContainers`, 'name', containers),
    },
    {
      lists: [given.extraVolumes],
      member: 'name',
      taken: volumes,
      message: needs(`${component}.extraVolumes`, 'name', volumes),
    },
    {
      lists: [given.extraVolumeMounts],
      member: 'mountPath',
      taken: mounts,
      message: needs(`${component}.extraVolumeMounts`, 'mountPath', mounts),
    },
    {
      refuse: all(equals(given.dnsPolicy, 'None'), not(isSet(given.dnsConfig))),
      message: `${component}.dnsConfig is required with dnsPolicy None`,
    },
  ]
}

function needs(lists: string, member: string, taken: readonly string[]): string {
  return `${lists} need a ${member} of its own for each, none of ${taken.join(', ')}`
}
