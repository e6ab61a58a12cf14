import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'
import type { Log } from '../../shared/log.ts'

const RETRY_MS = 1000
const CALL_MS = 5000
const ANSWER_BYTES_MAX = 16 << 20
/** The same reason is logged again after so long. */
const REPEAT_MS = 30_000

const document = v.object({ info: v.object({ version: v.string() }) })

/** The platform that is waited for. */
interface AwaitedWeb {
  readonly url: string
  /** undefined: any. */
  readonly version: string | undefined
  readonly timeoutMs: number
}

/**
 * Waits until web answers, of the version that is asked for: pods of the former one may still
 * answer. Logs why it does not, and raises `unavailable` after `timeoutMs`.
 */
export async function waitForWeb(web: AwaitedWeb, log: Log): Promise<void> {
  const giveUpAt = Date.now() + web.timeoutMs
  let told = { why: '', at: 0 }
  for (;;) {
    const why = await ask(web)
    if (why === undefined) return
    if (Date.now() >= giveUpAt) throw new AppError('unavailable', why)
    if (why !== told.why || Date.now() - told.at >= REPEAT_MS) {
      const seconds = Math.ceil((giveUpAt - Date.now()) / 1000)
      log.warn(`${why} Trying again for up to ${seconds} s.`)
      told = { why, at: Date.now() }
    }
    await sleep(RETRY_MS)
  }
}

/** Returns why web is not as it should be; undefined: it is. */
async function ask({ url, version }: AwaitedWeb): Promise<string | undefined> {
  try {
    const name = `GET ${url}/openapi.json`
    const text = await deadline({ name, timeoutMs: CALL_MS }, async (signal) => {
      const response = await fetch(`${url}/openapi.json`, { redirect: 'manual', signal })
      return readBounded(response, ANSWER_BYTES_MAX)
    })
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), document), text)
    if (!parsed.success) return `${url} does not answer as a platform.`
    const { version: found } = parsed.output.info
    if (version === undefined || found === version) return undefined
    return `${url} has the version ${found}, not ${version}.`
  } catch (thrown) {
    const { message, cause } = toError(thrown)
    return `${url} does not answer: ${cause === undefined ? message : toError(cause).message}.`
  }
}
