import { randomUUID } from 'node:crypto'
import type { DisposableDatabase } from '../../shared/postgres/disposable-database.ts'
import type { ComponentName } from './checks/list.ts'
import type { ComponentResult } from './finding.ts'
import { verdictOf } from './report.ts'
import type { Report } from './report.ts'
import { runChecks } from './run-checks.ts'
import type { BoundChecks, Limits, OnResult } from './run-checks.ts'

const HISTORY_LENGTH = 20

/** A diagnosis that is over. */
export interface Diagnosis {
  readonly id: string
  readonly startedAt: Date
  readonly report: Report
}

/** A diagnosis under way. */
interface OpenDiagnosis {
  readonly done: Promise<Diagnosis>
  /** Calls the listener once for each component, at once for those that have a result. */
  onResult(listener: OnResult): void
}

/** The diagnoses of this pod. */
export interface Diagnoses {
  /** Starts one, or joins the one under way: a pod makes one at a time, and reuses no result. */
  start(): OpenDiagnosis
  /** Returns the last 20, newest first. */
  past(): readonly Diagnosis[]
}

/** Options of `createDiagnoses`. */
interface DiagnosesOptions {
  readonly checks: BoundChecks
  readonly limits: Limits
  readonly environment: Report['environment']
  /**
   * Opens connections for one diagnosis: a busy pool must not look like a dead database, nor a
   * stale connection like a live one.
   */
  readonly openDatabase: () => DisposableDatabase
  /** Makes a result fit to be shown: names in, secrets out. */
  readonly present: <Value>(value: Value) => Value
  readonly onDiagnosis: (diagnosis: Diagnosis) => void
}

/** Creates the diagnoses of a pod, none of them made yet. */
export function createDiagnoses(options: DiagnosesOptions): Diagnoses {
  const past: Diagnosis[] = []
  let current: OpenDiagnosis | undefined

  async function remember({ done }: OpenDiagnosis): Promise<Diagnosis> {
    try {
      const diagnosis = await done
      past.unshift(diagnosis)
      past.length = Math.min(past.length, HISTORY_LENGTH)
      options.onDiagnosis(diagnosis)
      return diagnosis
    } finally {
      current = undefined
    }
  }

  function open(): OpenDiagnosis {
    const diagnosis = startDiagnosis(options)
    return { ...diagnosis, done: remember(diagnosis) }
  }

  return {
    start: () => (current ??= open()),
    past: () => past,
  }
}

function startDiagnosis(options: DiagnosesOptions): OpenDiagnosis {
  const { checks, limits, environment, openDatabase, present } = options
  const results = new Map<ComponentName, ComponentResult>()
  const listeners = new Set<OnResult>()
  const startedAt = new Date()
  const started = performance.now()
  const database = openDatabase()

  const note: OnResult = (name, result) => {
    const shown = present(result)
    results.set(name, shown)
    for (const listener of listeners) listener(name, shown)
  }

  async function finish(): Promise<Diagnosis> {
    const found = await runChecks({ checks, limits, sql: database.sql, onResult: note })
    void database.dispose()
    const components = present(found)
    const duration_ms = Math.round(performance.now() - started)
    const report = { status: verdictOf(components), duration_ms, environment, components }
    return { id: randomUUID(), startedAt, report }
  }

  return {
    done: finish(),
    onResult(listener) {
      for (const [name, result] of results) listener(name, result)
      listeners.add(listener)
    },
  }
}
