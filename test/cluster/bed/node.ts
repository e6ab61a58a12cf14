import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { authority, certificateOf, keyOf } from './certificates.ts'
import { attempt } from './command.ts'
import { inside } from './namespaces.ts'
import { kubeconfigOf, startPart, waitForPart, writeConfig } from './parts.ts'
import { network, places } from './places.ts'
import { endOfLog, runningPid, startProcess } from './processes.ts'

/** The image of a pod's sandbox; the bed makes it. */
export const SANDBOX_IMAGE = 'localhost/pause:1'
/**
 * The control group of all pods: another Kubernetes on this machine keeps its own, and neither
 * clears the other's.
 */
const CONTROL_GROUP = 'crew-platform-bed'
const CONTROL_GROUPS = '/sys/fs/cgroup'

/** Runs `ctr` on the containerd of the bed. */
export const ctr = (...words: string[]): readonly string[] =>
  inside(['ctr', '--address', places.containerdSocket, '--namespace', 'k8s.io', ...words])

/** Starts the container runtime with the bridge network of the pods. */
export async function startContainerd(): Promise<void> {
  const networks = join(places.config, 'networks')
  mkdirSync(networks, { recursive: true })
  writeConfig(join(networks, '10-bridge.conflist'), BRIDGE)
  const config = join(places.config, 'containerd.toml')
  writeConfig(config, containerdConfig(networks))
  startProcess('containerd', inside(['containerd', '--config', config]))
  await waitForPart('containerd', ['ctr', '--address', places.containerdSocket, 'version'])
}

const BRIDGE = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      hairpinMode: true,
      ipMasq: false,
      ipam: {
        type: 'host-local',
        dataDir: join(places.state, 'addresses'),
        ranges: [[{ subnet: network.pods }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
}

const containerdConfig = (networks: string): string => `version = 2
root = "${join(places.state, 'containerd')}"
state = "${join(places.state, 'containerd-run')}"
[grpc]
  address = "${places.containerdSocket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${SANDBOX_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${networks}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

/**
 * Starts the kubelet; while containerd answers and its runtime service does not yet, the kubelet
 * ends and is started again.
 */
export async function startKubelet(): Promise<void> {
  makeControlGroups()
  writeFileSync(join(places.config, 'resolv.conf'), '')
  const config = join(places.config, 'kubelet.json')
  writeConfig(config, KUBELET_CONFIG)
  for (let attempts = 0; attempts < 10; attempts += 1) {
    startPart('kubelet', [
      `--config=${config}`,
      `--kubeconfig=${kubeconfigOf('kubelet')}`,
      `--root-dir=${join(places.state, 'kubelet')}`,
      `--cert-dir=${join(places.state, 'kubelet/pki')}`,
      `--hostname-override=${network.node}`,
      `--node-ip=${network.nodeAddress}`,
    ])
    await delay(4000)
    if (runningPid('kubelet') !== undefined) return
  }
  throw new Error(`the kubelet did not come up: ${endOfLog('kubelet')}`)
}

const KUBELET_CONFIG = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: authority },
  },
  authorization: { mode: 'Webhook' },
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${CONTROL_GROUP}`,
  clusterDNS: [network.dns],
  clusterDomain: 'cluster.local',
  containerRuntimeEndpoint: `unix://${places.containerdSocket}`,
  evictionHard: { 'memory.available': '200Mi', 'nodefs.available': '1%' },
  failCgroupV1: false,
  failSwapOn: false,
  // Settings of the kernel that belong to the whole machine are left alone.
  featureGates: { KubeletInUserNamespace: true },
  imageGCHighThresholdPercent: 100,
  maxOpenFiles: 20_000,
  podLogsDir: join(places.state, 'pod-logs'),
  resolvConf: join(places.config, 'resolv.conf'),
  tlsCertFile: certificateOf('kubelet'),
  tlsPrivateKeyFile: keyOf('kubelet'),
}

/**
 * The root of each hierarchy of control groups: one in version 2, one per controller in version 1,
 * with one of version 2 beside them where systemd keeps both.
 */
function hierarchies(): string[] {
  if (existsSync(join(CONTROL_GROUPS, 'cgroup.controllers'))) return [CONTROL_GROUPS]
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(
      ([, path = '', type = '']) => /^cgroup2?$/.test(type) && path.startsWith(CONTROL_GROUPS),
    )
    .map(([, path = '']) => path)
}

function makeControlGroups(): void {
  for (const root of hierarchies()) {
    const group = join(root, CONTROL_GROUP)
    mkdirSync(group, { recursive: true })
    // In version 1 a new group of this controller is of no use until it has processors and memory.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      const inherited = join(root, file)
      if (existsSync(inherited)) writeFileSync(join(group, file), readFileSync(inherited))
    }
  }
}

/** Removes the control groups of pods that are gone. */
export function removeControlGroups(): void {
  for (const root of hierarchies()) removeGroup(join(root, CONTROL_GROUP))
}

function removeGroup(path: string): void {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) removeGroup(join(path, entry.name))
    }
    rmdirSync(path)
  } catch {
    // A group with a process stays; the next start takes it up again.
  }
}

/** Ends every container of the node, which outlive the kubelet. */
export async function stopContainers(): Promise<void> {
  const tasks = await attempt(ctr('tasks', 'ls', '-q'))
  const ids = tasks.stdout.split('\n').filter(Boolean)
  await Promise.all(ids.map((id) => attempt(ctr('tasks', 'kill', '--signal', 'SIGKILL', id))))
  for (const id of ids) await attempt(ctr('tasks', 'rm', '--force', id))
  const containers = await attempt(ctr('containers', 'ls', '-q'))
  const rest = containers.stdout.split('\n').filter(Boolean)
  if (rest.length > 0) await attempt(ctr('containers', 'rm', ...rest))
}
