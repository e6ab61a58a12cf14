import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { apply, kubectl, longLivedPods } from './cluster.ts'
import { platformImage } from './installation.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const COMPONENT = 'app.kubernetes.io/component'
/** Nodes pull from it, at addresses that no policy knows; its gate asks for credentials. */
const REGISTRY = 'internal-registry:5000'
/** Every port that a pod of the platform listens on. */
const PORTS = [
  'web:3000',
  'web:9090',
  'worker:3001',
  'oauth:3002',
  'collector:8080',
  'collector:9090',
  'postgres:5432',
  REGISTRY,
]

/**
 * Which of them each caller reaches, as the README of the chart promises; everything else stays
 * closed.
 */
const OPEN: Readonly<Record<string, readonly string[]>> = {
  stranger: ['web:3000', REGISTRY],
  monitoring: ['web:3000', 'web:9090', 'worker:3001', 'collector:9090', REGISTRY],
  web: ['oauth:3002', 'collector:8080', 'postgres:5432', REGISTRY],
  worker: ['web:3000', 'oauth:3002', 'collector:8080', 'postgres:5432', REGISTRY],
  collector: ['postgres:5432'],
  crew: ['web:3000', REGISTRY],
}

// Prints the targets that accept a connection within two seconds.
const PROBE = `
const { connect } = require('node:net')
const open = (target) => new Promise((resolve) => {
  const [name, host, port] = target.split(',')
  const socket = connect({ host, port: Number(port), timeout: 2000 })
  const end = (text) => { socket.destroy(); resolve(text) }
  socket.once('connect', () => end(name))
  for (const event of ['error', 'timeout']) socket.once(event, () => end(''))
})
Promise.all(process.argv.slice(1).map(open))
  .then((names) => console.log(names.filter(Boolean).join(' ')))
`

async function targets(): Promise<readonly string[]> {
  const pods = await longLivedPods(NAMESPACE)
  return PORTS.map((name) => {
    const [component, port] = name.split(':')
    const pod = pods.find(({ metadata }) => metadata.labels?.[COMPONENT] === component)
    assert(pod?.status.podIP, `there is no pod of ${component}`)
    return `${name},${pod.status.podIP},${port}`
  })
}

/** The ports of other components: a pod always reaches itself. */
const others = (caller: string, ports: readonly string[]): readonly string[] =>
  ports.filter((port) => !port.startsWith(`${caller}:`))

/** A pod in a namespace of its own that does nothing but be called upon. */
async function startProbe(namespace: string): Promise<readonly string[]> {
  const probe = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'probe', namespace },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'probe',
          image: platformImage(),
          imagePullPolicy: 'Never',
          command: ['node', '-e', 'setInterval(() => {}, 1000)'],
        },
      ],
    },
  }
  await apply(
    JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }),
  )
  await apply(JSON.stringify(probe))
  await kubectl(words`wait --for=condition=Ready pod/probe -n ${namespace} --timeout=5m`)
  return words`-n ${namespace} pod/probe`
}

async function podOf(caller: string): Promise<readonly string[]> {
  if (caller === 'stranger' || caller === 'monitoring') return startProbe(caller)
  if (caller === 'crew') return words`-n ${crewsOf(NAMESPACE)} deployment/crew-runner`
  return words`-n ${NAMESPACE} deployment/platform-${caller} -c ${caller}`
}

export const network: readonly Step[] = [
  {
    name: 'network-policies',
    sentence: 'each caller reaches the ports that the chart promises, and no other',
    async run() {
      const ports = await targets()
      const found: Record<string, readonly string[]> = {}
      for (const caller of Object.keys(OPEN)) {
        const pod = await podOf(caller)
        const printed = await kubectl(
          words`exec ${pod} -- node -e ${PROBE} ${others(caller, ports)}`,
        )
        found[caller] = printed.trim().split(' ').filter(Boolean)
      }
      await kubectl(words`delete namespace stranger monitoring --wait=false`)
      assert.deepEqual(found, OPEN)
      return `${Object.keys(OPEN).length} callers, ${PORTS.length} ports`
    },
  },
]
