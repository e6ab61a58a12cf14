import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import type { Summary } from '../../services/local/summary.ts'
import { signCollectorToken } from '../../services/shared/collector-token.ts'
import { buildToolPackage, createCrewaiProject } from '../support/crewai-project.ts'
import { freePortBase } from '../support/free-port.ts'
import { startHttpServer } from '../support/http-server.ts'
import { localPlatformPath } from '../support/program.ts'
import { runCommands } from '../support/run-commands.ts'

/** Takes packages of some hundred megabytes from PyPI, and some minutes. */
const isLong = process.env['CREWS'] !== undefined
const PATIENCE = { timeout: 600_000, interval: 500 }

const stops: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop()
})

interface Message {
  readonly role: string
  readonly content?: unknown
}

/** A model that lets its agent call a tool, and answers when it is allowed to. */
async function startModel() {
  const asked: string[] = []
  const results: unknown[] = []
  let permit = (): void => {}
  let permitted = Promise.resolve()
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { messages, tools, model } = JSON.parse(body)
    const said = messages.filter(({ role }: Message) => role === 'tool')
    results.push(...said.map(({ content }: Message) => content))
    const isCall = tools?.length > 0 && said.length === 0
    asked.push(isCall ? 'tool' : 'answer')
    await permitted
    const call = { name: tools?.[0]?.function.name, arguments: '{"text":"Hello Big World"}' }
    const message = isCall
      ? { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'function', function: call }] }
      : { role: 'assistant', content: `Answer ${asked.length}` }
    const finish_reason = isCall ? 'tool_calls' : 'stop'
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    const choices = [{ index: 0, message, finish_reason }]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: '1', object: 'chat.completion', model, choices, usage }))
  }
  const server = await startHttpServer((request, response) => void answer(request, response))
  stops.push(() => server.stop())
  return {
    url: `${server.url}/v1`,
    asked,
    results,
    /** Lets calls wait from now on. */
    hold(): void {
      permitted = new Promise<void>((resolve) => (permit = resolve))
    },
    release: () => permit(),
  }
}

async function startPlatform(): Promise<Summary> {
  const directory = await mkdtemp(join(tmpdir(), 'local-crews-'))
  const args = ['--data', directory, '--port-base', String(await freePortBase()), '--json']
  const child = spawn(process.execPath, [localPlatformPath(), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stops.push(async () => {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
    await rm(directory, { recursive: true, force: true })
  })
  for await (const line of createInterface(child.stdout)) return JSON.parse(line)
  throw new Error('npm start ended before it was ready')
}

/** Makes a project as CrewAI makes it, and uploads the package of its tool. */
async function makeProject(folder: string, run: (commands: string) => Promise<string>) {
  await buildToolPackage(folder, run)
  await run(
    'uvx --quiet twine upload --non-interactive --repository-url "$TOOLS/organization/" ' +
      '-u __token__ -p "$TOKEN" dist/*.whl',
  )
  await createCrewaiProject(folder, run)
}

describe.skipIf(!isLong)('a project of CrewAI under npm start', { timeout: 1_800_000 }, () => {
  it('goes by curl from an archive to runs that survive roll-outs', async () => {
    const [model, platform] = await Promise.all([startModel(), startPlatform()])
    const folder = await mkdtemp(join(tmpdir(), 'crew-project-'))
    stops.push(() => rm(folder, { recursive: true }))
    const env: Record<string, string> = {
      TOKEN: platform.static_token,
      TOOLS: `${platform.web_url}/tools`,
      DESIGNER: `${platform.web_url}/designer/v2`,
      AUTH: `Authorization: Bearer ${platform.static_token}`,
      JSON: 'Content-Type: application/json',
    }
    const { signal } = new AbortController()
    const run = (commands: string) => runCommands(commands, { folder, env, signal })
    const curl = async (rest: string) => JSON.parse(await run(`curl -fsS -H "$AUTH" ${rest}`))
    await makeProject(folder, run)

    const created = await curl(`-H "$JSON" -d '{"name":"Demo"}' "$DESIGNER/automations"`)
    const id: string = created.automation_id
    env['CREW'] = `${platform.web_url}/designer/v2/automations/${id}`
    env['API'] = `${platform.web_url}/${platform.api_prefix}/api/v1/crew/${id}`
    for (const [name, value] of [
      ['OPENAI_API_KEY', 'sk-of-the-crew'],
      ['OPENAI_BASE_URL', model.url],
    ]) {
      const body = JSON.stringify({ value, secret: true })
      await run(`curl -fsS -H "$AUTH" -H "$JSON" -X PUT -d '${body}' "$CREW/variables/${name}"`)
    }

    const stateOf = async (number: number) => {
      const { state, reason } = await curl(`"$CREW/deployments/${number}"`)
      return state === 'Crew has Failed' ? reason : state
    }
    async function deploy(what: string): Promise<void> {
      const startedMs = performance.now()
      const { number } = await curl(`${what} "$CREW/deployments"`)
      await expect.poll(() => stateOf(number), PATIENCE).toBe('Crew is Online')
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
      console.log(`deployment ${number} was online after ${seconds} s`)
    }
    const archive = '-H "Content-Type: application/gzip" --data-binary @demo.tgz'
    const pack = 'tar czf demo.tgz --exclude .git -C demo .'
    await run(pack)
    await deploy(archive)

    const inputs = JSON.stringify({ inputs: { topic: 'Big Things', current_year: '2026' } })
    const kickoff = async (): Promise<string> =>
      (await curl(`-H "$JSON" -d '${inputs}' "$API/kickoff"`)).kickoff_id
    const statusOf = async (run: string) => (await curl(`"$API/status/${run}"`)).status

    const first = await kickoff()
    await expect.poll(() => statusOf(first), PATIENCE).toBe('completed')
    expect(model.results).toContain('slug:hello-big-world')
    expect(model.asked).toEqual(['tool', 'answer', 'answer'])
    await expectTrace(platform, first)

    model.asked.length = 0
    model.hold()
    const second = await kickoff()
    await expect.poll(() => model.asked, PATIENCE).toEqual(['tool'])
    await run(`echo '# changed' >> demo/src/demo/crew.py; ${pack}`)
    await deploy(archive)
    model.release()
    model.hold()
    await expect.poll(() => model.asked, PATIENCE).toEqual(['tool', 'answer'])
    await deploy(`-H "$JSON" -d '{"roll_back_to":1}'`)
    model.release()
    await expect.poll(() => statusOf(second), PATIENCE).toBe('completed')
    expect(model.asked).toEqual(['tool', 'answer', 'answer'])
  })
})

/** Its spans are there: the call of the tool, and those of the model. */
async function expectTrace(platform: Summary, run: string): Promise<void> {
  const token = await signCollectorToken(platform.collector_jwt_secret, 'test')
  const url = `${platform.collector_url}/api/traces/${run.replaceAll('-', '')}`
  const names = async (): Promise<string[]> => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    return [...(await response.text()).matchAll(/"name":"([^"]+)"/g)].map(([, name = '']) => name)
  }
  await expect
    .poll(names, PATIENCE)
    .toEqual(expect.arrayContaining(['execute_tool make_slug', 'chat gpt-4o', 'Demo.kickoff']))
}
