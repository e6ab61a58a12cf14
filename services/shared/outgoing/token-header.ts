/** An access token, and how it is sent. */
export interface SentToken {
  readonly access_token: string
  /** @default authorization */
  readonly header?: string | undefined
  /** The word before it; '' is none. @default Bearer */
  readonly prefix?: string | undefined
}

/** Returns the header that carries an access token; none without a token. */
export function tokenHeader(token: SentToken | undefined): Record<string, string> {
  if (token === undefined) return {}
  const { access_token: secret, header = 'authorization', prefix = 'Bearer' } = token
  return { [header]: prefix === '' ? secret : `${prefix} ${secret}` }
}
