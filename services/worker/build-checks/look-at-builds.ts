import type { BuildLook, BuildProblem } from '../../platform/crews/build-checks.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import { registryCredential } from '../../shared/registry-credentials.ts'
import type { ImageBuilder } from '../deployments/kubernetes/cluster-settings.ts'
import { reachBuildkit } from './reach-buildkit.ts'
import type { ReachedBuildkit } from './reach-buildkit.ts'

const REACH_MS = 5000
/** Of no organization, so that the credential reaches no image. */
const NOBODY = 0

/** Looks whether BuildKit, the registry and its address for nodes answer; builds nothing. */
export async function lookAtBuilds(builder: ImageBuilder): Promise<BuildLook> {
  const [buildkit, registry, pulls] = await Promise.all([
    lookAtBuildkit(builder),
    lookAtRegistry(builder),
    lookAtPulls(builder),
  ])
  return {
    problems: [buildkit.problem, registry, pulls].filter((problem) => problem !== undefined),
    certificates: buildkit.certificates,
  }
}

async function lookAtBuildkit({ address, certificates }: ImageBuilder): Promise<ReachedBuildkit> {
  try {
    return await reachBuildkit(address, await certificates())
  } catch (thrown) {
    const { message } = toError(thrown)
    return { problem: { code: 'buildkit_tls_failed', message }, certificates: {} }
  }
}

/** The registry takes the credential that builds push with. */
async function lookAtRegistry({
  registry,
  registryKey,
}: ImageBuilder): Promise<BuildProblem | undefined> {
  const { username, password } = registryCredential(registryKey, NOBODY, 'push')
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  try {
    const status = await ask(`http://${registry}/v2/`, { authorization })
    if (status === 200) return undefined
    const isRefusal = status === 401 || status === 403
    const code = isRefusal ? 'build_registry_refused' : 'build_registry_unreachable'
    return { code, message: `The registry answers a credential that pushes with ${status}.` }
  } catch (thrown) {
    const message = `The registry does not answer: ${reasonOf(thrown)}`
    return { code: 'build_registry_unreachable', message }
  }
}

/**
 * Any answer counts, and a certificate that only nodes trust is one. What a node has at `localhost`
 * shows on the node alone.
 */
async function lookAtPulls({ pullAddress }: ImageBuilder): Promise<BuildProblem | undefined> {
  const code = 'pull_address_unusable'
  let address: string
  try {
    address = await pullAddress()
  } catch (thrown) {
    return { code, message: toError(thrown).message }
  }
  if (/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|$)/.test(address)) return undefined
  try {
    await ask(`https://${address}/v2/`, {})
    return undefined
  } catch (thrown) {
    const reason = reasonOf(thrown)
    if (/cert|ssl|tls/i.test(reason)) return undefined
    return { code, message: `${address} does not answer: ${reason}` }
  }
}

const ask = (url: string, headers: Record<string, string>): Promise<number> =>
  deadline({ name: new URL(url).host, timeoutMs: REACH_MS }, async (signal) => {
    const answer = await fetch(url, { headers, signal, redirect: 'manual' })
    await answer.body?.cancel()
    return answer.status
  })

/** The cause says more than `fetch failed`. */
function reasonOf(thrown: unknown): string {
  const { cause, message } = toError(thrown)
  return cause instanceof Error ? `${cause.message} ${codeOf(cause)}`.trim() : message
}

const codeOf = (error: Error & { readonly code?: unknown }): string =>
  typeof error.code === 'string' && !error.message.includes(error.code) ? error.code : ''
