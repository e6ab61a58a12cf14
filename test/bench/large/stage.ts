import type { ChildProcess } from 'node:child_process'
import { issueStaticToken } from '../../../services/platform/automations/static-tokens.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { ensureUser } from '../../../services/platform/people/users.ts'
import { createSession } from '../../../services/platform/people/sessions.ts'
import { closeStage, end, openStage, startWeb } from '../../faults/runs/stage.ts'
import type { Stage } from '../../faults/runs/stage.ts'
import { freePort } from '../../support/free-port.ts'

/** One task that is done for each item of a list, four at a time. */
const crew: CrewDefinition = {
  name: 'Counted',
  llm: { model: 'counting' },
  agents: [{ key: 'agent', role: 'Agent', goal: 'Answer about {topic}' }],
  inputs: [{ name: 'items', type: 'array' }],
  tasks: [
    {
      key: 'each',
      description: '[run {number} task each/item:{item}] Answer about {topic}.',
      expected_output: 'An answer',
      agent: 'agent',
      for_each: '$.inputs.items',
      parallel: 4,
    },
  ],
}

/** Runs of one automation, and the web service that is asked about them. */
export interface LargeStage {
  readonly runs: Stage
  readonly origin: string
  readonly web: ChildProcess
  /** A token of its own for each of so many callers. */
  readonly tokens: readonly string[]
  /** One that is good for the whole organization. */
  readonly token: string
  /** The cookie of a person who is signed in. */
  readonly cookie: string
  close(): Promise<void>
}

/** Opens a stage whose model answers after some milliseconds, for so many callers. */
export async function openLargeStage(latencyMs: number, callers: number): Promise<LargeStage> {
  const runs = await openStage(() => latencyMs, { crew })
  const { sql, automation } = runs
  const { organizationId, id: deploymentId } = automation
  const issue = (name: string, of: number | null): Promise<string> =>
    issueStaticToken(sql, { organizationId, deploymentId: of, name, createdBy: null })
  const tokens: string[] = []
  for (let nr = 0; nr < callers; nr += 1) tokens.push(await issue(`caller ${nr}`, deploymentId))
  const userId = await ensureUser(sql, {
    organizationId,
    role: 'admin',
    email: 'ada@acme.test',
    name: 'Ada Park',
    passwordHash: null,
  })
  const origin = `http://127.0.0.1:${await freePort()}`
  const web = await startWeb(runs, origin)
  return {
    runs,
    origin,
    web,
    tokens,
    token: await issue('all', null),
    cookie: `platform_session=${await createSession(sql, userId)}`,
    async close() {
      await end(web, 'SIGTERM')
      await closeStage(runs)
    },
  }
}
