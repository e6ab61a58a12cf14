import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { words } from '../bed/words.ts'
import { addressOf, comesTrue, kubectl, tryKubectl } from './cluster.ts'
import { makeCaller, query, runToEnd } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

/** A project with nothing but a function, and a requirement that the public tools index has. */
const PROJECT: Readonly<Record<string, string>> = {
  'pyproject.toml': `[project]
name = "tides"
version = "1.0.0"
requires-python = ">=3.10"
dependencies = ["crew-runtime"]

[tool.crew-runtime]
entrypoint = "tides:run"
`,
  'tides.py': `def run(inputs):
    return f"The tide comes at {inputs.get('topic', 'noon')}."
`,
}

/** The project as an archive, as \`tar\` makes it. */
async function archive(files: Readonly<Record<string, string>>): Promise<Uint8Array<ArrayBuffer>> {
  const directory = mkdtempSync(join(tmpdir(), 'own-crew-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(directory, 'project', name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    const file = join(directory, 'project.tar.gz')
    const made = spawnSync('tar', ['-czf', file, '-C', join(directory, 'project'), '.'])
    assert.equal(made.status, 0, made.stderr.toString())
    return new Uint8Array(await readFile(file))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

interface Deployment {
  readonly number: number
  readonly state: string
  readonly reason: string | null
}

interface Api {
  readonly base: string
  readonly token: string
}

interface Request {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
}

async function call<T>({ base, token }: Api, path: string, init: Request = {}): Promise<T> {
  const answer = await fetch(base + path, {
    ...init,
    headers: { Authorization: `Bearer ${token}`, ...init.headers },
    signal: AbortSignal.timeout(30_000),
  })
  const text = await answer.text()
  assert(answer.ok, `${init.method ?? 'GET'} ${path}: ${answer.status} ${text}`)
  // An answer whose form the platform's own tests pin.
  return JSON.parse(text) as T
}

/** Sends the project, and waits until it is online; the build log tells why when it is not. */
async function deploy(api: Api, automationId: string): Promise<void> {
  const path = `/designer/v2/automations/${automationId}/deployments`
  const body = await archive(PROJECT)
  const headers = { 'content-type': 'application/gzip' }
  const { number } = await call<Deployment>(api, path, { method: 'POST', headers, body })
  let last: Deployment | undefined
  await comesTrue(`deployment ${number} is online`, async () => {
    last = await call<Deployment>(api, `${path}/${number}`)
    assert.notEqual(last.state, 'Crew has Failed', JSON.stringify(last))
    return last.state === 'Crew is Online'
  }).catch(async (cause: unknown) => {
    const log = await call<unknown>(api, `${path}/${number}/logs/build`).catch(() => undefined)
    throw new Error(`${JSON.stringify(last)}\n${JSON.stringify(log)}`, { cause })
  })
}

const objectsLeft = async (): Promise<string> => {
  const kinds = 'deployments,services,networkpolicies,secrets,pods'
  const { stdout } = await tryKubectl(
    words`get ${kinds} -n ${crewsOf(NAMESPACE)} -l platform/automation -o name`,
  )
  return stdout.trim()
}

export const ownCrew: readonly Step[] = [
  {
    name: 'own-crew',
    sentence: 'a project goes from curl to a completed run, in restricted pods, and leaves nothing',
    async run() {
      const base = await addressOf(NAMESPACE, 'platform-web')
      const { token } = await makeCaller(NAMESPACE)
      const api = { base, token }
      const { automation_id: id } = await call<{ automation_id: string }>(
        api,
        '/designer/v2/automations',
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ name: `Tides ${Date.now()}` }),
        },
      )
      const started = performance.now()
      await deploy(api, id)
      const seconds = Math.round((performance.now() - started) / 1000)
      const caller = { url: `${base}/platform/api/v1/crew/${id}`, token }
      const run = await runToEnd(caller)
      assert.equal(run.status, 'completed')
      const count = `select count(*) from spans where trace_id = '${run.id}'`
      await comesTrue(
        `run ${run.id} has spans`,
        async () => Number(await query(NAMESPACE, 'collector', count)) > 0,
      )
      const pods = await kubectl(words`get pods -n ${crewsOf(NAMESPACE)} -l platform/automation
        -o jsonpath={.items[*].metadata.name}`)
      assert.match(pods, /^crew-\d+-\d+-/)
      await call(api, `/designer/v2/automations/${id}`, { method: 'DELETE' })
      await comesTrue('nothing of it is left', async () => (await objectsLeft()) === '')
      return `online after ${seconds} s`
    },
  },
]
