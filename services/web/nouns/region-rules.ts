import { html } from 'hono/html'
import * as v from 'valibot'
import { findOutsideNow } from '../../platform/connections/outside-now.ts'
import {
  findAllowedRegions,
  REGIONS_MAX,
  saveAllowedRegions,
} from '../../platform/connections/regions.ts'
import type { AllowedRegions } from '../../platform/connections/regions.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { regionLabel } from '../../platform/tools/tool-definitions.ts'
import { text as string, say } from '../api/openapi/parts.ts'
import { OAUTH_PATH } from '../console/frame/addresses.ts'
import { outsideSection } from '../console/region-rules/outside-section.ts'
import { words } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { organization } from './organization.ts'

const fields = {
  allowed_regions: field(
    v.pipe(
      v.array(regionLabel, 'must be a list of texts'),
      v.maxLength(REGIONS_MAX, `must have at most ${REGIONS_MAX} regions`),
    ),
    {
      label: 'Regions in which data stays',
      hint:
        'With spaces between, as the connections and webhooks say them. None: there is no rule, ' +
        'and data may go anywhere.',
      control: words,
      example: ['eu'],
    },
  ),
}

interface Given {
  readonly allowed: AllowedRegions
}

/** The rule of an organization, whose id it has. */
interface Row extends Given {
  readonly id: number
}

async function rowOf({ sql, owner: { id } }: Call<Organization>): Promise<Row> {
  return { id, allowed: await findAllowedRegions(sql, id) }
}

/** Limits where the data of an organization goes. */
export const regionRules = resource<Organization, Given, Row, typeof fields>({
  kind: 'region_rule',
  id: 'number',
  under: organization('/settings', [{ path: OAUTH_PATH, name: 'Settings' }]),
  most: 1,
  isOnly: true,
  fields,
  identity: 'name',
  values: ({ allowed }) => ({ allowed_regions: [...allowed] }),
  facts: { name: [say(string, 'Always `regions`.'), () => 'regions'] },
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: async (call) => [await rowOf(call)],
    find: async (call, id) => (Number(id) === call.owner.id ? rowOf(call) : undefined),
    read: async (_, { allowed_regions: regions }) => ({ allowed: [...new Set(regions)].sort() }),
    change: ({ sql, owner }, _, { allowed }) => saveAllowedRegions(sql, owner.id, allowed),
  },
  actions: {},
  words: {
    about: 'A rule on regions limits where the data of an organization goes.',
    icon: 'settings',
    form: 'Rule',
    saved: 'The rule is saved. It applies from the next run, message and publication on.',
  },
  name: () => 'Regions',
  state: ({ allowed }) => (allowed.length === 0 ? ['idle', 'No rule'] : ['good', 'Applies']),
  columns: [{ title: 'Regions', cell: ({ allowed }) => html`${allowed.join(', ')}` }],
  async below({ sql, owner, row }) {
    if (row.allowed.length === 0) return html``
    return outsideSection(await findOutsideNow(sql, owner.id))
  },
})
