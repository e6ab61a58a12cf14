import { createForwarding } from '../../../../services/collector/store/forwarding.ts'
import { createOwnPrices } from '../../../../services/collector/store/own-prices.ts'
import { Registry } from 'prom-client'
import { createAuthorization } from '../../../../services/collector/tokens/authorization.ts'
import { createEraser } from '../../../../services/collector/store/erasures/erase-trace.ts'
import { createCollectorMetrics } from '../../../../services/collector/observability/metrics.ts'
import { openAnswerReaders } from '../../../../services/collector/read/answer-readers.ts'
import { createReadApp } from '../../../../services/collector/read/read-app.ts'
import { createReadMetrics } from '../../../../services/collector/read/read-metrics.ts'
import { createRevoker } from '../../../../services/collector/tokens/revoker.ts'
import { createRevocations } from '../../../../services/collector/tokens/revocations.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { SECRET, silent } from './harness.ts'

/** A route of the read API. */
export interface Route {
  readonly method: string
  readonly path: string
}

/** The routes that there are, from the app itself. */
export async function mountedRoutes(databaseUrl: string): Promise<Route[]> {
  const address = parseAddress(databaseUrl)
  const registry = new Registry()
  const readers = openAnswerReaders(address, { replica: undefined, log: silent })
  const eraser = createEraser(address)
  const revocations = createRevocations()
  const revoker = createRevoker(address, revocations)
  const ownPrices = createOwnPrices(address)
  const forwarding = createForwarding(address)
  const { routes } = createReadApp({
    authorize: createAuthorization({
      secrets: [SECRET],
      requireScopes: false,
      revocations,
      now: Date.now,
      log: silent,
    }).authorize,
    readers,
    eraser,
    revoker,
    ownPrices,
    forwarding,
    prices: [],
    metrics: createCollectorMetrics(registry),
    readMetrics: createReadMetrics(registry),
    log: silent,
    isReady: () => true,
    isDraining: () => false,
  })
  await Promise.all([readers.close(), eraser.close(), revoker.close(), ownPrices.close()])
  await forwarding.close()
  return routes.filter(({ method }) => method !== 'ALL')
}

/** The text of an answer to its end; that of a tail, which has none, to its first events. */
export async function readToEvent(response: Response): Promise<string> {
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (/^event: trace[^]*\n\n$/m.test(text)) break
  }
  return text
}
