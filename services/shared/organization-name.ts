/** Characters of an organization's name. */
export const MAX_ORGANIZATION_CHARS = 64

/** Control and format characters, line separators, and halves of pairs. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/**
 * True for the name of an organization in a token or a resource: 1 to 64 characters, none of which
 * is a control character.
 */
export const isOrganizationName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= MAX_ORGANIZATION_CHARS &&
  !UNSEEN.test(value)
