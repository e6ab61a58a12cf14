import * as v from 'valibot'
import type { Automation } from '../../platform/automations/automations.ts'
import {
  createReplay,
  deleteReplay,
  findReplay,
  listReplays,
  REPLAY_MODES,
  REPLAY_TOKENS_MAX,
  REPLAYED_MAX,
  REPLAYED_STATUSES,
  REPLAYS_MAX,
} from '../../platform/replays/replays.ts'
import type { Replay, ReplayFields } from '../../platform/replays/replays.ts'
import { getRunVersion } from '../../platform/projects/project-versions.ts'
import { whole } from '../../shared/schemas.ts'
import { integer, moment, perhapsMoment, text as words, say } from '../api/openapi/parts.ts'
import { plural } from '../console/frame/format.ts'
import { ago } from '../console/frame/parts.ts'
import { replaySection } from '../console/replays/replay-section.ts'
import { choice, lines, number } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { State } from '../resources/declaration.ts'
import { designOfAutomation } from './automation.ts'
import { factsByName, valuesByName } from './by-name.ts'

const VERSION_MAX = 2 ** 31 - 1
const LAST_DEFAULT = 20
const TOKENS_DEFAULT = 1_000_000

const fields = {
  version: field(whole(1, VERSION_MAX), {
    label: 'Version that performs them',
    hint: 'A version or draft of its project. Of a crew from source: the one that is deployed.',
    control: number({ max: VERSION_MAX }),
    example: 1,
  }),
  last: field(v.optional(whole(1, REPLAYED_MAX), LAST_DEFAULT), {
    label: 'Newest runs',
    hint: `The newest that have ended, ${REPLAYED_MAX} at the most`,
    control: number({ max: REPLAYED_MAX }),
    example: LAST_DEFAULT,
  }),
  status: field(
    v.optional(v.picklist(REPLAYED_STATUSES, `must be ${REPLAYED_STATUSES.join(', ')}`), 'any'),
    {
      label: 'Ended as',
      control: choice({ any: 'Completed or failed', completed: 'Completed', error: 'Failed' }),
      example: 'any',
    },
  ),
  of_version: field(v.optional(v.nullable(whole(1, VERSION_MAX)), null), {
    label: 'Of this version only',
    control: number({ max: VERSION_MAX, isOptional: true }),
    example: 1,
  }),
  kickoff_ids: field(
    v.optional(
      v.pipe(
        v.array(v.pipe(v.string('must be a text'), v.uuid('must be kickoff ids'))),
        v.maxLength(REPLAYED_MAX, `must have at most ${REPLAYED_MAX} ids`),
      ),
      [],
    ),
    {
      label: 'These runs only (optional)',
      hint: 'Kickoff ids, one on each line, in place of the newest',
      control: lines({ rows: 3 }),
    },
  ),
  mode: field(v.optional(v.picklist(REPLAY_MODES, 'must be offline or live'), 'offline'), {
    label: 'Where the record has no answer',
    control: choice({ offline: 'The run ends', live: 'The model is asked, which costs money' }),
    example: 'offline',
  }),
  tokens_max: field(v.optional(whole(0, REPLAY_TOKENS_MAX), TOKENS_DEFAULT), {
    label: 'Tokens for models that are asked',
    hint: 'Of all runs together; budgets count them, too',
    control: number({ min: 0, max: REPLAY_TOKENS_MAX }),
    example: TOKENS_DEFAULT,
  }),
}

/** Runs that a version performs again with the answers of their records. */
export const replays = resource<Automation, ReplayFields, Replay, typeof fields>({
  kind: 'replay',
  id: 'uuid',
  under: designOfAutomation,
  most: REPLAYS_MAX,
  isRolling: true,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    runs: say(integer, 'How many were chosen.'),
    waiting: say(integer, 'Those not done yet.'),
    equal: integer,
    different: integer,
    impossible: say(integer, 'Those that cannot be replayed.'),
    asked_tokens: say(integer, 'Of models that were asked, or are being asked.'),
    created_at: moment,
    created_by: words,
    finished_at: say(perhapsMoment, 'Null: it is in progress.'),
  }),
  rights: { read: 'viewer', change: 'editor' },
  scope: 'design',
  verbs: {
    list: ({ sql, owner }) => listReplays(sql, owner.id),
    find: ({ sql, owner }, id) => findReplay(sql, { id, deploymentId: owner.id }),
    read: async (_, given) => {
      const { of_version: ofVersion, kickoff_ids: kickoffIds, tokens_max: tokensMax } = given
      const { version, last, status, mode } = given
      return { version, last, status, mode, ofVersion, kickoffIds, tokensMax }
    },
    create: async ({ sql, owner, actor }, given) => ({
      row: await createReplay(sql, owner, { ...given, createdBy: actor.name }),
    }),
    remove: ({ sql }, row) => deleteReplay(sql, row),
  },
  actions: {},
  words: {
    about:
      'A replay performs recorded runs again with another version, or the same one. Models, ' +
      'tools and people answer from the record and are not asked; no webhook is sent, and ' +
      'nothing is counted or paid. It says of each run whether it is equal, or which step ' +
      'differs first. A live replay asks models what the record does not answer.',
    icon: 'repeat',
    form: 'Version and runs',
    saved: 'The replay is started.',
    deleted: 'The replay is deleted. Its runs stay.',
    deletes: 'What is in progress is given up. The runs stay.',
  },
  name: nameOf,
  state: stateOf,
  columns: [
    { title: 'Replay', cell: nameOf },
    { title: 'Equal', cell: ({ equal }) => String(equal) },
    { title: 'Different', cell: ({ different }) => String(different) },
    { title: 'Not possible', cell: ({ impossible }) => String(impossible), className: 'wide' },
    {
      title: 'Started',
      className: 'quiet row-wide',
      cell: ({ createdAt }) => ago(createdAt),
    },
  ],
  proposes: async ({ sql, owner }) => ({ version: (await getRunVersion(sql, owner)).number }),
  main: replaySection,
})

function nameOf({ version, runs, mode }: Replay): string {
  return `${plural(runs, 'run')} by version ${version}${mode === 'live' ? ', live' : ''}`
}

function stateOf({ runs, waiting, equal, different, impossible }: Replay): State {
  if (waiting > 0) return ['busy', `${runs - waiting} of ${runs} done`]
  if (different > 0) return ['bad', plural(different, 'difference')]
  if (equal > 0 && impossible === 0) return ['good', 'all equal']
  return ['waiting', equal > 0 ? 'equal where possible' : 'nothing to replay']
}
