/** The texts of the form of a connection; lists have an entry on each line. */
export const TEXTS = [
  'name',
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
  'client_id',
  'token_endpoint_auth_method',
  'scopes',
  'parameters',
  'test_url',
  'audience',
  'exchange',
  'header',
  'prefix',
  'hosts',
  'region',
] as const
/** The name of a text of the form. */
export type TextName = (typeof TEXTS)[number]
/** The texts of the form. */
export type Texts = Readonly<Record<TextName, string>>

/** Returns the texts of a form, of which those that are missing are empty. */
export function fillTexts(given: Readonly<Partial<Record<TextName, string | undefined>>>): Texts {
  const texts = TEXTS.map((name) => [name, given[name] ?? ''] as const)
  return Object.fromEntries(texts) as Texts
}
