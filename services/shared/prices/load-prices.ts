import { readFile } from 'node:fs/promises'
import { AppError, toError } from '../errors.ts'
import { SHIPPED_PRICES } from './shipped-prices.ts'
import { overridePrices, readPrices } from './price-table.ts'
import type { Price } from './price-table.ts'

/**
 * The shipped prices, with those of the file before them. Raises `invalid_configuration` that names
 * what is wrong.
 */
export async function loadPrices(file: string | undefined): Promise<Price[]> {
  const shipped = readPrices(SHIPPED_PRICES, 'the shipped table')
  return file === undefined
    ? shipped
    : overridePrices(shipped, readPrices(await readJson(file), file))
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (thrown) {
    throw new AppError(
      'invalid_configuration',
      `COLLECTOR_PRICES_FILE (${file}) cannot be read: ${toError(thrown).message}`,
      { cause: thrown },
    )
  }
}
