import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where Vitest keeps how long each file took when it ran last. */
const REPORTS = 'node_modules/.vite/vitest'

/** The test files of a room: how many, and how long their tests took, with their waits. */
export interface Room {
  readonly name: string
  readonly files: number
  readonly seconds: number
  readonly slowest: string
}

interface Report {
  readonly results: readonly (readonly [string, { readonly duration: number }])[]
}

/** What the last runs of tests took, by room; nothing where none was run. */
export function timesOfSuite(): readonly Room[] {
  const rooms = new Map<string, { path: string; seconds: number }[]>()
  for (const [file, { duration }] of reports().flatMap(({ results }) => results)) {
    const path = file.replace(/^\w*:/, '')
    const room = /^test\/(services\/[^/.]+|[^/]+)/.exec(path)?.[1] ?? path
    rooms.set(room, [...(rooms.get(room) ?? []), { path, seconds: duration / 1000 }])
  }
  return [...rooms].map(([name, files]) => {
    const [slowest] = files.toSorted((a, b) => b.seconds - a.seconds)
    const seconds = files.reduce((sum, file) => sum + file.seconds, 0)
    return { name, files: files.length, seconds, slowest: slowest?.path ?? '' }
  })
}

function reports(): readonly Report[] {
  try {
    const names = readdirSync(REPORTS)
    return names.map((name) =>
      JSON.parse(readFileSync(join(REPORTS, name, 'results.json'), 'utf8')),
    )
  } catch {
    return []
  }
}
