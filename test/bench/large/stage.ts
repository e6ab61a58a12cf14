import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { issueStaticToken } from '../../../services/platform/automations/static-tokens.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { ensureUser } from '../../../services/platform/people/users.ts'
import { createSession } from '../../../services/platform/people/sessions.ts'
import {
  closeStage,
  end,
  openStage,
  SECRET_KEY_BASE,
  spawnProgram,
} from '../../faults/runs/stage.ts'
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
  const { sql, automation, programs, server } = runs
  const { organizationId, id: deploymentId } = automation
  const tokens: string[] = []
  for (let nr = 0; nr < callers; nr += 1) {
    const issued = { organizationId, deploymentId, name: `caller ${nr}`, createdBy: null }
    tokens.push(await issueStaticToken(sql, issued))
  }
  const userId = await ensureUser(sql, {
    organizationId,
    role: 'admin',
    email: 'ada@acme.test',
    name: 'Ada Park',
    passwordHash: null,
  })
  const origin = `http://127.0.0.1:${await freePort()}`
  const web = spawnProgram(join(programs, 'web/main.js'), {
    DATABASE_URL: server.url,
    HOST: '127.0.0.1',
    PORT: new URL(origin).port,
    PLATFORM_VERSION: '1.0.0',
    PLATFORM_BASE_URL: origin,
    SECRET_KEY_BASE,
    TOKEN_CALLS_PER_MINUTE: '0',
    ORGANIZATION_CALLS_PER_MINUTE: '0',
    QUEUED_RUNS_MAX: '0',
  })
  while (!(await fetch(`${origin}/health`).catch(() => undefined))) {
    if (web.exitCode !== null) throw new Error(`the web service ended with ${web.exitCode}`)
    await delay(25)
  }
  return {
    runs,
    origin,
    web,
    tokens,
    token: await issueStaticToken(sql, {
      organizationId,
      deploymentId: null,
      name: 'all',
      createdBy: null,
    }),
    cookie: `platform_session=${await createSession(sql, userId)}`,
    async close() {
      await end(web, 'SIGTERM')
      await closeStage(runs)
    },
  }
}
