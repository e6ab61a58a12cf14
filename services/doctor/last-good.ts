import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as v from 'valibot'
import { toError } from '../shared/errors.ts'
import { compareReports } from './changes.ts'
import type { Changes } from './changes.ts'
import { wrong } from './option-values.ts'
import { doctorReport } from './report.ts'
import type { DoctorReport } from './report.ts'

const kept = v.object({ at: v.string(), report: doctorReport })

/** A report, and what became different since the last good one. */
export interface Difference extends Changes {
  /** When the last good report was made; undefined where there is none yet. */
  readonly since: string | undefined
  /** True if this report is the last good one from now on. */
  readonly isKept: boolean
}

/**
 * Compares a report with the last good one in a file, and keeps it there if it is good itself.
 * Raises `invalid_request` for a file that cannot be read or written, and for one that is no
 * report.
 */
export async function compareWithLastGood(file: string, report: DoctorReport): Promise<Difference> {
  const before = await readKept(file)
  const isKept = report.status === 'ok'
  if (isKept) await keep(file, report)
  const changes = before ? compareReports(before.report, report) : NOTHING
  return { since: before?.at, isKept, ...changes }
}

const NOTHING: Changes = { changes: [], isComplete: true }

async function readKept(file: string): Promise<v.InferOutput<typeof kept> | undefined> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
    throw wrong(`--diff cannot read ${file}: ${toError(thrown).message}`)
  })
  if (text === undefined) return undefined
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), kept), text)
  if (parsed.success) return parsed.output
  throw wrong(`${file} holds no report of an earlier --diff. Name another file, or remove it.`)
}

/** Writes beside and renames, so that an interruption leaves the former report. */
async function keep(file: string, report: DoctorReport): Promise<void> {
  const text = `${JSON.stringify({ at: new Date().toISOString(), report }, null, 2)}\n`
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(`${file}.new`, text, { mode: 0o600 })
    await rename(`${file}.new`, file)
  } catch (thrown) {
    throw wrong(`--diff cannot write ${file}: ${toError(thrown).message}`)
  }
}
