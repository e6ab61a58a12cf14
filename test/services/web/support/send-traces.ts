import { openTraces } from '../../../../services/web/traces/trace-reader.ts'
import { openTraceTokens } from '../../../../services/web/traces/trace-tokens.ts'
import { createHarness, SECRET } from '../../collector/support/harness.ts'
import type { Harness } from '../../collector/support/harness.ts'
import { BASE_URL, openPlatform, withMembers } from './platform.ts'
import type { Platform, SignedInUser } from './platform.ts'

/** The pages about sending traces, over a real collector and without a browser. */
export interface SendTraces {
  /** Its app has the collector. */
  readonly platform: Platform
  readonly collector: Harness
  get(path: string, user: SignedInUser): Promise<Response>
  post(path: string, fields: Record<string, string>, user: SignedInUser): Promise<Response>
  /** Issues a token with the form, and returns the texts to copy of the page that shows it. */
  issue(user: SignedInUser, fields?: Record<string, string>): Promise<ReadonlyMap<string, string>>
  close(): Promise<void>
}

export async function openSendTraces(): Promise<SendTraces> {
  const collector = await createHarness()
  const platform = await openPlatform()
  const place = { collectorUrl: collector.collector.url, secret: SECRET }
  const app = platform.appAt(
    BASE_URL,
    {},
    {
      traces: openTraces(place),
      traceTokens: openTraceTokens(place, place.collectorUrl),
    },
  )
  const get: SendTraces['get'] = async (path, { cookie }) =>
    app.request(path, { headers: { cookie } })
  const post: SendTraces['post'] = async (path, fields, { cookie, csrfToken }) =>
    app.request(path, {
      method: 'POST',
      body: new URLSearchParams({ csrf_token: csrfToken, ...fields }),
      headers: { cookie },
    })
  return {
    platform: withMembers(platform, { app }),
    collector,
    get,
    post,
    async issue(user, fields = {}) {
      const order = { name: 'weather', scope: 'traces:write', days: '90', ...fields }
      const response = await post('/trace-tokens', order, user)
      if (response.status !== 200) throw new Error(await response.text())
      return copyTexts(await response.text())
    },
    async close() {
      await platform.close()
      await collector.stop()
    },
  }
}

/** The texts to copy of a page, by their labels: what a reader has in the clipboard. */
export function copyTexts(page: string): ReadonlyMap<string, string> {
  const boxes = page.matchAll(
    /<pre class="code copyable"[^>]*aria-label="([^"]*)"[^>]*><code>([^]*?)<\/code>/g,
  )
  return new Map([...boxes].map(([, label = '', text = '']) => [unescape(label), unescape(text)]))
}

const CHARACTERS: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}

const unescape = (text: string): string =>
  text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => CHARACTERS[entity] ?? entity)
