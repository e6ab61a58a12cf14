import { expect } from 'vitest'
import type { CrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { listReplayedRuns } from '../../../../services/platform/replays/replay-results.ts'
import { createReplay, findReplay } from '../../../../services/platform/replays/replays.ts'
import type { ReplayFields } from '../../../../services/platform/replays/replays.ts'
import { definition } from '../../../support/crew.ts'
import { startMcpServer, textResult } from '../../../support/mcp-server.ts'
import { openWorker } from '../harness.ts'

const properties = { q: { type: 'string' } }
const inputSchema = { type: 'object' as const, properties }
const look = { name: 'look', inputSchema }
const seek = { name: 'seek', inputSchema }

/**
 * Opens a platform with a crew, a worker, a model and a tool that count who calls them. The crew
 * may call other servers by their origins.
 */
export async function openReplayStage(origins: readonly string[] = []) {
  const opened = await openWorker()
  const { platform, publish, deploy } = opened
  const { sql, automation } = platform
  const server = await startMcpServer([look, seek], { answer: () => textResult('Found.') })
  /** The tools of the server, in an order. */
  const docsOf = (...names: string[]) => {
    const pinned = { tools: names.map((name) => ({ name, input_schema: inputSchema })) }
    return { type: 'mcp' as const, url: server.url, tools: names, pinned }
  }

  /** Publishes a version with changes; returns its number. */
  async function publishVersion(change: object = {}): Promise<number> {
    await publish(parseCrewDefinition({ ...definition, ...change }))
    const [{ number }] = await sql<[{ number: number }]>`
      select number from project_versions v join deployments d on d.project_version_id = v.id
      where d.id = ${automation.id}`
    return number
  }

  async function startAll(): Promise<void> {
    await deploy({ TOOL_PRIVATE_ORIGINS: [server.origin, ...origins].join(',') })
    await platform.startWorker()
  }

  async function begin(version: number, fields: Partial<ReplayFields> = {}) {
    const [{ projectVersionId }] = await sql<[{ projectVersionId: number }]>`
      select project_version_id from deployments where id = ${automation.id}`
    const asked = { mode: 'offline' as const, tokensMax: 0 }
    const all = { last: 20, status: 'any' as const, ofVersion: null, kickoffIds: [], ...asked }
    const chosen: Omit<ReplayFields, 'version'> = { ...all, ...fields }
    const by = { version, createdBy: 'test' }
    return sql.begin((tx) =>
      createReplay(tx, { ...automation, projectVersionId }, { ...chosen, ...by }),
    )
  }

  /** Performs runs again, and returns what was found of each. */
  async function replay(version: number, fields: Partial<ReplayFields> = {}, timeout = 20_000) {
    const { id } = await begin(version, fields)
    const find = () => findReplay(sql, { id, deploymentId: automation.id })
    await expect.poll(async () => (await find())?.finishedAt, { timeout }).toBeTruthy()
    return { id, runs: await listReplayedRuns(sql, id), summary: await find() }
  }

  return { ...opened, sql, server, docsOf, publishVersion, startAll, begin, replay }
}

export const agentsWith = (tools: readonly string[]): CrewDefinition['agents'] =>
  definition.agents.map((agent) => ({ ...agent, tools: [...tools] }))
