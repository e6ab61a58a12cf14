import type { Context } from 'hono'
import * as v from 'valibot'
import { listAutomationNames } from '../../../../platform/automations/automations.ts'
import type { Automation } from '../../../../platform/automations/automations.ts'
import { listConnections } from '../../../../platform/connections/oauth-connections.ts'
import { createOffers } from '../../../intake/tool-pins/create-pins.ts'
import type { Offer } from '../../../intake/tool-pins/pin-tools.ts'
import type { SignedIn, WebDeps } from '../../../context.ts'
import { toDraft } from './definition-form.ts'
import { offeringTool, toolsOf } from './tools.ts'

/** What tools offer, by key; or why that cannot be had. */
export type Offers = ReadonlyMap<string, readonly Offer[] | string>

/** What the editor has to choose from beside the definition. */
export interface Choices {
  readonly offers: Offers
  /** The names of connections of the organization. */
  readonly connections: readonly string[]
  readonly automations: readonly Pick<Automation, 'name' | 'slug'>[]
}

const CONNECTIONS_MAX = 200
const LOOK_UP = /^look-up-tools\.(\d{1,3})$/

/** Returns what there is to choose from for a definition; for one that was sent, as text. */
type ChoicesOf = (c: Context<SignedIn>, sent?: string) => Promise<Choices>

/**
 * Creates what reads the choices: what the tools of a sent definition were seen to offer before,
 * and what that one offers whose button was used.
 */
export function createChoices(deps: WebDeps): ChoicesOf {
  const offersOf = createOffers(deps)
  return async (c, sent) => {
    const { organizationId } = c.var.session.user
    const [listed, automations] = await Promise.all([
      listConnections(deps.sql, organizationId, { limit: CONNECTIONS_MAX }),
      listAutomationNames(deps.sql, organizationId),
    ])
    const known = { connections: listed.map(({ name }) => name), automations }
    if (sent === undefined) return { ...known, offers: new Map() }
    const { form } = c.var
    const tools = Object.entries(toolsOf(toDraft(sent)))
    const offers = new Map<string, readonly Offer[] | string>(
      tools.map(([key], index) => [key, readSeen(form.get(`tools.${index}.offered`))]),
    )
    const [, place] = LOOK_UP.exec(form.get('act') ?? '') ?? []
    const [key, tool] = tools[Number(place)] ?? []
    if (key !== undefined) {
      const read = offeringTool(key, tool)
      offers.set(key, typeof read === 'string' ? read : await offersOf(organizationId, key, read))
    }
    return { ...known, offers }
  }
}

const seen = v.pipe(
  v.string(),
  v.parseJson(),
  v.array(v.object({ name: v.string(), description: v.string(), problem: v.optional(v.string()) })),
)

/** Offers travel with the form: nothing is kept between its pages. */
function readSeen(sent: string | null): readonly Offer[] {
  const result = v.safeParse(seen, sent ?? '[]')
  return result.success ? result.output : []
}

/** Returns offers as the form carries them, without their schemas. */
export const toSeen = (offers: readonly Offer[]): string =>
  JSON.stringify(offers.map(({ name, description, problem }) => ({ name, description, problem })))
