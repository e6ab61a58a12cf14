import assert from 'node:assert/strict'
import { network } from '../bed/places.ts'
import { comesTrue } from './cluster.ts'
import {
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
import { runToEnd } from './platform.ts'
import type { Step } from './step.ts'

const GOOD = 'def run(inputs):\n    return "Hello."\n'

/** The index of packages has a private address here. */
const SETTINGS = { memory_limit: '512Mi', egress: [`${network.nodeAddress}/32`] }

const project = (program: string, dependencies: readonly string[] = []): Project => ({
  'pyproject.toml': `[project]
name = "broken"
version = "1.0.0"
requires-python = ">=3.10"
dependencies = ${JSON.stringify(dependencies)}

[tool.crew-runtime]
entrypoint = "broken:run"
`,
  'broken.py': program,
})

/** What is wrong with a project, and what its deployment says in the end. */
const BROKEN: Readonly<Record<string, readonly [Project, RegExp]>> = {
  'a syntax error': [project('def run(inputs:\n'), /SyntaxError|is not valid Python/],
  'a dependency that does not exist': [
    project(GOOD, ['surely-no-such-package>=1']),
    /surely-no-such-package/,
  ],
  'a write to the read-only root': [
    project(`open("/usr/mine", "w")\n${GOOD}`),
    /Read-only file system: '\/usr\/mine'/,
  ],
  'a need of 4 GiB': [
    project(`data = b"x" * (4 << 30)\n${GOOD}`),
    /more memory than its limit; raise the limit|MemoryError/,
  ],
}

/** Waits for the end of a deployment that cannot come up; returns all that it says. */
async function failureOf(api: Api, automation: string, number: number): Promise<string> {
  const path = `${automation}/deployments/${number}`
  let last: Deployment | undefined
  await comesTrue(
    `${automation} fails`,
    async () => {
      last = await call<Deployment>(api, path)
      assert.notEqual(last.state, 'Crew is Online')
      return last.state === 'Crew has Failed'
    },
    20,
  )
  return JSON.stringify(last)
}

async function fails(api: Api, name: string): Promise<string> {
  const [files, says] = BROKEN[name] ?? []
  assert(files && says)
  const automation = await createAutomation(api, `Broken by ${name}`)
  await send(api, `${automation}/settings`, { method: 'PATCH', body: SETTINGS })
  const started = performance.now()
  const said = await failureOf(api, automation, await sendProject(api, automation, files))
  assert.match(said, says, name)
  const seconds = Math.round((performance.now() - started) / 1000)
  await removeAutomation(api, automation)
  return `${name} after ${seconds} s`
}

/** A crew whose import takes a minute is online in the end, and takes runs while others fail. */
async function goesOn(api: Api): Promise<string> {
  const automation = await createAutomation(api, 'Slow import')
  const slow = project(`import time\ntime.sleep(60)\n${GOOD}`)
  await isOnline(api, automation, await sendProject(api, automation, slow))
  assert.equal((await runToEnd(callerOf(api, automation))).status, 'completed')
  await removeAutomation(api, automation)
  return 'one went on'
}

export const brokenCrews: Step = {
  name: 'broken-crews',
  sentence:
    'broken projects fail with their last lines and what to do, one that is imported for a ' +
    'minute does not, and another crew takes runs meanwhile',
  async run() {
    const api = await openApi()
    const broken = Object.keys(BROKEN).map((name) => fails(api, name))
    const told = await Promise.all([goesOn(api), ...broken])
    return told.join(', ')
  },
}
