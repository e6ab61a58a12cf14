import {
  Client as PerRequestClient,
  StreamableHTTPClientTransport as PerRequestTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../../services/platform/runs/run-queue.ts'
import type { Database } from '../../../../../services/shared/postgres/database.ts'
import { until } from '../../../../support/until.ts'

const INFO = { name: 'a client', version: '1' }

/** How far a run has come, as a client is told. */
export interface Told {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

export interface ToolAnswer {
  readonly content?: unknown
  readonly structuredContent?: unknown
  readonly isError?: boolean | undefined
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

export interface TestClient {
  listTools(): Promise<{ name: string; description?: string | undefined; inputSchema: object }[]>
  callTool(call: {
    name: string
    arguments: Record<string, unknown>
    meta?: Record<string, unknown>
    onprogress?: (told: Told) => void
    signal?: AbortSignal
  }): Promise<ToolAnswer>
  listResources(): Promise<{ uri: string; mimeType?: string | undefined }[]>
  /** Returns the texts of a resource. */
  readResource(uri: string): Promise<unknown[]>
  close(): Promise<void>
}

const headersOf = (token: string) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
})

/** The official client for the versions with sessions. */
export async function openOldClient(url: string, token: string): Promise<TestClient> {
  const client = new Client(INFO)
  const transport = new StreamableHTTPClientTransport(new URL(url), headersOf(token))
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return toTestClient(client)
}

/** The official client for 2026-07-28, and for no other version. */
export async function openNewClient(url: string, token: string): Promise<TestClient> {
  const client = new PerRequestClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new PerRequestTransport(new URL(url), headersOf(token)))
  return toTestClient(client)
}

/** What a person enters in the form of a client, or how they leave it. */
type Entered =
  | { action: 'accept'; content: Record<string, string | number> }
  | { action: 'decline' }

/** The same, with a person whom the client asks. */
export async function openNewClientOf(
  { url, token }: { url: string; token: string },
  person: (question: string) => Entered,
): Promise<TestClient> {
  const client = new PerRequestClient(INFO, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    capabilities: { elicitation: { form: {} } },
  })
  client.setRequestHandler('elicitation/create', ({ params }) => person(params.message))
  await client.connect(new PerRequestTransport(new URL(url), headersOf(token)))
  return toTestClient(client)
}

const toTestClient = (client: Client | PerRequestClient): TestClient => ({
  async listTools() {
    const tools = []
    let cursor: string | undefined
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor })
      tools.push(...page.tools)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return tools
  },
  async callTool({ name, arguments: given, meta, onprogress, signal }) {
    const params = { name, arguments: given, ...(meta && { _meta: meta }) }
    const options = { ...(onprogress && { onprogress }), ...(signal && { signal }) }
    const answer: unknown =
      client instanceof Client
        ? await client.callTool(params, undefined, options)
        : await client.callTool(params, options)
    return answer as ToolAnswer
  },
  async listResources() {
    const resources = []
    let cursor: string | undefined
    do {
      const page = await client.listResources(cursor === undefined ? {} : { cursor })
      resources.push(...page.resources)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return resources
  },
  async readResource(uri) {
    const { contents } = await client.readResource({ uri })
    return contents.map((each) => ('text' in each ? each.text : undefined))
  },
  close: () => client.close(),
})

/** Takes the next run as a worker does, once there is one. */
export async function takeRun(sql: Database): Promise<LeasedRun> {
  let taken: LeasedRun | undefined
  await until(async () => {
    taken ??= (await takeRuns(sql, 1))[0]
    return taken !== undefined
  })
  if (!taken) throw new Error('no run')
  return taken
}
