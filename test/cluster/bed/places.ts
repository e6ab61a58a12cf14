import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'crew-platform')
const base = join(cache, 'cluster')

/** The repository, which is the context of the image builds. */
export const repository = resolve(import.meta.dirname, '../../..')

/** The directories of the bed. Programs and images are a cache; `state` is the running cluster. */
export const places = {
  tools: join(cache, 'tools'),
  programs: join(base, 'programs'),
  images: join(base, 'images'),
  wheels: join(base, 'wheels'),
  crewai: join(base, 'crewai'),
  state: join(base, 'state'),
  logs: join(base, 'state/log'),
  certificates: join(base, 'state/certificates'),
  config: join(base, 'state/config'),
  containerdSocket: join(base, 'state/containerd.sock'),
  kubeconfig: join(base, 'state/config/admin.kubeconfig'),
} as const

/**
 * The one node: its addresses, and those of its pods and Services, exist in the bed's network
 * namespace only.
 */
export const network = {
  node: 'node1',
  nodeAddress: '10.240.0.1',
  pods: '10.244.0.0/24',
  services: '10.96.0.0/16',
  apiService: '10.96.0.1',
  dns: '10.96.0.10',
  /** What stands in for the world outside of the cluster, at the node's address. */
  outside: { registryPort: 5001, indexPort: 5002 },
} as const

export function makePlaces(): void {
  const { tools: _, containerdSocket: _socket, kubeconfig: _file, ...directories } = places
  for (const path of Object.values(directories)) mkdirSync(path, { recursive: true })
}
