import * as v from 'valibot'
import { isObject } from '../../shared/is-object.ts'
import { findAutomation } from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { automationHead } from '../console/frame/automation-tabs.ts'
import { uuid } from '../api/openapi/parts.ts'
import type { Parent } from '../resources/declaration.ts'
import { factsByName } from './by-name.ts'

/** What belongs to an automation, in its tab *Integrate*. */
export const automation: Parent<Automation> = {
  noun: 'automation',
  path: '/automations/:automationId',
  current: '/automations',
  listed: { id: 'automation_id', name: 'slug' },
  facts: factsByName({ automation_id: uuid }),
  async find(sql, { organizationId, parameterOf }) {
    const found = await findAutomation(sql, parameterOf('automationId'))
    return found?.organizationId === organizationId ? found : undefined
  },
  name: ({ name }) => name,
  pathOf: ({ automationId }) => `/automations/${automationId}`,
  crumbs: ({ automationId, name }) => [
    { path: '/automations', name: 'Automations' },
    { path: `/automations/${automationId}`, name },
  ],
  head: (owner, texts) => automationHead({ automation: owner, tab: 'integrate', ...texts }),
}

/** What belongs to an automation, in its tab *Design*. */
export const designOfAutomation: Parent<Automation> = {
  ...automation,
  head: (owner, texts) => automationHead({ automation: owner, tab: 'design', ...texts }),
}

/** The inputs that are kept for runs of an automation, by name. */
export const inputsByName = v.optional(
  v.pipe(
    v.unknown(),
    // A list is a record to valibot.
    v.check(isObject, 'must be an object'),
    v.record(v.string(), v.unknown()),
  ),
  {},
)
