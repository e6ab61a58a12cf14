import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'
import type { EnvSource } from '../shared/env.ts'
import { AppError, toError } from '../shared/errors.ts'

/** Reads a command line without words of its own. Raises `invalid_request`. */
export function parseOptions<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values
  } catch (thrown) {
    throw wrong(toError(thrown).message)
  }
}

/** Finds the debug token. Raises `invalid_request`. */
export function readToken(given: string | undefined, env: EnvSource): string {
  const token = given ?? env['PLATFORM_DEBUG_TOKEN'] ?? ''
  if (token) return token
  throw wrong('No token is given. Set PLATFORM_DEBUG_TOKEN, or pass --token.')
}

/** Reads a number of seconds. Raises `invalid_request`. */
export function readSeconds(name: string, text: string, max: number): number {
  const seconds = Number(text)
  if (seconds > 0 && seconds <= max) return seconds
  throw wrong(`--${name} takes seconds between 0 and ${max}, not "${text}".`)
}

/** Reads names that commas part. */
export const readList = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)

/** Reads an address of HTTP. Raises `invalid_request`. */
export function readUrl(text: string): string {
  if (text === '') throw wrong('No address is given: pass --url, or --pods.')
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw wrong(`"${text}" is no address. It begins with http:// or https://.`)
  }
  return text.replace(/\/+$/, '')
}

/** The error of a command line that is not understood. */
export const wrong = (message: string): AppError => new AppError('invalid_request', message)
