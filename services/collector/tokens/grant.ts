/** What a good token lets its bearer do. */
export interface Grant {
  /** Whose spans are written and read; undefined for the platform itself. */
  readonly organization: string | undefined
  /** The issuer and the id that the token names. */
  readonly issuer: string | undefined
  readonly tokenId: string | undefined
  /** True once the token has expired, likewise. */
  isExpired(): boolean
  /** True once the token was revoked, for whoever asks later in the same request. */
  isRevoked(): boolean
}
