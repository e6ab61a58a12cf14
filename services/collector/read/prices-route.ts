import type { Hono } from 'hono'
import { AppError, toAppError } from '../../shared/errors.ts'
import { readJson } from '../../shared/http/json-body.ts'
import { readPrices } from '../../shared/prices/price-table.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import type { OwnPrices } from '../store/own-prices.ts'
import type { ReadEnv } from './admit-read.ts'
import { requireNoParameters } from './read-query.ts'

const BODY_BYTES_MAX = 1 << 20

/** Adds `PUT /prices`: what models cost the organization of the token, as the platform says. */
export function addOwnPrices(
  app: Hono<ReadEnv>,
  { ownPrices }: { readonly ownPrices: Pick<OwnPrices, 'replace'> },
): void {
  app.put('/prices', async (c) => {
    c.set('view', 'prices')
    requireNoParameters(new URL(c.req.url).searchParams)
    const prices = readOwn(await readJson(c.req.raw, BODY_BYTES_MAX))
    const { organization = '' } = c.var.reader
    await ownPrices.replace(organization, prices)
    const answer = { organization, prices: prices.length }
    return c.json(answer, 200, { 'cache-control': 'no-store' })
  })
}

function readOwn(given: unknown): Price[] {
  try {
    const prices = readPrices(given, 'the body', { mayHaveHoles: true })
    if (prices.every(({ organization }) => organization === undefined)) return prices
  } catch (thrown) {
    throw new AppError('invalid_request', toAppError(thrown).message)
  }
  throw new AppError('invalid_request', 'The organization is that of the token, not of the body.')
}
