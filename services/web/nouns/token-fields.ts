import { html } from 'hono/html'
import * as v from 'valibot'
import { NETWORKS_MAX, TOKEN_SCOPES } from '../../platform/automations/token-limits.ts'
import type { TokenScope } from '../../platform/automations/token-limits.ts'
import { oneOf, whole } from '../../shared/schemas.ts'
import type { WebConfig } from '../env.ts'
import { number, text, ticks, words } from '../resources/controls.ts'
import type { Control } from '../resources/controls.ts'
import { field } from '../resources/declaration.ts'
import { nameText } from './name-text.ts'

/** The life of a token for which none is said. */
export const DAYS_DEFAULT = 90
/** The life that forms propose; `STATIC_TOKEN_DAYS_MAX` is the longest one, 0 without one. */
export const proposedDays = ({ STATIC_TOKEN_DAYS_MAX: max }: Pick<WebConfig, DaysMax>): number =>
  Math.min(DAYS_DEFAULT, max || DAYS_DEFAULT)
type DaysMax = 'STATIC_TOKEN_DAYS_MAX'

/** For as long a token is good that another one replaces. */
export const OVERLAP_DAYS = 7
const NAME_MAX = 100
const DAYS_MAX = 3650
const SCOPES: Readonly<Record<TokenScope, string>> = {
  kickoff: 'Start and steer runs',
  read: 'Read runs, projects and packages',
  design: 'Design projects, deploy crews (whole organization)',
  upload: 'Upload packages (whole organization)',
  settings: 'Change settings such as webhooks (whole organization)',
}

/** The name of a token: that of the system which uses it. */
export const nameOfToken = field(
  nameText(NAME_MAX, 'must name the system that will use the token'),
  { label: 'Name', control: text({ max: NAME_MAX }), example: 'The system that will use it' },
)

/** A number that only the form of a replacement has. */
const carried: Control = {
  ...number({ max: 2 ** 31 - 1 }),
  render: ({ name }, typed) => {
    const value = typed.get(name)
    return html`${value && html`<input type="hidden" name="${name}" value="${value}" />`}`
  },
}

/** What is said of a static token when it is issued. */
export const fields = {
  name: nameOfToken,
  automation: field(v.optional(v.nullable(v.string('must be a text')), null), {
    label: 'Only for the automation',
    hint: 'Its slug. Without one: all automations of the organization, and what belongs to none.',
    control: text({ max: 200, isMono: true, isOptional: true }),
  }),
  scopes: field(
    v.pipe(
      v.array(oneOf(TOKEN_SCOPES), 'must be a list of texts'),
      v.minLength(1, 'must have at least one thing that the token may do'),
      v.maxLength(TOKEN_SCOPES.length, 'must name each thing once'),
    ),
    { label: 'It may', control: ticks({ box: 'scopes', options: SCOPES }), example: ['read'] },
  ),
  days: field(v.optional(v.nullable(whole(1, DAYS_MAX)), DAYS_DEFAULT), {
    label: 'Days until it ends',
    hint: 'Without a number it never ends, where the operator of the platform allows that.',
    control: number({ max: DAYS_MAX }),
    example: DAYS_DEFAULT,
  }),
  networks: field(
    v.optional(
      v.pipe(
        v.array(v.string('must be a text'), 'must be a list of texts'),
        v.maxLength(NETWORKS_MAX, `must have at most ${NETWORKS_MAX} networks`),
      ),
      [],
    ),
    {
      label: 'Only from these addresses',
      hint: 'Addresses and networks, such as 192.0.2.0/24. Without any: from anywhere.',
      control: words,
    },
  ),
  replaces: field(v.optional(v.nullable(v.number('must be the id of a token')), null), {
    label: 'Replaces',
    hint: `The id of a token whose place it takes, which then ends after ${OVERLAP_DAYS} days`,
    control: carried,
  }),
}
