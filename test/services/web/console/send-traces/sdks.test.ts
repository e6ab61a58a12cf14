import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSettings } from '../../../../../services/web/console/send-traces/settings.ts'
import type { Setting } from '../../../../../services/web/console/send-traces/settings.ts'
import { openTraces } from '../../../../../services/web/traces/trace-reader.ts'
import { SECRET } from '../../../collector/support/harness.ts'
import { requestOf, spanOf, toJson } from '../../../collector/support/otlp.ts'
import type { SignedInUser } from '../../support/platform.ts'
import { runCommands } from '../../../../support/run-commands.ts'
import { copyTexts, openSendTraces } from '../../support/send-traces.ts'
import type { SendTraces } from '../../support/send-traces.ts'
import { CACHE, folderOf, missingOf, TOOLCHAINS, writeFiles } from './programs.ts'
import { ANSWER, startStubModel, TOKENS } from './stub-model.ts'

/**
 * `all`, `npm run test:long -- sdks`, installs every SDK that the machine has a toolchain for; the
 * word of a program in the page's addresses, such as `langchain`, that one alone.
 */
const isLong = (process.env['SDKS'] ?? '') !== ''
const QUESTION = 'How warm is it in Paris?'
const LONG_MS = 900_000
const { all } = createSettings()

/** Why a program is not run here; undefined when it is. */
function reasonToSkip(setting: Setting): string | undefined {
  if (!isLong) return setting.key === 'node' ? undefined : 'only test:long -- sdks installs it'
  if (!['all', setting.key].includes(process.env['SDKS'] ?? '')) return 'SDKS names another one'
  const missing = missingOf(TOOLCHAINS[setting.key])
  return missing && `${missing} is not on the PATH`
}

for (const setting of isLong ? all : []) {
  const reason = reasonToSkip(setting)
  if (reason) console.warn(`${setting.name} was not tried: ${reason}`)
}

const isSkipped = (key: string): boolean =>
  !isLong || all.some((setting) => setting.key === key && reasonToSkip(setting) !== undefined)

/** The files of a page, by their names. */
function filesOf(texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const files = [...texts].filter(([label]) => label.startsWith('File '))
  return new Map(files.map(([label, text]) => [label.slice('File '.length), text]))
}

describe('a program of the page Send traces', () => {
  let site: SendTraces
  let ada: SignedInUser
  let model: Awaited<ReturnType<typeof startStubModel>>
  let variables: string
  beforeAll(async () => {
    site = await openSendTraces()
    model = await startStubModel()
    ada = await site.platform.signIn(site.platform.acme)
    variables = (await site.issue(ada)).get('Commands that set the variables') ?? ''
  })
  afterAll(async () => {
    await model.stop()
    await site.close()
  })

  const show = async (path: string): Promise<string> =>
    (await (await site.get(path, ada)).text()).replaceAll('&#39;', "'")
  const traces = async (): Promise<{ id: string; service: string | null }[]> => {
    await site.collector.rolledUp()
    const place = { collectorUrl: site.collector.collector.url, secret: SECRET }
    const reader = openTraces(place)(site.platform.acme.organizationId)
    const { traces: listed } = await reader.list(new URLSearchParams({ limit: '50' }))
    return listed.map(({ trace_id: id, service }) => ({ id, service }))
  }
  const environment = () => ({
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: model.baseUrl,
    // Of the libraries: nothing leaves this machine.
    CREWAI_DISABLE_TELEMETRY: 'true',
    CREWAI_TRACING_ENABLED: 'false',
    TRACELOOP_TELEMETRY: 'false',
  })

  const runs = all.filter(
    (setting) => reasonToSkip(setting) === undefined && setting.key !== 'collector',
  )
  it.each(runs)(
    'sends its conversation, model and tokens to the trace page: $name',
    async ({ key }) => {
      const texts = copyTexts(await show(`/send-traces?for=${key}`))
      const get = (label: string): string => texts.get(label) ?? ''
      const base = isLong ? CACHE : mkdtempSync(join(tmpdir(), 'sdks-'))
      const folder = folderOf(key, { linked: !isLong }, base)
      const { before = 'true', adapt = (text: string) => text } = TOOLCHAINS[key]
      const surroundings = { folder, env: environment(), signal: AbortSignal.timeout(LONG_MS) }
      if (isLong) await runCommands(before, surroundings)
      writeFiles(folder, filesOf(texts))
      if (isLong) await runCommands(adapt(get('Commands that install')), surroundings)
      const known = new Set((await traces()).map(({ id }) => id))
      await runCommands(`${variables}\n${get('Command that runs it')}`, surroundings)
      const sent = (await traces()).filter(({ id }) => !known.has(id))
      expect(sent.map(({ service }) => service)).toContain('weather')
      const pages = await Promise.all(sent.map(({ id }) => pagesOf(id)))
      expectConversation(pages.flat(), key)
    },
    LONG_MS,
  )

  it.skipIf(isSkipped('collector'))(
    'takes what other programs send to it, as the OpenTelemetry Collector',
    async () => {
      const texts = copyTexts(await show('/send-traces?for=collector'))
      const stop = new AbortController()
      const folder = folderOf('collector', { linked: false })
      writeFiles(folder, filesOf(texts))
      const surroundings = { folder, env: {}, signal: stop.signal }
      const run = `${variables}\n${texts.get('Command that runs it')}`
      const collector = runCommands(run, surroundings)
      const span = spanOf({ name: 'through the OpenTelemetry Collector' })
      const init = {
        method: 'POST',
        body: toJson(requestOf(span)).toString(),
        headers: { 'content-type': 'application/json' },
      }
      const send = () => fetch('http://127.0.0.1:4318/v1/traces', init).catch(() => undefined)
      const page = () => show(`/traces/${span.traceId}`)
      try {
        await expect.poll(async () => (await send())?.status, { timeout: 180_000 }).toBe(200)
        await expect.poll(page, { timeout: 180_000 }).toContain(span.name)
      } finally {
        stop.abort()
        await collector
      }
    },
    LONG_MS,
  )

  const telemetrygen = { needs: ['telemetrygen'] }
  it.skipIf(!isLong || missingOf(telemetrygen) !== undefined)(
    'is no matter for what telemetrygen sends: spans that are about no model',
    async () => {
      const { host } = new URL(site.collector.collector.url)
      const command =
        `telemetrygen traces --traces 1 --otlp-http --otlp-insecure --otlp-endpoint ${host} ` +
        '--otlp-header "Authorization=\\"Bearer $TRACE_TOKEN\\""'
      const signal = AbortSignal.timeout(60_000)
      const surroundings = { folder: tmpdir(), env: {}, signal }
      await runCommands(`${variables}\n${command}`, surroundings)
      const sent = (await traces()).find(({ service }) => service === 'telemetrygen')
      expect(await show(`/traces/${sent?.id}`)).toMatch(/lets-go[^]*okey-dokey/)
    },
    LONG_MS,
  )

  /** The page of each call of a model in a trace. */
  async function pagesOf(traceId: string): Promise<string[]> {
    const place = { collectorUrl: site.collector.collector.url, secret: SECRET }
    const reader = openTraces(place)(site.platform.acme.organizationId)
    const { spans } = await reader.skeleton(traceId)
    const calls = spans.filter(({ isCall }) => isCall)
    return Promise.all(calls.map(({ id }) => show(`/traces/${traceId}?span=${id}`)))
  }

  function expectConversation(pages: readonly string[], key: string): void {
    const isByHand = ['node', 'java', 'go', 'dotnet'].includes(key)
    const { input, output } = isByHand ? { input: 120, output: 40 } : TOKENS
    const answer = isByHand ? 'It is 18 degrees.' : ANSWER
    const [page = ''] = pages.filter((each) => each.includes(answer))
    for (const text of [QUESTION, answer, 'gpt-5-mini']) expect(page, text).toContain(text)
    expect(page).toMatch(new RegExp(`Input tokens</dt>\\s*<dd>${input}<`))
    expect(page).toMatch(new RegExp(`Output tokens</dt>\\s*<dd>${output}<`))
  }
})
