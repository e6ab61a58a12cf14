import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { imports, linesOf, sources } from './sources.ts'

/** Smaller files have one importer beside them only when they are things of their own. */
const LINES_MIN = 40
/** The most lines of a file: what would be longer stays two. */
const LINES_MAX = 300

/** Things of their own, however small. */
const THINGS: readonly (readonly [file: RegExp, why: string])[] = [
  [/\/(env|app|start|main)\.ts$/, 'one of the four files of a service'],
  [/-routes?\.ts$/, 'a route'],
  [/^services\/web\/api\/automation\/(inputs|stop)\.ts$/, 'a route'],
  [/\/checks\/[\w-]+\.ts$/, 'a check'],
  [/^services\/crew\/tools\/[\w-]+\.ts$/, 'a tool'],
  [/^services\/collector\/conventions\//, 'a convention'],
  [
    /^services\/collector\/(otlp|store\/search)\/assembly\//,
    'a module of WebAssembly, in another language',
  ],
  [/wasm\.ts$/, 'a program as text, which is written by another one'],
  [/^services\/worker\/run-command\.ts$/, 'its importer, main.ts, has three lines in each service'],
]

describe('a small file', () => {
  it('is a thing of its own, or part of the one file beside it that imports it', () => {
    const code = imports.filter(({ from }) => /^(infra|services)\//.test(from))
    const importersOf = (file: string): string[] => [
      ...new Set(code.filter(({ to }) => to === file).map(({ from }) => from)),
    ]
    const lone = ['infra', 'services']
      .flatMap((folder) => sources(folder))
      .filter((file) => !THINGS.some(([thing]) => thing.test(file)))
      .flatMap((file) => {
        const small = linesOf(file).length - 1
        if (small >= LINES_MIN) return []
        const [from, ...others] = importersOf(file)
        const isBeside = from !== undefined && dirname(from) === dirname(file)
        if (!isBeside || others.length > 0) return []
        const fits = small + linesOf(from).length - 1 <= LINES_MAX
        return fits ? [`${file} (${small} lines) is imported by ${from} alone`] : []
      })
    expect(lone).toEqual([])
  })

  it('is named here as a thing only while there is one', () => {
    const files = ['infra', 'services'].flatMap((folder) => sources(folder))
    const stale = THINGS.filter(([thing]) => !files.some((file) => thing.test(file)))
    expect(stale).toEqual([])
  })
})
