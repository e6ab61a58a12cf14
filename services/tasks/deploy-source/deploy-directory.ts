import { setTimeout as sleep } from 'node:timers/promises'
import { listProjectFiles, packFiles } from './pack-directory.ts'
import type { DeployRequest } from './options.ts'
import { createClient, isRefused } from './platform-client.ts'
import type { RemoteDeployment } from './platform-client.ts'

const POLL_MS = 1000
const ENDS: Readonly<Record<string, number>> = {
  'Crew is Online': 0,
  'Crew has Failed': 2,
  Replaced: 2,
  'Crew is Offline': 2,
}
const REFUSED = 2
const LATE = 3

/** Where the task writes: its result, and how far it is. */
export interface Output {
  readonly result: (text: string) => void
  readonly progress: (text: string) => void
}

/** Deploys a directory, follows the deployment to its end, and returns the exit code. */
export async function deployDirectory(request: DeployRequest, output: Output): Promise<number> {
  const { result, progress } = request.json ? { ...output, progress: () => {} } : output
  const client = createClient(request)
  try {
    const files = await listProjectFiles(request.directory)
    const bytes = files.reduce((sum, { size }) => sum + size, 0)
    progress(`Sending ${files.length} files, ${bytes} bytes before compression.`)
    const { create } = request
    const url =
      create === undefined
        ? request.url.href.replace(/\/+$/, '')
        : await client.create(request.url, create)
    if (create !== undefined) progress(`Created ${url}`)
    const sent = await client.deploy(url, packFiles(request.directory, files))
    progress(`Deployment ${sent.number}: ${sent.state}`)
    const { deployment, code } = await follow({ client, url, request, progress }, sent)
    result(request.json ? toJson(url, deployment) : toText(deployment, code))
    return code
  } catch (thrown) {
    if (!isRefused(thrown)) throw thrown
    result(request.json ? JSON.stringify({ error: thrown.message }) : thrown.message)
    return REFUSED
  }
}

interface Following {
  readonly client: ReturnType<typeof createClient>
  readonly url: string
  readonly request: DeployRequest
  readonly progress: (text: string) => void
}

async function follow(
  { client, url, request, progress }: Following,
  sent: RemoteDeployment,
): Promise<{ deployment: RemoteDeployment; code: number }> {
  if (request.timeoutMs === 0) return { deployment: sent, code: 0 }
  const until = performance.now() + request.timeoutMs
  let deployment = sent
  let read = 0
  for (;;) {
    const before = deployment.state
    const log = await client.readLog(url, sent.number, read)
    read = log.next
    if (log.text !== '') progress(log.text.trimEnd())
    deployment = await client.look(url, sent.number)
    if (deployment.state !== before) progress(`Deployment ${sent.number}: ${deployment.state}`)
    const code = ENDS[deployment.state]
    if (code !== undefined) return { deployment, code }
    if (performance.now() > until) return { deployment, code: LATE }
    await sleep(POLL_MS)
  }
}

const toJson = (url: string, { number, state, reason, source }: RemoteDeployment): string =>
  JSON.stringify({ automation: url, number, state, reason, digest: source.digest }, null, 2)

function toText({ number, state, reason }: RemoteDeployment, code: number): string {
  const why = reason === null ? '' : ` ${reason}`
  if (code === LATE) return `Deployment ${number} is not online yet: ${state}.${why}`
  return `Deployment ${number}: ${state}.${why}`
}
