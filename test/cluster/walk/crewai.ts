import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { CREWAI } from '../../support/crewai-project.ts'
import { command } from '../bed/command.ts'
import { crewaiProject, twine } from '../bed/crewai-project.ts'
import { words } from '../bed/words.ts'
import { addressOf, comesTrue } from './cluster.ts'
import {
  callerOf,
  createAutomation,
  isOnline,
  openApi,
  removeAutomation,
  send,
  sendProject,
} from './own-project.ts'
import type { Api, Project } from './own-project.ts'
import { endOf, kickOff, runToEnd } from './platform.ts'
import { signIn } from './session.ts'
import type { Session } from './session.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

/** The calls of the model in each run: one that calls the tool, and one answer of each agent. */
const CALLS = 3

const secondsSince = (started: number): number => Math.round((performance.now() - started) / 1000)

/** The files of the project, with what an edition adds. */
function project(edition: string): Project {
  const { directory } = crewaiProject
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(directory, path).startsWith('.git/'))
  const files = paths.map((path) => [relative(directory, path), readFileSync(path, 'utf8')])
  const all: Project = Object.fromEntries(files)
  return { ...all, 'src/demo/crew.py': `${all['src/demo/crew.py'] ?? ''}\n# ${edition}\n` }
}

/** Uploads the package of the tool as its makers do, unless an earlier step has. */
async function uploadTool({ base, token }: Api): Promise<void> {
  const simple = `${base}/tools/organization/simple/acme-slugs/`
  const headers = { authorization: `Basic ${btoa(`__token__:${token}`)}` }
  const found = await fetch(simple, { headers, signal: AbortSignal.timeout(20_000) })
  if (found.status === 200) return
  const wheels = readdirSync(crewaiProject.wheels)
    .filter((name) => name.endsWith('.whl'))
    .map((name) => join(crewaiProject.wheels, name))
  await command(
    words`${twine.program} upload --non-interactive --disable-progress-bar
      --repository-url ${`${base}/tools/organization/`} ${wheels}`,
    { env: { ...twine.env, TWINE_USERNAME: '__token__', TWINE_PASSWORD: token } },
  )
}

async function createCrewai(api: Api, way: 'slim' | 'image'): Promise<string> {
  const automation = await createAutomation(api, `CrewAI ${way}`)
  const settings = { way, egress: ['model.model.svc'], memory_limit: '2Gi', cpu_limit: '2' }
  await send(api, `${automation}/settings`, { method: 'PATCH', body: settings })
  for (const [name, value] of [
    ['OPENAI_API_KEY', 'sk-of-the-crew'],
    ['OPENAI_BASE_URL', 'http://model.model.svc/v1'],
  ]) {
    const body = { value, secret: true }
    await send(api, `${automation}/variables/${name}`, { method: 'PUT', body })
  }
  return automation
}

const askModel = async (path: string): Promise<Readonly<Record<string, number>>> => {
  const url = `${await addressOf('model', 'model')}${path}`
  const answer = await fetch(url, { signal: AbortSignal.timeout(20_000) })
  // The manifest of the model writes what this reads.
  return (await answer.json()) as Record<string, number>
}

/** The prompts of a run, each with how often it was asked. */
const promptsOf = async (word: string): Promise<readonly (readonly [string, number])[]> =>
  Object.entries(await askModel('/asked')).filter(([prompt]) => prompt.includes(word))

/** Each call of the model was made once, and one of them has the answer of the tool. */
async function wasAskedOnce(word: string): Promise<void> {
  const prompts = await promptsOf(word)
  assert.deepEqual(
    prompts.map(([, count]) => count),
    Array.from({ length: CALLS }).fill(1),
    `calls of the model: ${JSON.stringify(prompts)}`,
  )
  assert(prompts.some(([prompt]) => prompt.includes('slug:hello-big-world')))
}

/** Changes what runs while a run waits for the model's second answer. */
async function underRun(
  api: Api,
  automation: string,
  change: () => Promise<unknown>,
): Promise<void> {
  const word = randomUUID()
  const caller = callerOf(api, automation)
  const id = await kickOff(caller, `held-${word}`)
  const isHeld = async (): Promise<boolean> => (await promptsOf(word)).length === 2
  await comesTrue('the run has called its tool and waits for the model', isHeld)
  await change()
  await askModel(`/release/${word}`)
  assert.equal(await endOf(caller, id), 'completed')
  await wasAskedOnce(word)
}

/** The page of the run's trace has the tool's call, and those of the model. */
async function showsTrace(session: Session, id: string): Promise<void> {
  const path = `/traces/${id.replaceAll('-', '')}`
  let page = ''
  await comesTrue(`the page of trace ${id} has its spans`, async () => {
    page = await session.page(path)
    return ['make_slug', 'gpt-4o'].every((text) => page.includes(text))
  }).catch((cause: unknown) => {
    throw new Error(page.slice(-5000), { cause })
  })
}

async function walkProject(way: 'slim' | 'image'): Promise<string> {
  const api = await openApi()
  await uploadTool(api)
  const automation = await createCrewai(api, way)
  const deploy = async (edition: string) => {
    const started = performance.now()
    const number = await sendProject(api, automation, project(edition))
    const { image } = await isOnline(api, automation, number)
    return { number, image, seconds: secondsSince(started) }
  }
  const first = await deploy('first')
  const word = randomUUID()
  const started = performance.now()
  const run = await runToEnd(callerOf(api, automation), word)
  const runSeconds = secondsSince(started)
  assert.equal(run.status, 'completed')
  await wasAskedOnce(word)
  await showsTrace(await signIn(NAMESPACE, api.base), run.id)
  let second = 0
  await underRun(api, automation, async () => {
    second = (await deploy('second')).seconds
  })
  const goBack = performance.now()
  await underRun(api, automation, async () => {
    const body = { roll_back_to: first.number }
    const path = `${automation}/deployments`
    const { number } = await send<{ number: number }>(api, path, { body })
    assert.equal((await isOnline(api, automation, number)).image, first.image)
  })
  const back = secondsSince(goBack)
  await removeAutomation(api, automation)
  const rolled = `changed after ${second} s, back after ${back} s`
  return `online after ${first.seconds} s, ${rolled}; a run took ${runSeconds} s`
}

const what = `a project of CrewAI ${CREWAI} with a tool that twine uploads goes to its trace`

export const crewaiSlim: Step = {
  name: 'crewai',
  sentence: `${what}, under "restricted", and roll-outs lose no run`,
  run: () => walkProject('slim'),
}

export const crewaiImage: Step = {
  name: 'crewai-image',
  sentence: `${what}, as an image, and roll-outs lose no run`,
  run: () => walkProject('image'),
}
