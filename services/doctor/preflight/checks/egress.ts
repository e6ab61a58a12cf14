import type { PreflightContext } from '../context.ts'
import { describeOutage, failed, passed, skipped } from '../result.ts'
import type { Result } from '../result.ts'

/** Addresses that the platform has to reach give any HTTP answer. No credential is sent. */
export async function checkEgress({ egress, signal }: PreflightContext): Promise<Result> {
  if (egress.length === 0) return skipped('no address was named with --egress')
  const answers = await Promise.all(
    egress.map(async (url) => {
      try {
        const response = await fetch(url, { method: 'HEAD', redirect: 'manual', signal })
        await response.body?.cancel()
        return { url, status: response.status }
      } catch (thrown) {
        return { url, error: describeOutage(thrown) }
      }
    }),
  )
  const details = { addresses: answers }
  const blocked = answers.filter((answer) => 'error' in answer)
  if (blocked.length === 0) return passed(['addresses_reached'], details)
  const error = blocked.map(({ url, error: why }) => `${url} (${why})`).join(', ')
  return failed('egress_blocked', `not reached: ${error}`, { details })
}
