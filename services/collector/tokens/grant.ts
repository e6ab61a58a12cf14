/** What a good token lets its bearer do. */
export interface Grant {
  /** Whose spans are written and read; undefined for the platform itself. */
  readonly organization: string | undefined
  /** True once the token was revoked, for whoever asks later in the same request. */
  isRevoked(): boolean
}
