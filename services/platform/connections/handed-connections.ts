import * as v from 'valibot'

/** The access token of a connection, and how it is sent. */
const connectionToken = v.object(
  {
    access_token: v.string('must be a text'),
    /** Before then the worker hands out another one. @default it has no end */
    expires_at: v.optional(v.pipe(v.string(), v.isoTimestamp('must be a time'))),
    /** The header that it goes into. @default authorization */
    header: v.optional(v.string('must be a text')),
    /** The word before it there; '' is none. @default Bearer */
    prefix: v.optional(v.string('must be a text')),
  },
  'must have an access_token',
)
/** The access tokens that a run gets, by the names of their connections. */
export const handedConnections = v.record(v.string(), connectionToken)
/** The access tokens that a run gets. Nothing of it is ever logged or shown. */
export type HandedConnections = v.InferOutput<typeof handedConnections>
