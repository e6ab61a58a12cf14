import type { Automation } from '../../platform/automations/automations.ts'
import {
  BATCHES_MAX,
  deleteBatch,
  findBatch,
  listBatches,
  pauseBatch,
  resumeBatch,
  retryBatch,
  stopBatch,
} from '../../platform/batches/batches.ts'
import type { Batch } from '../../platform/batches/batches.ts'
import { releaseBatch, reserveBatch } from '../../platform/batches/reserve-batch.ts'
import { html } from 'hono/html'
import {
  integer,
  moment,
  nullable,
  perhapsMoment,
  text as words,
  say,
} from '../api/openapi/parts.ts'
import { batchSection } from '../console/batches/batch-section.ts'
import { automationHead } from '../console/frame/automation-tabs.ts'
import { count } from '../console/frame/format.ts'
import { ago } from '../console/frame/parts.ts'
import { resource } from '../resources/declaration.ts'
import type { Fact, State } from '../resources/declaration.ts'
import { automation } from './automation.ts'

const counted = (description: string, of: (row: Batch) => number): Fact<Batch> => [
  { ...integer, description },
  of,
]

const facts = {
  name: [words, ({ name }) => name],
  rows: [integer, ({ rows }) => rows],
  waiting: counted('Rows that are not in the queue yet.', ({ waiting }) => waiting),
  queued: counted('Runs that wait for a worker.', ({ queued }) => queued),
  running: counted('Runs in progress.', ({ running }) => running),
  completed: counted('Runs that were completed.', ({ completed }) => completed),
  failed: counted('Runs that failed, and were not tried again.', ({ failed }) => failed),
  stopped: counted('Rows that a stop has ended.', ({ stopped }) => stopped),
  paused: [{ type: 'boolean' }, ({ isPaused }) => isPaused],
  waits_for: [
    say(nullable('string'), 'Why rows are not put into the queue now.'),
    ({ waitsFor }) => waitsFor,
  ],
  reserved_tokens: [
    say(nullable('integer'), 'Reserved of budgets for what has not ended; null: nothing.'),
    ({ reservedTokens }) => reservedTokens,
  ],
  reserved_usd: [nullable('number'), ({ reservedUsd }) => reservedUsd],
  of_version: [
    say(nullable('integer'), 'The number of the version that its runs are of.'),
    ({ version }) => version,
  ],
  created_at: [moment, ({ createdAt }) => createdAt],
  created_by: [words, ({ createdBy }) => createdBy],
  stopped_at: [perhapsMoment, ({ stoppedAt }) => stoppedAt],
} as const satisfies Readonly<Record<string, Fact<Batch>>>

const isOpen = ({ waiting, queued, running }: Batch): boolean => waiting + queued + running > 0

/** Many runs that one call asks for. */
export const batches = resource<Automation, object, Batch, Record<never, never>>({
  kind: 'batch',
  id: 'uuid',
  under: {
    ...automation,
    head: (owner, texts) =>
      automationHead({
        automation: owner,
        tab: 'runs',
        ...texts,
        aside: html`${texts.aside}<a
            class="button primary push"
            href="${automation.pathOf(owner)}/new-batch"
            >New batch</a
          >`,
      }),
  },
  most: BATCHES_MAX,
  fields: {},
  values: () => ({}),
  facts,
  rights: { read: 'viewer', change: 'editor' },
  scope: 'kickoff',
  verbs: {
    list: ({ sql, owner }) => listBatches(sql, owner.id),
    find: ({ sql, owner }, id) => findBatch(sql, { id, deploymentId: owner.id }),
    read: async () => ({}),
    remove: ({ sql }, row) => deleteBatch(sql, row),
  },
  actions: {
    resume: {
      text: 'Start',
      past: 'resumed',
      done: 'The batch is started: workers put its rows into the queue.',
      undo: 'pause',
      isOffered: ({ isPaused }) => isPaused,
      does: ({ sql }, row) => resumeBatch(sql, row),
    },
    reserve: {
      text: 'Reserve the 95 %',
      past: 'reserved',
      done: 'It is reserved in the budgets of the day and the month, and released as runs end.',
      undo: 'release',
      isOffered: ({ waiting, reservedTokens }) => waiting > 0 && reservedTokens === null,
      does: ({ sql }, row) => reserveBatch(sql, row),
    },
    release: {
      text: 'Release the reservation',
      past: 'released',
      done: 'The reservation is released.',
      isOffered: ({ reservedTokens }) => reservedTokens !== null,
      does: ({ sql }, row) => releaseBatch(sql, row),
    },
    pause: {
      text: 'Pause',
      past: 'paused',
      done: 'The batch is paused. What is in the queue still runs.',
      undo: 'resume',
      isOffered: ({ waiting, isPaused }) => waiting > 0 && !isPaused,
      does: ({ sql }, row) => pauseBatch(sql, row),
    },
    retry: {
      text: 'Retry the failed',
      past: 'retried',
      done: 'The rows that failed are started again.',
      isOffered: ({ failed, stoppedAt }) => failed > 0 && stoppedAt === null,
      does: ({ sql }, row) => retryBatch(sql, row),
    },
    stop: {
      text: 'Stop',
      past: 'stopped',
      done: 'The batch is stopped, with its runs.',
      isOffered: isOpen,
      does: ({ sql }, row) => stopBatch(sql, row),
    },
  },
  words: {
    about: 'A batch starts a run for each row of a file, as the queue has room for them.',
    icon: 'runs',
    form: 'Progress',
    deleted: 'The batch is deleted. Its runs stay.',
    deletes: 'Rows that wait are never started. The runs stay.',
    made: 'by sending its rows',
  },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    { title: 'Batch', cell: ({ name }) => name },
    { title: 'Rows', cell: ({ rows }) => count(rows) },
    { title: 'Waiting', cell: ({ waiting }) => count(waiting), className: 'wide' },
    { title: 'Queued', cell: ({ queued }) => count(queued), className: 'wide' },
    { title: 'Running', cell: ({ running }) => count(running) },
    { title: 'Completed', cell: ({ completed }) => count(completed) },
    { title: 'Failed', cell: ({ failed }) => count(failed) },
    { title: 'Created', cell: ({ createdAt }) => ago(createdAt), className: 'quiet wide' },
  ],
  below: batchSection,
})

function stateOf(row: Batch): State {
  const { rows, waiting, queued, running, failed, isPaused, stoppedAt } = row
  const done = rows - waiting - queued - running
  if (stoppedAt && !isOpen(row)) return ['idle', 'stopped']
  if (isPaused) return ['waiting', done === 0 && waiting === rows ? 'not started' : 'paused']
  if (isOpen(row)) return ['busy', `${count(done)} of ${count(rows)} done`]
  return failed > 0 ? ['bad', `${count(failed)} failed`] : ['good', 'done']
}
