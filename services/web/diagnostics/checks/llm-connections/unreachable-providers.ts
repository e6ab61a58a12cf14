import { routeThrough } from '../../../../shared/outgoing/forward-proxy.ts'
import type { ForwardProxy } from '../../../../shared/outgoing/forward-proxy.ts'
import { httpGet } from '../../http-get.ts'
import { describeOutage } from '../../outage.ts'

/** A provider that gave no answer at its public address. */
export interface UnreachableProvider {
  readonly provider: string
  readonly host: string
  readonly error: string
}

/** Asks the address of each provider at the same time; any answer counts. Never rejects. */
export async function findUnreachable(
  urls: ReadonlyMap<string, string>,
  { signal, proxy }: { readonly signal: AbortSignal; readonly proxy: ForwardProxy },
): Promise<UnreachableProvider[]> {
  const results = await Promise.all(
    [...urls].map(async ([provider, address]): Promise<UnreachableProvider | undefined> => {
      const url = new URL(address)
      try {
        await httpGet(url, { signal, bytesMax: 0, route: routeThrough(proxy, url) })
        return undefined
      } catch (thrown) {
        return { provider, host: url.host, error: describeOutage(thrown) }
      }
    }),
  )
  return results.filter((result) => result !== undefined)
}
