import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'

type Options = NonNullable<ParseArgsConfig['options']>

/**
 * Reads a command line; `--help` is always known. Raises `invalid_configuration` that ends with the
 * usage.
 */
export function readArguments<const Known extends Options>(
  args: readonly string[],
  options: Known,
  usage: string,
) {
  return parseLine({ args, options, usage, allowPositionals: false }).values
}

/** As `readArguments`, for a command that takes words beside its options, such as files. */
export function readCommandLine<const Known extends Options>(
  args: readonly string[],
  options: Known,
  usage: string,
) {
  return parseLine({ args, options, usage, allowPositionals: true })
}

interface GivenLine<Known> {
  readonly args: readonly string[]
  readonly options: Known
  readonly usage: string
  readonly allowPositionals: boolean
}

function parseLine<const Known extends Options>(given: GivenLine<Known>) {
  const { args, options, usage, allowPositionals } = given
  try {
    const help = { type: 'boolean', short: 'h', default: false } as const
    return parseArgs({ args: [...args], options: { ...options, help }, allowPositionals })
  } catch (cause) {
    throw new AppError('invalid_configuration', `${toError(cause).message}\n\n${usage}`, { cause })
  }
}

const SECRET_MIN = 32

/**
 * The shared secret in the environment variable of that name. Raises `invalid_configuration`; never
 * shows the value.
 */
export function readSecret(source: EnvSource, name: string): string {
  const secret = source[name]
  if (secret && secret.length >= SECRET_MIN) return secret
  const why = secret
    ? `has ${secret.length} characters; the collector's secret has at least ${SECRET_MIN}`
    : "is not set; put the collector's secret there, or name another variable with --secret-env"
  throw new AppError('invalid_configuration', `The environment variable ${name} ${why}.`)
}
