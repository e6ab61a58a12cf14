import { html } from 'hono/html'
import * as v from 'valibot'
import { FEATURE_FLAGS, listFlags, setFlag } from '../../platform/feature-flags.ts'
import type { FeatureFlag, FlagState } from '../../platform/feature-flags.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { closed, integer, list, text } from '../api/openapi/parts.ts'
import { pill } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { field, resource } from '../resources/declaration.ts'
import { valuesByName } from './by-name.ts'
import { FLAG_TEXTS, onOff } from './flag-fields.ts'
import { OF_PLATFORM, platform } from './platform.ts'
import type { Platform } from './platform.ts'

const fields = {
  enabled: field(v.boolean('must be on or off, in JSON true or false'), {
    label: 'State',
    hint: 'For the whole platform: organizations may have a state of their own',
    control: onOff,
    example: true,
  }),
}

interface Flag {
  readonly enabled: boolean
}

interface Row extends Flag {
  readonly id: FeatureFlag
  /** Of organizations with a state of their own. */
  readonly own: readonly FlagState[]
}

async function rowsOf(sql: Queryable): Promise<Row[]> {
  const states = await listFlags(sql)
  return FEATURE_FLAGS.map((id) => {
    const all = states.filter(({ name }) => name === id)
    return {
      id,
      enabled: all.some(({ organizationId, enabled }) => organizationId === null && enabled),
      own: all.filter(({ organizationId }) => organizationId !== null),
    }
  })
}

/** What is switched on for the whole platform; rows are there as long as a program reads them. */
export const featureFlags = resource<Platform, Flag, Row, typeof fields>({
  kind: 'feature_flag',
  id: 'name',
  under: platform('/admin/feature-flags'),
  most: FEATURE_FLAGS.length,
  fields,
  values: valuesByName(fields),
  facts: {
    organizations: [
      {
        ...list(closed({ id: integer, name: text, enabled: { type: 'boolean' } })),
        description: 'Those with a state of their own.',
      },
      ({ own }) =>
        own.map(({ organizationId: id, organization: name, enabled }) => ({ id, name, enabled })),
    ],
  },
  rights: OF_PLATFORM,
  verbs: {
    list: ({ sql }) => rowsOf(sql),
    find: async ({ sql }, id) => (await rowsOf(sql)).find((row) => row.id === id),
    read: async (_, given) => given,
    change: ({ sql }, { id: name }, { enabled }) =>
      setFlag(sql, { name, organizationId: null, enabled }),
  },
  actions: {},
  words: {
    about: 'A feature flag applies to every organization that has no state of its own.',
    icon: 'flag',
    form: 'State',
    saved: 'The flag is saved. It applies from now on.',
  },
  name: ({ id }) => id,
  concerns: () => null,
  state: ({ enabled }) => (enabled ? ['good', 'On'] : ['idle', 'Off']),
  columns: [
    {
      title: 'Flag',
      cell: ({ id }) => html`${FLAG_TEXTS[id].title} <span class="sub mono">${id}</span>`,
    },
    { title: 'Set otherwise in', className: 'row-wide', cell: ownOf },
  ],
  beside: ({ row }) =>
    html`<section class="card" aria-labelledby="about">
      <div class="card-head"><h2 id="about">${FLAG_TEXTS[row.id].title}</h2></div>
      <p>${FLAG_TEXTS[row.id].text}</p>
      <p>Organizations with a state of their own:</p>
      ${ownOf(row)}
    </section>`,
})

function ownOf({ own }: Row): Html {
  if (own.length === 0) return html`<span class="quiet">None</span>`
  return html`<ul class="plan">
    ${own.map(
      ({ organizationId, organization, enabled }) =>
        html`<li>
          <a href="/admin/organizations/${organizationId}">${organization}</a>
          ${pill(enabled ? 'good' : 'idle', enabled ? 'on' : 'off')}
        </li>`,
    )}
  </ul>`
}
