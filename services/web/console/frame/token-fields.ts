import { html } from 'hono/html'
import {
  NETWORKS_MAX,
  readNetworks,
  readTokenScope,
  TOKEN_SCOPES,
} from '../../../platform/automations/token-limits.ts'
import type { TokenLimits, TokenScope } from '../../../platform/automations/token-limits.ts'
import { plural } from './format.ts'
import type { Html } from './parts.ts'

/** The fields of a form that say what a token may do, for how long, and from where, as typed. */
export interface TokenFields {
  readonly scopes: readonly string[]
  /** Empty: for ever. */
  readonly days: string
  readonly networks: string
}

/** The fields of a new form. */
export const NEW_TOKEN: TokenFields = { scopes: ['kickoff', 'read'], days: '90', networks: '' }

const NAME_LENGTH_MAX = 100
const DAY_MS = 86_400_000
const DAYS = [7, 30, 90, 180, 365]
const NETWORKS_LENGTH_MAX = 2500

const SCOPE_TEXTS: Readonly<Record<TokenScope, string>> = {
  kickoff: 'Start and steer runs',
  read: 'Read runs, projects and packages',
  design: 'Design projects, deploy crews (whole organization)',
  upload: 'Upload packages (whole organization)',
  settings: 'Change settings such as webhooks (whole organization)',
}

/**
 * The fields as a part of a form; with a maximum of days, none of the choices is longer. Only the
 * scopes that are offered are there to choose from.
 */
export const tokenFields = (
  fields: TokenFields,
  daysMax: number,
  offered: readonly TokenScope[] = TOKEN_SCOPES,
): Html =>
  html`<fieldset class="checks">
      <legend>It may</legend>
      ${offered.map(
        (scope) =>
          html`<label class="check">
            <input
              type="checkbox"
              name="scopes"
              value="${scope}"
              ${fields.scopes.includes(scope) ? html`checked` : ''}
            />
            <span>${SCOPE_TEXTS[scope]}</span>
          </label>`,
      )}
    </fieldset>
    <label
      >Ends after
      <select name="days">
        ${choicesOf(daysMax).map(
          ({ value, text }) =>
            html`<option value="${value}" ${value === fields.days ? html`selected` : ''}>
              ${text}
            </option>`,
        )}
      </select>
    </label>
    <label
      >Only from these addresses
      <input
        name="networks"
        value="${fields.networks}"
        maxlength="${NETWORKS_LENGTH_MAX}"
        placeholder="Anywhere, or such as 192.0.2.0/24"
        autocomplete="off"
      />
    </label>`

function choicesOf(daysMax: number): { value: string; text: string }[] {
  const allowed = daysMax === 0 ? DAYS : DAYS.filter((days) => days < daysMax)
  const longest = daysMax === 0 ? { value: '', text: 'Never' } : choice(daysMax)
  return [...allowed.map(choice), longest]
}

const choice = (days: number) => ({ value: String(days), text: plural(days, 'day') })

/** Returns the fields of a form as they were typed. */
export const readTokenFields = (form: URLSearchParams): TokenFields => ({
  scopes: form.getAll('scopes').slice(0, 10),
  days: form.get('days') ?? NEW_TOKEN.days,
  networks: form.get('networks') ?? '',
})

/** Returns what the fields mean, or what is wrong with them. */
export function toTokenLimits(
  { scopes: words, days: typed, networks: text }: TokenFields,
  { daysMax, now }: { readonly daysMax: number; readonly now: number },
): TokenLimits | { readonly problem: string } {
  const scopes = words.map(readTokenScope)
  if (scopes.length === 0) return { problem: 'Choose at least one thing that the token may do.' }
  if (!scopes.every((each) => each !== undefined)) {
    return { problem: `The token may not be for "${words.join(', ').slice(0, 100)}".` }
  }
  const days = typed === '' ? 0 : readDays(typed)
  if (days === undefined) return { problem: 'The number of days is a whole one from 1 to 3650.' }
  if (daysMax > 0 && (days === 0 || days > daysMax)) {
    return { problem: `Tokens of this platform end after at most ${plural(daysMax, 'day')}.` }
  }
  const networks = readNetworks(text)
  if ('wrong' in networks) return { problem: wrongNetwork(networks.wrong) }
  if (networks.length > NETWORKS_MAX) return { problem: `Name at most ${NETWORKS_MAX} networks.` }
  const expiresAt = days === 0 ? null : new Date(now + days * DAY_MS)
  return { scopes: [...new Set(scopes)], expiresAt, networks }
}

const readDays = (text: string): number | undefined =>
  /^[1-9]\d{0,3}$/.test(text) && Number(text) <= 3650 ? Number(text) : undefined

const wrongNetwork = (word: string): string =>
  `"${word.slice(0, 60)}" is neither an address nor a network, such as 192.0.2.7 or 192.0.2.0/24.`

/** Returns what is wrong with the name of a token. */
export function tokenNameProblem(name: string): string | undefined {
  if (name === '') return 'Give the token a name, such as that of the system that will use it.'
  if (name.length > NAME_LENGTH_MAX)
    return `A name must have at most ${NAME_LENGTH_MAX} characters.`
  return /\p{Cc}/u.test(name) ? 'A name must have no control characters.' : undefined
}
