import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { comesTrue, kubectl } from './cluster.ts'
import {
  callerOf,
  createAutomation,
  isOnline,
  openApi,
  removeAutomation,
  sendProject,
} from './own-project.ts'
import type { Project } from './own-project.ts'
import { brokenCrews } from './broken-crews.ts'
import { crewaiSlim } from './crewai.ts'
import { query, runToEnd } from './platform.ts'
import { crewsOf, NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

/** A project with nothing but a function, and a requirement that the public tools index has. */
const PROJECT: Project = {
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

/** Deploys the project, runs it once and deletes it again; returns after how long it was online. */
export async function walkTides(namespace: string): Promise<string> {
  const api = await openApi(namespace)
  const automation = await createAutomation(api, 'Tides')
  const started = performance.now()
  await isOnline(api, automation, await sendProject(api, automation, PROJECT))
  const seconds = Math.round((performance.now() - started) / 1000)
  const run = await runToEnd(callerOf(api, automation))
  assert.equal(run.status, 'completed')
  const count = `select count(*) from spans where trace_id = '${run.id}'`
  await comesTrue(
    `run ${run.id} has spans`,
    async () => Number(await query(namespace, 'collector', count)) > 0,
  )
  const pods = await kubectl(words`get pods -n ${crewsOf(namespace)} -l platform/automation
    -o jsonpath={.items[*].metadata.name}`)
  assert.match(pods, /^crew-\d+-\d+-/)
  await removeAutomation(api, automation)
  return `online after ${seconds} s`
}

export const ownCrew: readonly Step[] = [
  {
    name: 'own-crew',
    sentence: 'a project goes from curl to a completed run, in restricted pods, and leaves nothing',
    run: () => walkTides(NAMESPACE),
  },
  brokenCrews,
  crewaiSlim,
]
