import type { Context } from 'hono'
import type * as v from 'valibot'
import { readJson } from '../../../shared/http/json-body.ts'
import { parseBody } from '../../http/parse-body.ts'
import { named, schemaOfBody } from './parts.ts'
import type { Named, parameter } from './parts.ts'

type Response = Readonly<Record<string, unknown>>
/**
 * A schema; a sentence, for no body or for a problem; a sentence with a schema and headers; or a
 * whole response.
 */
export type Answer = Named | string | readonly [string, Named, Response?] | Response

interface Room {
  readonly tag?: string
  /** How it is called, where that is another way than all operations have. */
  readonly security?: readonly object[]
  /** The path has its parameters as they are known, but for those that are here. */
  readonly parameters?: readonly ReturnType<typeof parameter>[]
  readonly [status: number]: Answer | undefined
}

interface Options extends Room {
  readonly description?: string
  readonly body?: { readonly content: object; readonly errors?: Readonly<Record<number, Answer>> }
  readonly [extension: `x-${string}`]: unknown
}

/** What a route says of itself, beside who may call it and its path. */
export interface Operation extends Options {
  readonly operationId: string
  readonly summary: string
}

/** The operations at a path by their methods, beside the parameters in it. */
export type Path = Pick<Room, 'parameters'> & Readonly<Record<string, object>>

/** A description of APIs, as OpenAPI 3.1. */
export interface ApiDocument {
  readonly info: object
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Path>>
  readonly webhooks: object
  readonly components: object
}

/**
 * Creates what describes the operations of a room, which have some things in common.
 *
 * @example
 * const operation = describing({ tag: 'Crews' })
 * const getCrew = operation('getCrew', 'An automation from a source', { 200: crewDocument })
 * api.get('viewer', ['/automations/:automationId', getCrew], async (c) => c.json(await read(c)))
 */
export const describing =
  (room: Room) =>
  (operationId: string, summary: string, options: Options): Operation => ({
    operationId,
    summary,
    ...room,
    ...options,
    parameters: [...(room.parameters ?? []), ...(options.parameters ?? [])],
  })

/** Describes an operation of the designer. */
export const operation = describing({ tag: 'Designer' })

interface BodyOptions {
  readonly example?: unknown
  readonly description?: string
  /** @default 256 KiB */
  readonly bytesMax?: number
  /** What no parser can say of itself. */
  readonly more?: object
}

const BODY_BYTES_MAX = 256 * 1024

/** Creates a JSON body: what reads it, and what describes it. */
export function jsonBody<Output>(
  name: string,
  parser: v.GenericSchema<unknown, Output>,
  { more, description, ...options }: BodyOptions = {},
) {
  const { bytesMax = BODY_BYTES_MAX } = options
  const schema = () => ({ ...schemaOfBody(parser, description), ...more })
  return {
    ...describedBody(named(name, schema), options),
    /** Raises `unprocessable` with each problem, and what `readJson` raises. */
    read: async (c: Context): Promise<Output> =>
      parseBody(parser, await readJson(c.req.raw, bytesMax)),
  }
}

/** Describes a JSON body, and what is wrong with others. */
export const describedBody = (
  schema: Named,
  { example, bytesMax = BODY_BYTES_MAX }: Pick<BodyOptions, 'example' | 'bytesMax'> = {},
) => ({
  content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
  errors: {
    400: 'The body is not JSON.',
    413: `The body is larger than ${sizeOf(bytesMax)}.`,
    415: 'Not application/json.',
    422: 'The body is not valid; details.problems has each place.',
  },
})

const sizeOf = (bytes: number): string =>
  bytes < 1 << 20 ? `${bytes / 1024} KiB` : `${bytes / (1 << 20)} MiB`
