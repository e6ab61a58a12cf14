import { html } from 'hono/html'
import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import {
  getReplayGate,
  REFUSED_DIFFERENCES,
  saveReplayGate,
} from '../../platform/replays/replay-gates.ts'
import type { ReplayGate } from '../../platform/replays/replay-gates.ts'
import { REPLAYED_MAX } from '../../platform/replays/replays.ts'
import { whole } from '../../shared/schemas.ts'
import { say, text as string } from '../api/openapi/parts.ts'
import { choice, number } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { designOfAutomation } from './automation.ts'

const MINUTES_MAX = 1440

const fields = {
  last: field(whole(0, REPLAYED_MAX), {
    label: 'So many of the newest runs replay without a difference',
    hint: '0: versions are published without a replay',
    control: number({ min: 0, max: REPLAYED_MAX }),
    example: 200,
  }),
  refuses: field(
    v.optional(
      v.picklist(REFUSED_DIFFERENCES, `must be ${REFUSED_DIFFERENCES.join(' or ')}`),
      'tool_calls',
    ),
    {
      label: 'A version is refused when',
      hint: 'A replay stops at the first difference: what would follow it is not known',
      control: choice({
        tool_calls: 'a tool is called otherwise',
        any: 'anything differs, requests to models among it',
      }),
      example: 'tool_calls',
    },
  ),
  within_minutes: field(v.optional(whole(1, MINUTES_MAX), 60), {
    label: 'Minutes for the replay',
    hint: 'After them the version is refused',
    control: number({ max: MINUTES_MAX }),
    example: 60,
  }),
}

/** The gate of an automation, whose id it has. */
interface Row extends ReplayGate {
  readonly id: string
}

async function rowOf({ sql, owner }: Call<Automation>): Promise<Row> {
  return { id: owner.automationId, ...(await getReplayGate(sql, owner.id)) }
}

/** The newest runs that have to replay before a version is published. */
export const replayGates = resource<Automation, ReplayGate, Row, typeof fields>({
  kind: 'replay_gate',
  id: 'uuid',
  under: designOfAutomation,
  most: 1,
  isOnly: true,
  fields,
  identity: 'name',
  values: ({ last, refuses, withinMinutes }) => ({ last, refuses, within_minutes: withinMinutes }),
  facts: { name: [say(string, 'Always `replays`.'), () => 'replays'] },
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: async (call) => [await rowOf(call)],
    find: async (call, id) =>
      id.toLowerCase() === call.owner.automationId ? rowOf(call) : undefined,
    read: async (_, { within_minutes: withinMinutes, ...given }) => ({ ...given, withinMinutes }),
    change: ({ sql, owner }, _, given) => saveReplayGate(sql, owner, given),
  },
  actions: {},
  words: {
    about:
      'The gate lets a version be published only after it performed the newest runs again, from ' +
      'their records. Publishing starts the replay. An admin may publish in spite of it, with a ' +
      'reason.',
    icon: 'repeat',
    form: 'Rule',
    saved: 'The gate is saved. It counts for the next version that is published.',
  },
  name: () => 'Replay gate',
  state: ({ last }) => (last === 0 ? ['idle', 'no gate'] : ['good', `the newest ${last}`]),
  columns: [{ title: 'Runs', cell: ({ last }) => html`${last}` }],
})
