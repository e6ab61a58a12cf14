import {
  createLlmConnection,
  setSealedKey,
} from '../../../../services/platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import { ownCrewDefinition } from '../../../../services/platform/definitions/own-crew-definition.ts'
import { crewToken } from '../../../../services/shared/crew-token.ts'
import { startAdapter, writeProject } from '../../../python/adapter.ts'
import { MODEL_KEY, startModel } from '../../../python/scripted-model.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { SECRET_KEY_BASE } from '../harness.ts'
import { openReplayStage } from './stage.ts'

/** The files of a project by their paths. */
type Project = Readonly<Record<string, string>>

interface SourceStage {
  readonly answer: (question: string) => string
  /** What the model asks a tool. */
  readonly ask?: (tool: string) => object
  /** @default the one on the PATH */
  readonly python?: string
}

/**
 * Opens a platform whose automation is made from a source, with a model and a server of a tool,
 * which count who calls them.
 */
export async function openSourceStage({ answer, ask, python }: SourceStage) {
  const stage = await openReplayStage()
  const { platform, sql } = stage
  const { organizationId, automationId, projectVersionId } = platform.automation
  const model = await startModel(answer, ask)
  let toolCalls = 0
  const tool = await startHttpServer((_, response) => {
    toolCalls += 1
    response.end(`found ${toolCalls}`)
  })
  const adapters: Awaited<ReturnType<typeof startAdapter>>[] = []
  let sources = 0
  const { base_url: baseUrl } = model.endpoint
  // One has a name that is to be looked up.
  const named = baseUrl.replace('127.0.0.1', 'localhost')
  for (const [name, address] of [
    ['gpt-5', baseUrl],
    ['claude-sonnet-4-5', named],
    ['house-model', baseUrl],
  ] as const) {
    const fields = { organizationId, name, model: name, baseUrl: address }
    const made = await createLlmConnection(sql, { ...fields, provider: 'openai_compatible' })
    await setSealedKey(sql, made, createLlmKeys(SECRET_KEY_BASE).seal(MODEL_KEY, made))
  }

  /** How the crew of a source in a folder is started. */
  const adapterOf = (folder: string) => ({
    env: {
      CREW_TOKEN: crewToken(SECRET_KEY_BASE, automationId),
      CREW_PROJECT: folder,
      TOOL_URL: tool.url,
      // Much of CrewAI is compiled once.
      ...(python === undefined ? {} : { PYTHONDONTWRITEBYTECODE: '' }),
    },
    ...(python === undefined ? {} : { python }),
  })

  /** Starts the crew of a source and lets callers reach it; returns its folder. */
  async function deploySource(project: Project): Promise<string> {
    const folder = await writeProject(project)
    const adapter = await startAdapter(adapterOf(folder))
    adapters.push(adapter)
    await adapter.ready()
    await platform.deployAt(adapter.url)
    return folder
  }

  /** Makes a version of what the crew is now; returns its number. */
  async function addVersion(): Promise<number> {
    sources += 1
    const definition = { ...ownCrewDefinition({ name: `source-${sources}`, inputs: [] }) }
    const [{ id, number }] = await sql<[{ id: number; number: number }]>`
      with p as (
        update projects set last_version = last_version + 1
        where id = (select project_id from project_versions where id = ${projectVersionId})
        returning id, organization_id, last_version)
      insert into project_versions (project_id, organization_id, number, definition, published_at)
      select id, organization_id, last_version, ${sql.json(Object(definition))}, now() from p
      returning id, number`
    await sql`
      update deployments set project_version_id = ${id} where id = ${platform.automation.id}`
    return number
  }

  return {
    ...stage,
    model,
    adapterOf,
    deploySource,
    addVersion,
    /** What the crews have written to their logs. */
    logs: () => adapters.map((each) => each.log()).join('\n'),
    /** How often a model or the server of the tool was asked. */
    calls: () => model.asked.length + toolCalls,
    async stopCrews(): Promise<void> {
      await Promise.all(adapters.splice(0).map((each) => each.stop()))
    },
    async stopServers(): Promise<void> {
      await Promise.all([model.stop(), tool.stop(), stage.server.stop()])
    },
  }
}
