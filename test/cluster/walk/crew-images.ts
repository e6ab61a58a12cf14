import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pythonReference } from '../bed/base-images.ts'
import { network, places } from '../bed/places.ts'
import { words } from '../bed/words.ts'
import { makeWheel, uploadForm } from '../../services/web/support/wheels.ts'
import { buildCanary } from './build-canary.ts'
import { buildFixes } from './build-fixes.ts'
import { addressOf, comesTrue, kubectl, rolledOut, upgrade } from './cluster.ts'
import {
  buildLog,
  call,
  callerOf,
  createAutomation,
  isOnline,
  openApi,
  removeAutomation,
  send,
  sendProject,
} from './own-project.ts'
import type { Api, Deployment, Project } from './own-project.ts'
import { crewaiImage } from './crewai.ts'
import { callApi, isWell, kickOff, runToEnd } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const CALLS = 8

/** A project that needs a package of the organization and one of the public index. */
const project = (edition: string): Project => ({
  'pyproject.toml': `[project]
name = "tides"
version = "1.0.0"
requires-python = ">=3.10"
dependencies = ["tide-tables==1.2.3", "humanize", "crew-runtime"]

[tool.crew-runtime]
entrypoint = "tides:run"
`,
  'tides.py': `import humanize
import tide_tables


def run(inputs, context):
    for hour in range(${CALLS}):
        prompt = f"slowly {context.kickoff_id} {hour}"
        context.model("walk", [{"role": "user", "content": prompt}])
    height = humanize.intcomma(1234567)
    return f"${edition}: {height} by table {tide_tables.VERSION}"
`,
})

/** The same with a Dockerfile of its own. */
const withDockerfile = (): Project => ({
  ...project('own'),
  Dockerfile: `FROM ${pythonReference()}
WORKDIR /app
COPY . .
RUN --mount=type=secret,id=uv_index,env=UV_INDEX uv venv /venv \\
 && VIRTUAL_ENV=/venv uv pip install tide-tables humanize crew-runtime
USER 1000:1000
ENTRYPOINT ["/venv/bin/python", "-m", "crew_runtime", "--project", "/app"]
`,
})

const OUTSIDE = `${network.nodeAddress}:${network.outside.registryPort}`
const BUILDKIT_VALUES = JSON.stringify({
  buildkit: {
    enabled: true,
    config: `[registry."docker.io"]
  mirrors = ["${OUTSIDE}"]
[registry."${OUTSIDE}"]
  http = true
`,
    openRanges: [`${network.nodeAddress}/32`],
    resources: { requests: { cpu: '20m', memory: '64Mi' }, limits: { cpu: '2', memory: '2Gi' } },
  },
})

const label = (level: string): Promise<string> =>
  kubectl(words`label --overwrite namespace ${NAMESPACE}
    pod-security.kubernetes.io/enforce=${level}`)

async function uploadPackage(api: Api): Promise<void> {
  const body = uploadForm(makeWheel('tide-tables', '1.2.3'), { description: 'Tides.' })
  await call(api, '/tools/organization/', { method: 'POST', body })
}

/** An automation that is built as an image, and may call the model. */
async function createImageAutomation(api: Api, name: string): Promise<string> {
  const automation = await createAutomation(api, name)
  const settings = { way: 'image', egress: ['model.model.svc'] }
  await send(api, `${automation}/settings`, { method: 'PATCH', body: settings })
  const body = { value: 'http://model.model.svc/v1' }
  await send(api, `${automation}/variables/OPENAI_BASE_URL`, { method: 'PUT', body })
  return automation
}

/** What a run answered. */
async function outputOf(api: Api, automation: string, id: string): Promise<string> {
  const answer = await callApi(callerOf(api, automation), `/status/${id}`)
  return JSON.stringify(await answer.json())
}

async function deploy(api: Api, automation: string, files: Project): Promise<Deployment> {
  const deployment = await isOnline(api, automation, await sendProject(api, automation, files))
  assert.match(deployment.image ?? '', /^localhost:\d+\/org-\d+\/crew-\d+@sha256:[0-9a-f]{64}$/)
  return deployment
}

async function completes(api: Api, automation: string, output: RegExp): Promise<void> {
  const { id, status } = await runToEnd(callerOf(api, automation))
  const said = await outputOf(api, automation, id)
  assert.equal(status, 'completed', said)
  assert.match(said, output)
}

/** How often the model was asked for each step of a run. */
async function askedFor(id: string): Promise<readonly number[]> {
  const base = await addressOf('model', 'model')
  const answer = await fetch(`${base}/asked`, { signal: AbortSignal.timeout(20_000) })
  // The manifest of the model writes what this reads.
  const asked = (await answer.json()) as Record<string, number>
  return Array.from({ length: CALLS }, (_, hour) => asked[`slowly ${id} ${hour}`] ?? 0)
}

/** Changes what runs while a run is half done; its calls are each made once all the same. */
async function underRun(
  api: Api,
  automation: string,
  change: () => Promise<unknown>,
): Promise<void> {
  const id = await kickOff(callerOf(api, automation))
  await comesTrue('the run calls the model', async () => (await askedFor(id))[1] === 1)
  await change()
  await comesTrue(`run ${id} ends`, async () => {
    const said = await outputOf(api, automation, id)
    assert.doesNotMatch(said, /"status":"failed"/)
    return said.includes('"status":"completed"')
  })
  assert.deepEqual(await askedFor(id), Array.from({ length: CALLS }).fill(1))
}

const secondsSince = (started: number): number => Math.round((performance.now() - started) / 1000)

export const crewImages: readonly Step[] = [
  {
    name: 'buildkit',
    sentence: 'BuildKit comes up, rootless, where Pod Security lets it, and all is well',
    async run() {
      await label('privileged')
      const file = join(places.state, 'buildkit-values.json')
      writeFileSync(file, BUILDKIT_VALUES)
      await upgrade(NAMESPACE, words`--values ${file}`)
      await isWell(NAMESPACE)
      return 'ok'
    },
  },
  {
    name: 'crew-image',
    sentence: 'a project becomes an image that its node pulls by digest, and its run is completed',
    async run() {
      const api = await openApi()
      await uploadPackage(api)
      const automation = await createImageAutomation(api, 'Image')
      const cold = performance.now()
      const first = await deploy(api, automation, project('first'))
      const coldSeconds = secondsSince(cold)
      const log = await buildLog(api, `${automation}/deployments/${first.number}`)
      assert.match(log, /generated Dockerfile/)
      assert.doesNotMatch(log, /__token__:/)
      await completes(api, automation, /first: 1,234,567 by table 1\.2\.3/)
      const warm = performance.now()
      await underRun(api, automation, () => deploy(api, automation, project('second')))
      const warmSeconds = secondsSince(warm)
      await completes(api, automation, /second: /)
      await underRun(api, automation, async () => {
        const path = `${automation}/deployments`
        const back = await send<Deployment>(api, path, { body: { roll_back_to: first.number } })
        const { image } = await isOnline(api, automation, back.number)
        assert.equal(image, first.image)
      })
      await completes(api, automation, /first: /)
      await deploy(api, automation, withDockerfile())
      await completes(api, automation, /own: /)
      await removeAutomation(api, automation)
      return `online after ${coldSeconds} s, and after a change after ${warmSeconds} s`
    },
  },
  crewaiImage,
  ...buildCanary,
  buildFixes,
  {
    name: 'image-room',
    sentence: 'a worker has the registry free the room of deleted images',
    async run() {
      // At its start it looks for what is due.
      await kubectl(words`rollout restart deployment/platform-worker -n ${NAMESPACE}`)
      const registry = words`deployment/platform-internal-registry -n ${NAMESPACE}`
      await comesTrue('the registry is restarted', async () =>
        (await kubectl(words`get ${registry} -o json`)).includes('platform/collected-at'),
      )
      await rolledOut(NAMESPACE)
      const log = await kubectl(words`logs ${registry} -c collect`)
      assert.match(log, /eligible for deletion/)
      return `${log.match(/eligible for deletion/g)?.length ?? 0} parts deleted`
    },
  },
  {
    name: 'no-buildkit',
    sentence: 'without BuildKit nothing of the builds is left, and the namespace is restricted',
    async run() {
      await upgrade(NAMESPACE)
      await label('restricted')
      await isWell(NAMESPACE)
      assert.equal(await kubectl(words`get jobs -n ${crewsOf(NAMESPACE)} -o name`), '')
      return 'nothing is left'
    },
  },
]
