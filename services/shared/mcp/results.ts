import * as v from 'valibot'
import { AppError } from '../errors.ts'
import { badAnswer, CHECK_ADDRESS } from './post-message.ts'
import type { McpAnswer, McpServer } from './post-message.ts'

const SAID_CHARACTERS_MAX = 500

/** Returns the result of a request. Raises `bad_gateway` for anything else. */
export function resultOf<Output>(
  server: McpServer,
  { status, response }: McpAnswer,
  schema: v.GenericSchema<unknown, Output>,
): Output {
  if (status === 401 || status === 403) throw unauthorized(server, status)
  if (!response) throw badAnswer(server, `HTTP ${status}`, status < 500 ? CHECK_ADDRESS : '')
  if ('error' in response) throw refused(server, response.error.message)
  return readResult(server, schema, 'result' in response ? response.result : undefined)
}

/** Reads a result, or a part of one. Raises `bad_gateway` for what is not valid. */
export function readResult<Output>(
  server: McpServer,
  schema: v.GenericSchema<unknown, Output>,
  result: unknown,
): Output {
  const read = v.safeParse(schema, result)
  if (read.success) return read.output
  const [issue] = read.issues
  throw badAnswer(server, `a result that is not valid (${v.getDotPath(issue) ?? 'result'})`)
}

function unauthorized({ url, token }: McpServer, status: number): AppError {
  const todo =
    token?.() === undefined
      ? 'Name a `connection` in the tool.'
      : 'Connect its connection again, with the scopes that the server wants.'
  const message = `The MCP server at ${url.host} refuses the call with HTTP ${status}. ${todo}`
  return new AppError('bad_gateway', message, { details: { problem: 'unauthorized' } })
}

function refused({ url }: McpServer, said: string): AppError {
  const message = `The MCP server at ${url.host} says: ${said.slice(0, SAID_CHARACTERS_MAX)}`
  return new AppError('bad_gateway', message, { details: { problem: 'refused' } })
}
